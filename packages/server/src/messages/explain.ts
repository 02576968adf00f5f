import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../clock.ts';
import type { EventBus } from '../events.ts';
import {
  type FailedCondition,
  type Filters,
  failedConditions,
  failedContent,
  needsContent,
} from '../mail/filters.ts';
import type { FullMessageRecord, InboxRecord, MessageRecord, Store } from '../store/contract/index.ts';
import { readUntil, type Subscribe } from './change-signal.ts';
import { cursorAt, timeOfSince } from './cursor.ts';
import { type Elsewhere, lookElsewhere } from './elsewhere.ts';
import type { ExplanationCaller } from './failed-handshakes.ts';
import { liveInbox } from './list.ts';

/** Messages looked at between two turns of the event loop: a millisecond or two of matching. */
const SCAN_PAGE = 50;
/** Messages that an explanation shows: the newest say most, and a person reads no more. */
const MAX_SEEN = 20;
/** What is quoted of a message: enough to see the difference. */
const MAX_QUOTED = 500;

/** What is waited for. */
export interface Expectation {
  match: Filters;
  since?: string | undefined;
  /** How many messages; 0 for silence. */
  count: number;
  waitMs: number;
}

/** How a wait ended, and when in vain, why. */
export interface Outcome {
  matched: boolean;
  /** Those that matched, oldest first. */
  messages: FullMessageRecord[];
  /** Stands for all that was looked at. */
  cursor: string;
  explanation: Explanation | null;
}

export interface Explanation extends Elsewhere {
  reason: 'timeout' | 'unexpected_message' | 'server_stopping';
  /** How many messages did not match. */
  seenCount: number;
  /** The newest of them, newest first. */
  seen: { message: MessageRecord; failed: FailedCondition[] }[];
}

export interface ExplainDeps {
  store: Pick<Store, 'accounts' | 'inboxes' | 'messages' | 'refusals' | 'domains'>;
  /** Domains that all accounts share. */
  domains: readonly string[];
  events: Pick<EventBus, 'onMessage'>;
  clock: Clock;
  /** Resolves when the refusals that were given before the call can be read. */
  refusalsWritten(): Promise<void>;
}

/** What a wait has looked at so far. */
interface Progress {
  /** `receivedAt` of the last message looked at. */
  place: number;
  matched: MessageRecord[];
  seenCount: number;
  /** Oldest first. */
  seen: Explanation['seen'];
}

/**
 * Waits for messages that match, oldest first, or for silence; and explains a wait in vain.
 * @param inbox a live inbox, read before this call
 * @param signal ends the wait at once: the client went away, or the server stops
 * @throws AppError `invalid_since`; `inbox_expired` or `not_found` when the inbox ends meanwhile
 */
export async function waitAndExplain(
  deps: ExplainDeps,
  inbox: InboxRecord,
  expectation: Expectation,
  caller: ExplanationCaller,
  signal: AbortSignal,
): Promise<Outcome> {
  const begun = deps.clock.now();
  const { since } = expectation;
  const from = since === undefined ? 0 : timeOfSince(inbox.id, since);
  const progress: Progress = { place: from, matched: [], seenCount: 0, seen: [] };
  const isOver = await untilOver(deps, inbox, expectation, progress, signal);
  const { count } = expectation;
  const matched = isOver && (count > 0 ? progress.matched.length >= count : progress.matched.length === 0);
  const result = {
    matched,
    messages: await inFull(deps, inbox, progress.matched),
    cursor: cursorAt(inbox.id, progress.place),
  };
  if (matched) return { ...result, explanation: null };
  await deps.refusalsWritten();
  const unexpected = count === 0 && progress.matched.length > 0;
  const reason = unexpected ? 'unexpected_message' : isOver ? 'timeout' : 'server_stopping';
  const { seen, seenCount } = progress;
  const elsewhere = await lookElsewhere(deps, inbox, { from, begun }, caller);
  return { ...result, explanation: { reason, seenCount, seen: seen.toReversed(), ...elsewhere } };
}

/** Looks until enough messages match or the time is over; false when the signal ended it before. */
async function untilOver(
  { store, events, clock }: ExplainDeps,
  inbox: InboxRecord,
  { match, count, waitMs }: Expectation,
  progress: Progress,
  signal: AbortSignal,
): Promise<boolean> {
  const deadline = clock.now() + waitMs;
  const enough = Math.max(count, 1);
  const subscribe: Subscribe = (listener) => events.onMessage(inbox.id, listener);
  return readUntil({ clock, subscribe, signal }, deadline, async (now) => {
    const found = await store.inboxes.find(inbox.accountId, inbox.id, now);
    const { expiresAt } = liveInbox(found, now, inbox.id);
    const isComplete = await lookAtNew(store, inbox.id, { match, enough, now }, progress, signal);
    const isOver = progress.matched.length >= enough || (isComplete && now >= deadline);
    return { result: isOver, isFinal: isOver, until: expiresAt };
  });
}

/** Looks at the messages after `progress.place` until enough match; false when the signal ended it early. */
async function lookAtNew(
  store: ExplainDeps['store'],
  inboxId: string,
  { match, enough, now }: { match: Filters; enough: number; now: number },
  progress: Progress,
  signal: AbortSignal,
): Promise<boolean> {
  for (;;) {
    const page = await store.messages.listAfter(inboxId, { after: progress.place, limit: SCAN_PAGE }, now);
    for (const message of page) {
      if (progress.matched.length >= enough) return true;
      const failed = await failures(store, message, match, now);
      progress.place = message.receivedAt;
      if (failed === 'gone') continue;
      if (failed.length === 0) {
        progress.matched.push(message);
        continue;
      }
      progress.seenCount++;
      progress.seen.push({ message, failed: failed.map(quoted) });
      if (progress.seen.length > MAX_SEEN) progress.seen.shift();
    }
    if (page.length < SCAN_PAGE) return true;
    await setImmediate();
    if (signal.aborted) return false;
  }
}

/** All conditions that a message fails; the content is read only where a condition is about it. */
async function failures(
  store: ExplainDeps['store'],
  message: MessageRecord,
  match: Filters,
  now: number,
): Promise<FailedCondition[] | 'gone'> {
  const failed = failedConditions(message, match);
  if (!needsContent(match)) return failed;
  const full = await store.messages.find(message.inboxId, message.id, now);
  return full ? [...failed, ...failedContent(full, match)] : 'gone';
}

const quote = (text: string): string => (text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text);
const quoted = ({ condition, expected, got }: FailedCondition): FailedCondition => ({
  condition,
  expected: quote(expected),
  got: quote(got),
});

async function inFull(
  { store, clock }: ExplainDeps,
  inbox: InboxRecord,
  messages: MessageRecord[],
): Promise<FullMessageRecord[]> {
  const full: FullMessageRecord[] = [];
  for (const { id } of messages) {
    const message = await store.messages.find(inbox.id, id, clock.now());
    if (message) full.push(message);
  }
  return full;
}
