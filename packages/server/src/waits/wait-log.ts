import type { ReportedWait, WaitExplanation } from '@mayfly/client/contract';
import type { Clock } from '../clock.ts';
import { newId } from '../ids.ts';
import type { InboxRecord } from '../inboxes/records.ts';
import type { Filters } from '../mail/matching/filters.ts';
import { Batcher } from '../messages/batcher.ts';
import type { Store } from '../store.ts';
import type { Expectation, Outcome } from './outcome.ts';
import type { EndedWait, ExplainedWait } from './sql.ts';

/** Delay of a write, milliseconds, so that results that arrive meanwhile share the write. */
const PAUSE_MS = 100;
/** Maximum characters of a condition or a summary in a report. Longer ones are truncated. */
const MAX_CONDITION = 100;
const MAX_SUMMARY = 500;
/** Maximum characters of the stored content of an explanation. `seen` is shortened until the content fits. */
const MAX_CONTENT = 64 * 1024;

const cut = (text: string, length: number): string =>
  text.length > length ? `${text.slice(0, length - 1)}…` : text;

/** Returns the conditions as texts, such as `{"kind":"verify"}` for a link. */
function matchOf(match: Filters): ReportedWait['match'] {
  const conditions = Object.entries(match).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    conditions.map(([name, value]) => [
      name,
      cut(typeof value === 'string' ? value : JSON.stringify(value), MAX_CONDITION),
    ]),
  );
}

function contentOf({ summary, causes, seen }: WaitExplanation): string {
  for (let count = seen.length; ; count--) {
    const content = JSON.stringify({ summary, causes, seen: seen.slice(0, count) });
    if (content.length <= MAX_CONTENT || count === 0) return content;
  }
}

/** Reports select inboxes by labels, so results for inboxes without labels are not stored for reports. */
const hasLabels = ({ labels }: InboxRecord): boolean => Object.keys(labels).length > 0;

export type WaitLog = ReturnType<typeof createWaitLog>;

/** Stores results of waits asynchronously: responses do not wait for the write. */
export function createWaitLog(
  store: Pick<Store['waits'], 'add' | 'addExplained'>,
  clock: Clock,
  onLost: (error: unknown) => void,
) {
  const batcher = new Batcher<{ ended?: EndedWait; explained?: ExplainedWait }, never>(
    async (items) => {
      const ended = items.flatMap((item) => item.ended ?? []);
      const explained = items.flatMap((item) => item.explained ?? []);
      if (ended.length > 0) await store.add(ended);
      if (explained.length > 0) await store.addExplained(explained);
      return [];
    },
    { onLost, pause: (signal) => clock.sleep(PAUSE_MS, signal) },
  );
  return {
    /** @param wire the explanation as in the response @returns the id of a stored failure, or undefined */
    add(
      inbox: InboxRecord,
      { match, count, waitedMs: before }: Expectation,
      { matched, explanation, waitedMs }: Pick<Outcome, 'matched' | 'explanation'> & { waitedMs: number },
      wire: WaitExplanation | null,
    ): string | undefined {
      const { id: inboxId, accountId } = inbox;
      const continues = before > 0 ? { match: matchOf(match), count } : undefined;
      const common = { accountId, inboxId, kind: 'wait', continues } as const;
      if (matched || !explanation || !wire) {
        if (hasLabels(inbox)) batcher.offer({ ended: { ...common, failed: null } });
        return undefined;
      }
      const { reason, seenCount, plainSummary, causes } = explanation;
      if (reason === 'server_stopping') return undefined;
      const at = clock.now();
      const waitId = newId('wai', at);
      const ended = { waitedMs, count, match: matchOf(match) };
      const plainCauses = causes.map(({ code, certainty, plain: text }) => ({ code, certainty, text }));
      const plain = { ...wire, summary: plainSummary, causes: plainCauses, seen: [] };
      const texts = { plain: JSON.stringify({ ...ended, explanation: plain }), content: contentOf(wire) };
      const failed = { waitId, at, ...ended, reason, seenCount, summary: cut(plainSummary, MAX_SUMMARY) };
      batcher.offer({
        explained: { id: waitId, accountId, inboxId, endedAt: at, ...texts },
        ...(hasLabels(inbox) && { ended: { ...common, failed } }),
      });
      return waitId;
    },

    addHeld(inbox: InboxRecord, kind: 'list' | 'stream', hadMessages: boolean): void {
      const { id: inboxId, accountId } = inbox;
      if (hasLabels(inbox)) batcher.offer({ ended: { accountId, inboxId, kind, hadMessages } });
    },

    /** Resolves when all results that were added before the call are stored or lost. */
    flushed: () => batcher.flushed(),
  };
}
