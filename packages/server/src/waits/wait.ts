import { setImmediate } from 'node:timers/promises';
import { type InboxRecord, stillLiveInbox } from '../inboxes/records.ts';
import {
  type FailedCondition,
  type Filters,
  failedConditions,
  needsContent,
} from '../mail/matching/filters.ts';
import { cursorAt, timeOfSince } from '../messages/cursor.ts';
import { HELD_PAGE, type HeldDeps, readUntil } from '../messages/held.ts';
import type { CheckedMessage, CheckedPage, CheckRange, MessageRecord } from '../messages/records.ts';
import { causesOf, type Facts, summaryOf } from './causes.ts';
import { likenessOf } from './closest.ts';
import { type EvidenceDeps, evidenceOf, type Surroundings } from './evidence.ts';
import type { Expectation, Explanation, Outcome, WaitedMessage } from './outcome.ts';

/** Larger messages are not returned in full: serializing them would block the event loop. */
const MAX_FULL_MESSAGE_BYTES = 2 * 1024 * 1024;
/** Maximum bytes of all messages that one response returns in full. */
const MAX_FULL_BYTES = 8 * 1024 * 1024;
const LONG_READ_BYTES = 128 * 1024;

const NO_EVIDENCE: Surroundings = {
  ...{ refused: [], nearMisses: [], otherMail: [], failedHandshakes: [], inboxes: new Map() },
  ...{ sinkId: null, catchAllId: null, leaver: undefined, lastClientAt: undefined, clientsAfter: 0 },
  held: { count: 0, firstAt: null },
};
const NOT_SEARCHED = { evidence: NO_EVIDENCE, earlier: undefined, mostAlike: undefined };

const STOPPING = 'The server is stopping. Repeat the wait with the cursor as since.';

/** @throws AppError `invalid_since`; `inbox_expired` or `not_found` if the inbox expires or is deleted during the wait */
export async function waitAndExplain(
  deps: EvidenceDeps,
  inbox: InboxRecord,
  expectation: Expectation,
  signal: AbortSignal,
): Promise<Outcome> {
  const scan = new WaitScan(deps.held, inbox, expectation);
  const { count } = expectation;
  const messages = await untilOver(deps.held, scan, signal);
  const wasStopped = signal.aborted && !scan.hasEnough;
  const isSilence = count === 0 && messages.length === 0 && scan.isComplete && !wasStopped;
  const matched = isSilence || (count > 0 && messages.length >= count);
  const explanation = matched ? null : await explain(deps, scan, messages, wasStopped);
  return { matched, messages, cursor: cursorAt(inbox.id, scan.place), explanation };
}

/** Checks messages until enough match or the time is over. @returns matches that still exist */
function untilOver(held: HeldDeps, scan: WaitScan, signal: AbortSignal): Promise<WaitedMessage[]> {
  const { id, accountId } = scan.inbox;
  const source = { accountId, subscribe: (listener: () => void) => held.events.onMessage(id, listener) };
  return readUntil({ ...held, source, signal }, scan.expectation.waitMs, async (now, isLast) => {
    scan.inbox = stillLiveInbox(await held.store.inboxes.find(accountId, id, now), now, id);
    const until = scan.inbox.expiresAt;
    for (;;) {
      await scan.run(signal);
      if (!scan.hasEnough && !isLast && !signal.aborted) return { result: [], isFinal: false, until };
      const { found, gone } = await readInFull(held, scan.matched);
      scan.matched = scan.matched.filter(({ id: matched }) => !gone.has(matched));
      // If a matching message was deleted meanwhile, check further messages.
      if (gone.size === 0 || signal.aborted) return { result: found, isFinal: true, until };
    }
  });
}

