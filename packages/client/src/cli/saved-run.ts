import type { api, Mayfly, SearchQuery } from '@mayfly/client';
import { UsageError } from './arguments.ts';

/** What is kept of a run, for comparisons. Nothing that a mail said. */
export interface SavedRun {
  version: 1;
  savedAt: string;
  report: api.RunReport;
  /** Causes of failed waits, the most certain first, by the id of the wait. */
  causes: Record<string, Array<Pick<api.WaitCause, 'code' | 'text'>>>;
  /** SMTP replies that senders got for addresses of the run, those of fault rules included. */
  refusals: Array<{ address: string; reply: string }>;
  /** Of inboxes that were alive: how many of their mails say the same as another one. */
  repeated: Record<string, number>;
}

/** Failed waits whose causes are read, each with a request. */
const MAX_WAITS = 200;
/** As many as the API returns at once. */
const MAX_REFUSALS = 200;
const MAX_MAILS = 5_000;

/** Reads what the server knows of a run. @param labels of its inboxes */
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

/** Digits differ in each sending: codes, times, numbers of orders. */
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

/** @throws UsageError for what `mf report --save` has not written */
export function parseRun(text: string, file: string): SavedRun {
  try {
    const run = JSON.parse(text) as SavedRun;
    if (run.version === 1 && Array.isArray(run.report.inboxes)) return run;
  } catch {
    // The error below says what to do, also for JSON of another form.
  }
  throw new UsageError(`${file} is no saved run. Write it with: mf report --run 4711 --save ${file}`);
}
