import type { WaitCause, WaitExplanation } from '@mayfly/client/contract';
import type { Filters } from '../mail/matching/filters.ts';
import type { CheckedMessage, FullMessageRecord, MessageRecord } from '../messages/records.ts';
import type { Evidence } from './evidence.ts';

export interface Expectation {
  match: Filters;
  since?: string | undefined;
  /** Number of expected messages; with 0, the wait succeeds if no message arrives. */
  count: number;
  waitMs: number;
  /** How long earlier requests of the same wait have lasted, milliseconds. */
  waitedMs: number;
  /** The time that the test wanted to wait, milliseconds. Set if the client has shortened it. */
  askedMs?: number | undefined;
}

/** `full` is null if the message is too large, or would make the response too large. */
export interface WaitedMessage {
  message: MessageRecord;
  full: FullMessageRecord | null;
}

export interface Outcome {
  matched: boolean;
  messages: WaitedMessage[];
  cursor: string;
  explanation: Explanation | null;
}

export interface Cause extends WaitCause {
  /** `text` without quotations from mails. */
  plain: string;
}

export interface Explanation extends Evidence, Pick<WaitExplanation, 'reason' | 'summary' | 'seenCount'> {
  /** `summary` without quotations from mails, because it is stored for longer than the mails. */
  plainSummary: string;
  causes: Cause[];
  seen: CheckedMessage[];
}