async function explain(
  deps: EvidenceDeps,
  scan: WaitScan,
  messages: readonly WaitedMessage[],
  wasStopped: boolean,
): Promise<Explanation> {
  const { store, clock } = deps.held;
  const { inbox, expectation, from, begun, isComplete, commonFailed } = scan;
  const isUnexpected = expectation.count === 0 && messages.length > 0;
  const reason = isUnexpected ? 'unexpected_message' : wasStopped ? 'server_stopping' : 'timeout';
  const now = clock.now();
  const { evidence, earlier, mostAlike } =
    reason === 'timeout' ? await searched(deps, scan, now) : NOT_SEARCHED;
  // This query comes last, so that the explanation contains nothing of messages that were deleted meanwhile.
  const named = [mostAlike?.message, earlier].filter((message) => message !== undefined);
  const gone = await goneOf(store, [...scan.seen.map(({ message }) => message), ...named], now);
  const seen = scan.seen.filter(({ message }) => !gone.has(message.id)).toReversed();
  const seenCount = scan.seenCount - (scan.seen.length - seen.length);
  const closest = mostAlike && !gone.has(mostAlike.message.id) ? mostAlike : undefined;
  const facts: Facts = {
    ...{ expectation, inbox, from, begun, now, seenCount, evidence, isComplete, commonFailed },
    closest: seenCount === 1 ? seen[0] : closest,
    matched: scan.matched,
    earlier: earlier && !gone.has(earlier.id) ? earlier : undefined,
  };
  const { refused, nearMisses, otherMail, failedHandshakes } = evidence;
  const causes = wasStopped ? [] : causesOf(facts);
  const summary = (name: 'text' | 'plain'): string =>
    wasStopped ? STOPPING : summaryOf(causes, facts, name);
  return {
    ...{ reason, seenCount, seen, refused, nearMisses, otherMail, failedHandshakes, causes },
    ...{ summary: summary('text'), plainSummary: summary('plain') },
  };
}

async function searched(deps: EvidenceDeps, scan: WaitScan, now: number) {
  const { inbox, from, begun, seenCount, matched } = scan;
  const meets = async (id: string, at: number): Promise<boolean> => {
    const other = { id, accountId: inbox.accountId };
    const times = { after: at - 1, before: at + 1 };
    return (await newestMatch(deps.held, other, scan.expectation.match, times)) !== undefined;
  };
  const hasArrived = seenCount + matched.length > 0;
  const evidence = await evidenceOf(deps, { inbox, from, begun, now, hasArrived, meets });
  return { evidence, earlier: await matchBefore(deps.held, scan), mostAlike: scan.closest() };
}

/** The newest matching message before `since`. Many waits fail because `since` is after the message. */
async function matchBefore(held: HeldDeps, scan: WaitScan): Promise<MessageRecord | undefined> {
  const { since, match } = scan.expectation;
  if (since === undefined) return undefined;
  const found = await newestMatch(held, scan.inbox, match, { after: 0, before: scan.from + 1 });
  // Without conditions, every message matches, so the message at the `since` cursor explains nothing.
  const isAny = Object.values(match).every((condition) => condition === undefined);
  return isAny && found?.receivedAt === scan.from ? undefined : found;
}

/** Reads messages in full, up to MAX_FULL_BYTES. @returns those found, in order, and ids of deleted ones */
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
    if (full) found.push({ message, full: full.isPartial ? null : full });
    else gone.add(id);
    if (contentBytes > LONG_READ_BYTES) await setImmediate();
  }
  const short = found.filter(({ full }) => full === null).map(({ message }) => message);
  for (const id of await goneOf(store, short, clock.now())) gone.add(id);
  return { found: found.filter(({ message }) => !gone.has(message.id)), gone };
}

async function goneOf(store: HeldDeps['store'], messages: readonly MessageRecord[], now: number) {
  const [first] = messages;
  const gone = new Set(messages.map(({ id }) => id));
  if (!first) return gone;
  for (const id of await store.messages.existing(first.inboxId, [...gone], now)) gone.delete(id);
  return gone;
}

const MAX_SEEN = 20;
/** Number of messages that are compared to find the most similar one. Each takes about 0.1 ms. */
const MAX_COMPARED = 100;
/** The check of messages that have arrived may continue for this long after the deadline. */
const MAX_OVERTIME_MS = 5_000;

async function newestMatch(
  { store, clock }: Pick<HeldDeps, 'store' | 'clock'>,
  inbox: Pick<InboxRecord, 'id' | 'accountId'>,
  match: Filters,
  times: { after: number; before: number },
): Promise<MessageRecord | undefined> {
  const range = { ...times, order: 'newest-first', limit: 1 } as const;
  return (await store.messages.check(inbox, match, range, clock.now())).messages[0]?.message;
}

