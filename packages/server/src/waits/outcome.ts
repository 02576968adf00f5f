import type { WaitCause } from '@mayfly/client/contract';
import type { FailedCondition, Filters } from '../mail/matching/filters.ts';
import type { FullMessageRecord, MessageRecord } from '../messages/records.ts';
import type { Evidence } from './evidence.ts';

/** What is waited for. */
export interface Expectation {
  match: Filters;
  since?: string | undefined;
  /** How many messages; 0 for silence. */
  count: number;
  waitMs: number;
  /** How long earlier requests of the same wait were held, milliseconds. */
  waitedMs: number;
  /** What the test asked for, where its client shortened the wait, milliseconds. */
  askedMs?: number | undefined;
}

/** A message that a wait returns: in full, or null where it or the response would be too large. */
export interface WaitedMessage {
  message: MessageRecord;
  full: FullMessageRecord | null;
}

/** How a wait ended, and why it failed if it did. */
export interface Outcome {
  matched: boolean;
  /** Those that matched, oldest first. */
  messages: WaitedMessage[];
  /** Stands for all messages that were checked. */
  cursor: string;
  explanation: Explanation | null;
}

/** A message that did not match, and why. */
export interface SeenMessage {
  message: MessageRecord;
  failed: FailedCondition[];
}

/** Why a wait failed, or may have failed. */
export interface Cause extends WaitCause {
  /** The text without anything that a message says. */
  plain: string;
}

export interface Explanation extends Evidence {
  reason: 'timeout' | 'unexpected_message' | 'server_stopping';
  /** One or more sentences for a person. */
  summary: string;
  /** The same without anything that a message says, for what outlives the messages. */
  plainSummary: string;
  /** The likeliest first. */
  causes: Cause[];
  /** How many messages did not match. */
  seenCount: number;
  /** The newest of them, newest first. */
  seen: SeenMessage[];
}
