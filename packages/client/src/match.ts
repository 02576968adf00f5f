import type * as api from './generated/api.ts';
import type { LinkMatch, Message } from './message.ts';

/** Conditions of a message; all must be met. A string must be contained in the field, and case is ignored. */
export interface Match {
  from?: string | RegExp;
  to?: string | RegExp;
  rcptTo?: string;
  subject?: string | RegExp;
  text?: string | RegExp;
  hasAttachments?: boolean;
  code?: boolean;
  link?: boolean | LinkMatch;
  /** Any other condition; it is applied here, to messages that meet the others. */
  where?: (message: Message) => boolean;
}

/** A match, split into what the server checks and what is left. */
export interface SplitMatch {
  onServer: Record<string, unknown>;
  /** Conditions that a message failed, as the server tells them. Absent when the server checks all. */
  failures?: (message: Message) => api.FailedCondition[];
}

const isLocal = (condition: unknown): boolean =>
  typeof condition === 'function' ||
  condition instanceof RegExp ||
  (typeof condition === 'object' && condition !== null && Object.values(condition).some(isLocal));

/** Splits a match; without regular expressions and functions all of it goes to the server. */
export const splitMatch = async (match: Match): Promise<SplitMatch> =>
  isLocal(match) ? (await import('./checks.ts')).split(match) : { onServer: { ...match } };
