import { stillLiveInbox } from '../inboxes/live-inbox.ts';
import { cursorAt, timeOfSince } from '../messages/cursor.ts';
import { readUntil } from '../messages/held/change-signal.ts';
import type { InboxRecord, MessageRecord } from '../store/contract/index.ts';
import { causesOf, type Facts, summaryOf } from './causes.ts';
import {
  type Evidence,
  type EvidenceDeps,
  type ExplanationCaller,
  Investigation,
  type Surroundings,
} from './evidence.ts';
import { goneOf, readInFull } from './full-messages.ts';
import type { Expectation, Explanation, Outcome, WaitedMessage } from './outcome.ts';
import { newestMatch, WaitScan } from './scan.ts';

export interface ExplainDeps extends EvidenceDeps {
  /** Resolves when the refusals that were given before the call can be read. */
  refusalsWritten(): Promise<void>;
}

/** A wait while it runs. */
interface Waiting {
  deps: ExplainDeps;
  /** As it was read last. */
  inbox: InboxRecord;
  expectation: Expectation;
  /** Only messages and refusals after this time count, epoch milliseconds. */
  from: number;
  /** When the wait began, in the first of its requests. */
  begun: number;
  scan: WaitScan;
}

const NO_EVIDENCE: Evidence & Surroundings = {
  ...{ refused: [], nearMisses: [], otherMail: [], failedHandshakes: [] },
  ...{ sinkId: null, catchAllId: null, inboxes: new Map(), leaver: undefined, lastClientAt: undefined },
};

const STOPPING = 'The server is stopping. Repeat the wait with the cursor as since.';

/**
 * Waits for messages that match, oldest first, or for silence; and explains a wait that failed.
 * @param inbox a live inbox, read before this call
 * @param caller decides what an explanation may show
 * @param signal ends the wait at once: the client disconnected, or the server stops
 * @throws AppError `invalid_since`; `inbox_expired` or `not_found` when the inbox ends meanwhile
 */
export async function waitAndExplain(
  deps: ExplainDeps,
  inbox: InboxRecord,
  expectation: Expectation,
  caller: ExplanationCaller,
  signal: AbortSignal,
): Promise<Outcome> {
  const { since, match, count, waitMs, waitedMs } = expectation;
  const from = since === undefined ? 0 : timeOfSince(inbox.id, since);
  const scan = new WaitScan(deps.held, inbox, { match, after: from, enough: Math.max(count, 1), waitMs });
  const begun = deps.held.clock.now() - waitedMs;
  const waiting: Waiting = { deps, inbox, expectation, from, begun, scan };
  const messages = await untilOver(waiting, signal);
  const wasStopped = signal.aborted && !scan.hasEnough;
  const isSilence = count === 0 && messages.length === 0 && scan.isComplete && !wasStopped;
  const matched = isSilence || (count > 0 && messages.length >= count);
  const explanation = matched ? null : await explain(waiting, { caller, messages, wasStopped });
  return { matched, messages, cursor: cursorAt(inbox.id, scan.place), explanation };
}

/** Checks messages until enough match or the time is over. @returns those that matched and are still there */
function untilOver(waiting: Waiting, signal: AbortSignal): Promise<WaitedMessage[]> {
  const { deps, inbox, expectation, scan } = waiting;
  const { held } = deps;
  const { id, accountId } = inbox;
  const source = { accountId, subscribe: (listener: () => void) => held.events.onMessage(id, listener) };
  return readUntil({ ...held, source, signal }, expectation.waitMs, async (now, isLast) => {
    waiting.inbox = stillLiveInbox(await held.store.inboxes.find(accountId, id, now), now, id);
    const { expiresAt } = waiting.inbox;
    for (;;) {
      await scan.run(signal);
      if (!scan.hasEnough && !isLast && !signal.aborted) {
        return { result: [], isFinal: false, until: expiresAt };
      }
      const { found, gone } = await readInFull(held, scan.matched);
      scan.drop(gone);
      // Where a match was deleted meanwhile, the next one takes its place.
      if (gone.size === 0 || signal.aborted) return { result: found, isFinal: true, until: expiresAt };
    }
  });
}

async function explain(
  waiting: Waiting,
  ended: { caller: ExplanationCaller; messages: WaitedMessage[]; wasStopped: boolean },
): Promise<Explanation> {
  const { deps, inbox, expectation, from, begun, scan } = waiting;
  const unexpected = expectation.count === 0 && ended.messages.length > 0;
  const reason = unexpected ? 'unexpected_message' : ended.wasStopped ? 'server_stopping' : 'timeout';
  const investigation = new Investigation(deps, inbox, ended.caller, { from, begun });
  const { now } = investigation;
  const isQuiet = scan.seenCount + ended.messages.length === 0;
  const isTimeout = reason === 'timeout';
  if (isTimeout) await deps.refusalsWritten();
  const evidence = isTimeout
    ? await investigation.collect(!isQuiet, (id, at) => hasMatchAt(waiting, id, at))
    : NO_EVIDENCE;
  const earlier = isTimeout ? await matchBefore(waiting) : undefined;
  // The last step, so that nothing is shown of a message that was deleted meanwhile.
  const mostAlike = isTimeout ? scan.closest() : undefined;
  const named = [mostAlike?.message, earlier].filter((message) => message !== undefined);
  const newest = scan.seen;
  const shown = [...newest.map(({ message }) => message), ...named];
  const gone = new Set(await goneOf(deps.held.store, shown, now));
  const seen = newest.filter(({ message }) => !gone.has(message.id)).toReversed();
  const seenCount = scan.seenCount - (newest.length - seen.length);
  const closest = mostAlike && !gone.has(mostAlike.message.id) ? mostAlike : undefined;
  const facts: Facts = {
    ...{
      expectation,
      inbox,
      from,
      begun,
      now,
      seenCount,
      evidence,
      clientsAfter: investigation.clientsAfter,
    },
    ...{ isComplete: scan.isComplete, commonFailed: scan.commonFailed },
    closest: seenCount === 1 ? seen[0] : closest,
    matched: ended.messages.map(({ message }) => message),
    earlier: earlier && !gone.has(earlier.id) ? earlier : undefined,
  };
  const { refused, nearMisses, otherMail, failedHandshakes } = evidence;
  const causes = ended.wasStopped ? [] : causesOf(facts);
  const summary = (name: 'text' | 'plain'): string =>
    ended.wasStopped ? STOPPING : summaryOf(causes, facts, name);
  return {
    ...{ reason, seenCount, seen, refused, nearMisses, otherMail, failedHandshakes, causes },
    ...{ summary: summary('text'), plainSummary: summary('plain') },
  };
}

async function hasMatchAt({ deps, inbox, expectation }: Waiting, id: string, at: number): Promise<boolean> {
  const { accountId } = inbox;
  const times = { after: at - 1, before: at + 1 };
  return (await newestMatch(deps.held, { id, accountId }, expectation.match, times)) !== undefined;
}

/** The newest message that matches and arrived before the wait's `since`: a wait that failed often missed it. */
async function matchBefore({ deps, inbox, expectation, from }: Waiting): Promise<MessageRecord | undefined> {
  const { since, match } = expectation;
  if (since === undefined) return undefined;
  const found = await newestMatch(deps.held, inbox, match, { after: 0, before: from + 1 });
  // Without conditions the message at which a cursor stands is no surprise.
  const isAny = Object.values(match).every((condition) => condition === undefined);
  return isAny && found?.receivedAt === from ? undefined : found;
}
