import { setImmediate } from 'node:timers/promises';
import type { InboxRecord } from '../inboxes/records.ts';
import { stillLiveInbox } from '../inboxes/records.ts';
import { cursorAt, timeOfSince } from '../messages/cursor.ts';
import { readUntil } from '../messages/held/change-signal.ts';
import type { HeldDeps } from '../messages/held/held-deps.ts';
import type { MessageRecord } from '../messages/records.ts';
import { causesOf, type Facts, summaryOf } from './causes.ts';
import { type EvidenceDeps, type ExplanationCaller, Investigation, type Surroundings } from './evidence.ts';
import type { Expectation, Explanation, Outcome, WaitedMessage } from './outcome.ts';
import { newestMatch, WaitScan } from './scan.ts';

interface ExplainDeps extends EvidenceDeps {
  /** Resolves when refusals from before the call can be read. */
  refusalsWritten(): Promise<void>;
}

/** Larger messages are not returned in full: serializing them would block the event loop. */
const MAX_FULL_MESSAGE_BYTES = 2 * 1024 * 1024;
/** Limit of the messages of one response together that are returned in full. */
const MAX_FULL_BYTES = 8 * 1024 * 1024;
/** Yield to the event loop after reading a message of this size. */
const LONG_READ_BYTES = 128 * 1024;

const NO_EVIDENCE: Surroundings = {
  ...{ refused: [], nearMisses: [], otherMail: [], failedHandshakes: [] },
  ...{ sinkId: null, catchAllId: null, inboxes: new Map(), leaver: undefined, lastClientAt: undefined },
  held: { count: 0, firstAt: null },
};

const STOPPING = 'The server is stopping. Repeat the wait with the cursor as since.';

/**
 * Waits for messages that match, oldest first, or for their absence, and explains a failure.
 * @param inbox a live inbox, read before this call
 * @param caller decides what an explanation may contain
 * @throws AppError `invalid_since`; `inbox_expired` or `not_found` if the inbox expires or is deleted meanwhile
 */
export async function waitAndExplain(
  deps: ExplainDeps,
  inbox: InboxRecord,
  expectation: Expectation,
  caller: ExplanationCaller,
  signal: AbortSignal,
): Promise<Outcome> {
  const wait = new Wait(deps, inbox, expectation);
  const { scan } = wait;
  const { count } = expectation;
  const messages = await wait.untilOver(signal);
  const wasStopped = signal.aborted && !scan.hasEnough;
  const isSilence = count === 0 && messages.length === 0 && scan.isComplete && !wasStopped;
  const matched = isSilence || (count > 0 && messages.length >= count);
  const explanation = matched ? null : await wait.explain({ caller, messages, wasStopped });
  return { matched, messages, cursor: cursorAt(inbox.id, scan.place), explanation };
}

class Wait {
  readonly scan: WaitScan;
  readonly #deps: ExplainDeps;
  readonly #expectation: Expectation;
  /** Only messages and refusals after this time count, epoch milliseconds. */
  readonly #from: number;
  /** When the first request of the wait began, epoch milliseconds. */
  readonly #begun: number;
  #inbox: InboxRecord;

