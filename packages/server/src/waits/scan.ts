import { setImmediate } from 'node:timers/promises';
import type { InboxRecord } from '../inboxes/records.ts';
import {
  type FailedCondition,
  type Filters,
  failedConditions,
  needsContent,
} from '../mail/matching/filters.ts';
import { timeOfSince } from '../messages/cursor.ts';
import type { HeldDeps } from '../messages/held.ts';
import type { CheckedMessage, CheckedPage, CheckRange, MessageRecord } from '../messages/records.ts';
import { likenessOf } from './closest.ts';
import type { Expectation } from './outcome.ts';

/** Messages that are checked before yielding to the event loop: a millisecond or two. */
const SCAN_PAGE = 50;
/** An explanation contains at most this many messages, the newest ones. */
const MAX_SEEN = 20;
/** Messages that are searched for the most similar one: each takes about 0.1 ms. */
const MAX_COMPARED = 100;
/** How long after the deadline messages that arrived before it are still checked. */
const MAX_OVERTIME_MS = 5_000;

export async function newestMatch(
  { store, clock }: Pick<HeldDeps, 'store' | 'clock'>,
  inbox: Pick<InboxRecord, 'id' | 'accountId'>,
  match: Filters,
  times: { after: number; before: number },
): Promise<MessageRecord | undefined> {
  const range = { ...times, order: 'newest-first', limit: 1, onlyMatches: true } as const;
  return (await store.messages.check(inbox, match, range, clock.now())).messages[0]?.message;
}

/** Checks the messages of an inbox for one wait, oldest first, each once. */
export class WaitScan {
  /** As of the last read. */
  inbox: InboxRecord;
  readonly expectation: Expectation;
  /** Only messages and refusals after this time count, epoch milliseconds. */
  readonly from: number;
  /** When the first request of the wait began, epoch milliseconds. */
  readonly begun: number;
  /** `receivedAt` of the last message that was checked. */
  place: number;
  matched: MessageRecord[] = [];
  seenCount = 0;
  /** The newest messages that did not match, oldest first, at most {@link MAX_COMPARED}. */
  #unmatched: CheckedMessage[] = [];
  /** Conditions that none of the unmatched messages meets, including those not in `seen`. */
  commonFailed: readonly FailedCondition[] = [];
  /** Whether the last call of {@link run} checked all messages that had arrived. */
  isComplete = false;
  readonly #deps: HeldDeps;
  /** By the monotonic clock. */
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

  /** Checks the next messages until enough match, none is left, the time is over, or the signal aborts. */
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
      if (page.isComplete) {
        this.isComplete = true;
        return;
      }
      if (this.hasEnough || this.#deps.clock.monotonic() >= this.#deadline + MAX_OVERTIME_MS) return;
      await setImmediate();
      if (signal.aborted) return;
    }
  }

  get seen(): CheckedMessage[] {
    return this.#unmatched.slice(-MAX_SEEN);
  }

  closest(): CheckedMessage | undefined {
    let most = 0;
    let closest: CheckedMessage | undefined;
    for (const seen of this.#unmatched) {
      const likeness = likenessOf(seen, this.expectation.match);
      if (likeness === 0 || likeness < most) continue;
      most = likeness;
      closest = seen;
    }
    return closest;
  }

  drop(gone: ReadonlySet<string>): void {
    this.matched = this.matched.filter(({ id }) => !gone.has(id));
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

  /** @returns undefined when the signal aborted */
  async #next(signal: AbortSignal): Promise<CheckedPage | undefined> {
    const now = this.#deps.clock.now();
    if (!needsContent(this.expectation.match)) return this.#checkSummaries(now);
    const range: CheckRange = {
      ...{ after: this.place, before: Number.POSITIVE_INFINITY },
      ...{ order: 'oldest-first', limit: this.#missing, onlyMatches: false },
    };
    try {
      return await this.#deps.store.messages.check(this.inbox, this.expectation.match, range, now, signal);
    } catch (error) {
      if (signal.aborted) return undefined;
      throw error;
    }
  }

  async #checkSummaries(now: number): Promise<CheckedPage> {
    const range = { after: this.place, limit: SCAN_PAGE };
    const page = await this.#deps.store.messages.listAfter(this.inbox.id, range, now);
    return {
      messages: page.map((message) => ({
        message,
        failed: failedConditions(message, this.expectation.match),
      })),
      place: page.at(-1)?.receivedAt ?? this.place,
      isComplete: page.length < SCAN_PAGE,
    };
  }
}