/** Checks the messages of an inbox for one wait, oldest first, each once. */
class WaitScan {
  inbox: InboxRecord;
  readonly expectation: Expectation;
  /** Only messages and refusals after this time count, epoch milliseconds. */
  readonly from: number;
  readonly begun: number;
  place: number;
  matched: MessageRecord[] = [];
  seenCount = 0;
  /** The newest messages that did not match, oldest first, at most {@link MAX_COMPARED}. */
  #unmatched: CheckedMessage[] = [];
  /** Conditions that every unmatched message fails, including messages that `seen` no longer contains. */
  commonFailed: readonly FailedCondition[] = [];
  /** Whether the last call of {@link run} checked all messages that had arrived. */
  isComplete = false;
  readonly #deps: HeldDeps;
  readonly #deadline: number;

  constructor(deps: HeldDeps, inbox: InboxRecord, expectation: Expectation) {
    const { since, waitMs, waitedMs } = expectation;
    this.#deps = deps;
    this.inbox = inbox;
    this.expectation = expectation;
    this.from = since === undefined ? 0 : timeOfSince(inbox.id, since);
    this.place = this.from;
    this.begun = deps.clock.now() - waitedMs;
    this.#deadline = deps.clock.monotonic() + waitMs;
  }

  get #missing(): number {
    return Math.max(this.expectation.count, 1) - this.matched.length;
  }

  get hasEnough(): boolean {
    return this.#missing <= 0;
  }

  async run(signal: AbortSignal): Promise<void> {
    this.isComplete = false;
    for (;;) {
      const page = await this.#next(signal);
      if (!page) return;
      for (const checked of page.messages) {
        if (this.hasEnough) return;
        this.#count(checked);
      }
      this.place = Math.max(this.place, page.place);
      this.isComplete = page.isComplete;
      const isOver = this.#deps.clock.monotonic() >= this.#deadline + MAX_OVERTIME_MS;
      if (this.isComplete || this.hasEnough || isOver) return;
      await setImmediate();
      if (signal.aborted) return;
    }
  }

  get seen(): CheckedMessage[] {
    return this.#unmatched.slice(-MAX_SEEN);
  }

  closest(): CheckedMessage | undefined {
    const likenesses = new Map(this.#unmatched.map((one) => [one, likenessOf(one, this.expectation.match)]));
    const [first] = [...likenesses].toReversed().toSorted(([, a], [, b]) => b - a);
    return first && first[1] > 0 ? first[0] : undefined;
  }

  #count({ message, failed }: CheckedMessage): void {
    this.place = message.receivedAt;
    if (failed.length === 0) {
      this.matched.push(message);
      return;
    }
    this.commonFailed =
      this.seenCount === 0
        ? failed
        : this.commonFailed.filter(({ condition }) => failed.some((one) => one.condition === condition));
    this.seenCount++;
    this.#unmatched.push({ message, failed });
    if (this.#unmatched.length > MAX_COMPARED) this.#unmatched.shift();
  }

  async #next(signal: AbortSignal): Promise<CheckedPage | undefined> {
    const now = this.#deps.clock.now();
    if (!needsContent(this.expectation.match)) return this.#checkSummaries(now);
    const range: CheckRange = {
      ...{ after: this.place, before: Number.POSITIVE_INFINITY },
      ...{ order: 'oldest-first', limit: this.#missing },
    };
    const checking = this.#deps.store.messages.check(this.inbox, this.expectation.match, range, now, signal);
    return checking.catch((error) => {
      if (!signal.aborted) throw error;
    }) as Promise<CheckedPage | undefined>;
  }

  async #checkSummaries(now: number): Promise<CheckedPage> {
    const page = await this.#deps.store.messages.listAfter(this.inbox, this.place, now);
    const { match } = this.expectation;
    return {
      messages: page.map((message) => ({ message, failed: failedConditions(message, match) })),
      place: page.at(-1)?.receivedAt ?? this.place,
      isComplete: page.length < HELD_PAGE,
    };
  }
}