  constructor(deps: ExplainDeps, inbox: InboxRecord, expectation: Expectation) {
    const { since, match, count, waitMs, waitedMs } = expectation;
    this.#deps = deps;
    this.#inbox = inbox;
    this.#expectation = expectation;
    this.#from = since === undefined ? 0 : timeOfSince(inbox.id, since);
    const enough = Math.max(count, 1);
    const { clock } = deps.held;
    const deadline = clock.monotonic() + waitMs;
    this.scan = new WaitScan(deps.held, inbox, { match, after: this.#from, enough, deadline });
    this.#begun = clock.now() - waitedMs;
  }

  /** Checks messages until enough match or the time is over. @returns matches that still exist */
  untilOver(signal: AbortSignal): Promise<WaitedMessage[]> {
    const { held } = this.#deps;
    const { scan } = this;
    const { id, accountId } = this.#inbox;
    const source = { accountId, subscribe: (listener: () => void) => held.events.onMessage(id, listener) };
    return readUntil({ ...held, source, signal }, this.#expectation.waitMs, async (now, isLast) => {
      this.#inbox = stillLiveInbox(await held.store.inboxes.find(accountId, id, now), now, id);
      const { expiresAt } = this.#inbox;
      for (;;) {
        await scan.run(signal);
        if (!scan.hasEnough && !isLast && !signal.aborted) {
          return { result: [], isFinal: false, until: expiresAt };
        }
        const { found, gone } = await readInFull(held, scan.matched);
        scan.drop(gone);
        // If a match was deleted meanwhile, continue with the next one.
        if (gone.size === 0 || signal.aborted) return { result: found, isFinal: true, until: expiresAt };
      }
    });
  }

  async explain(ended: {
    caller: ExplanationCaller;
    messages: WaitedMessage[];
    wasStopped: boolean;
  }): Promise<Explanation> {
    const deps = this.#deps;
    const { scan } = this;
    const [inbox, expectation, from, begun] = [this.#inbox, this.#expectation, this.#from, this.#begun];
    const unexpected = expectation.count === 0 && ended.messages.length > 0;
    const reason = unexpected ? 'unexpected_message' : ended.wasStopped ? 'server_stopping' : 'timeout';
    const investigation = new Investigation(deps, inbox, ended.caller, { from, begun });
    const { now, clientsAfter } = investigation;
    const isQuiet = scan.seenCount + ended.messages.length === 0;
    const isTimeout = reason === 'timeout';
    if (isTimeout) await deps.refusalsWritten();
    const evidence = isTimeout
      ? await investigation.collect(!isQuiet, (id, at) => this.#hasMatchAt(id, at))
      : NO_EVIDENCE;
    const earlier = isTimeout ? await this.#matchBefore() : undefined;
    // Look for deleted messages last, so that the explanation contains nothing of them.
    const mostAlike = isTimeout ? scan.closest() : undefined;
    const named = [mostAlike?.message, earlier].filter((message) => message !== undefined);
    const newest = scan.seen;
    const shown = [...newest.map(({ message }) => message), ...named];
    const gone = new Set(await goneOf(deps.held.store, shown, now));
    const seen = newest.filter(({ message }) => !gone.has(message.id)).toReversed();
    const seenCount = scan.seenCount - (newest.length - seen.length);
    const closest = mostAlike && !gone.has(mostAlike.message.id) ? mostAlike : undefined;
    const facts: Facts = {
      ...{ expectation, inbox, from, begun, now, seenCount, evidence, clientsAfter },
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

  async #hasMatchAt(id: string, at: number): Promise<boolean> {
    const of = { id, accountId: this.#inbox.accountId };
    const times = { after: at - 1, before: at + 1 };
    return (await newestMatch(this.#deps.held, of, this.#expectation.match, times)) !== undefined;
  }

  /** The newest match before the wait's `since`: a failed wait often missed it. */
  async #matchBefore(): Promise<MessageRecord | undefined> {
    const { since, match } = this.#expectation;
    if (since === undefined) return undefined;
    const times = { after: 0, before: this.#from + 1 };
    const found = await newestMatch(this.#deps.held, this.#inbox, match, times);
    // Without conditions, the message at the cursor itself always matches, so it explains nothing.
    const isAny = Object.values(match).every((condition) => condition === undefined);
    return isAny && found?.receivedAt === this.#from ? undefined : found;
  }
}

/** Reads messages in full, up to {@link MAX_FULL_BYTES} together. @returns them in order, and the ids of deleted ones */
async function readInFull(
  { store, clock }: Pick<HeldDeps, 'store' | 'clock'>,
  messages: readonly MessageRecord[],
): Promise<{ found: WaitedMessage[]; gone: Set<string> }> {
  const found: WaitedMessage[] = [];
  const gone = new Set<string>();
  let left = MAX_FULL_BYTES;
  for (const message of messages) {
    const { inboxId, id, contentBytes } = message;
    if (contentBytes > Math.min(left, MAX_FULL_MESSAGE_BYTES)) {
      found.push({ message, full: null });
      continue;
    }
    left -= contentBytes;
    const full = await store.messages.find(inboxId, id, clock.now());
    // A partial message must not be returned as a message in full.
    if (full) found.push({ message, full: full.isPartial ? null : full });
    else gone.add(id);
    if (contentBytes > LONG_READ_BYTES) await setImmediate();
  }
  const short = found.filter(({ full }) => full === null).map(({ message }) => message);
  for (const id of await goneOf(store, short, clock.now())) gone.add(id);
  return { found: found.filter(({ message }) => !gone.has(message.id)), gone };
}

async function goneOf(
  store: HeldDeps['store'],
  messages: readonly MessageRecord[],
  now: number,
): Promise<string[]> {
  const [first] = messages;
  if (!first) return [];
  const ids = messages.map(({ id }) => id);
  const left = new Set(await store.messages.existing(first.inboxId, ids, now));
  return ids.filter((id) => !left.has(id));
}
