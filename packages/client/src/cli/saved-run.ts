import type { api, Mayfly, SearchQuery } from '@mayfly/client';
import { UsageError } from './arguments.ts';

/** The data of a run that comparisons need. Contains no content of mails. */
export interface SavedRun {
  version: 1;
  savedAt: string;
  report: api.RunReport;
  /** Causes of failed waits by wait id, the most probable first. */
  causes: Record<string, Array<Pick<api.WaitCause, 'code' | 'text'>>>;
  /** SMTP rejections for addresses of the run, including those by fault rules. */
  refusals: Array<{ address: string; reply: string }>;
  /** For inboxes that were live: the number of mails with the same content as another one. */
  repeated: Record<string, number>;
}

/** Failed waits whose causes are fetched, each with one request. */
const MAX_WAITS = 200;
/** The largest page that the API returns. */
const MAX_REFUSALS = 200;
const MAX_MAILS = 5_000;

/** Fetches the data of a run. @param labels the labels of its inboxes */
export async function readRun(mayfly: Mayfly, labels: Record<string, string>): Promise<SavedRun> {
  const report = await mayfly.report(labels);
  const { inboxes } = report;
  const saved: SavedRun = {
    ...{ version: 1, savedAt: new Date().toISOString(), report },
    ...{ causes: {}, refusals: [], repeated: {} },
  };
  const failures = inboxes.flatMap(({ id, waits }) => waits.failures.map(({ waitId }) => ({ id, waitId })));
  for (const { id, waitId } of failures.slice(0, MAX_WAITS)) {
    const { causes } = (await mayfly.inbox(id).failedWait(waitId)).explanation;
    saved.causes[waitId] = causes.map(({ code, text }) => ({ code, text }));
  }
  const oldest = inboxes.map(({ createdAt }) => createdAt).sort()[0];
  if (oldest === undefined) return saved;
  const addresses = new Set(inboxes.map(({ address }) => address));
  const refused = await mayfly.refusals({ since: oldest, limit: MAX_REFUSALS });
  saved.refusals = refused
    .filter(({ address }) => addresses.has(address))
    .map(({ address, reply }) => ({ address, reply }));
  saved.repeated = await repeatedIn(mayfly, inboxes, oldest);
  return saved;
}

/** Digits differ between repetitions of a mail: codes, times, order numbers. */
const wordsOf = ({ subject, preview }: api.MessageSummary) => `${subject}\n${preview}`.replace(/\d+/g, '0');

async function repeatedIn(mayfly: Mayfly, inboxes: api.ReportedInbox[], since: string) {
  const seen = new Map(
    inboxes.filter(({ state }) => state === 'live').map(({ id }) => [id, new Set<string>()]),
  );
  const repeated: Record<string, number> = {};
  const query: SearchQuery = { since: String(Date.parse(since) - 1), limit: MAX_MAILS };
  for await (const page of mayfly.transport.pages<api.MessageSummary>('GET /v1/messages', 'messages', query))
    for (const mail of page) {
      const known = seen.get(mail.inboxId);
      if (!known) continue;
      repeated[mail.inboxId] = (repeated[mail.inboxId] ?? 0) + Number(known.has(wordsOf(mail)));
      known.add(wordsOf(mail));
    }
  return repeated;
}

/** @throws UsageError if `text` was not written by `mf report --save` */
export function parseRun(text: string, file: string): SavedRun {
  try {
    const run = JSON.parse(text) as SavedRun;
    if (run.version === 1 && Array.isArray(run.report.inboxes)) return run;
  } catch {
    // The error below also covers invalid JSON.
  }
  throw new UsageError(`${file} is no saved run. Write it with: mf report --run 4711 --save ${file}`);
}
