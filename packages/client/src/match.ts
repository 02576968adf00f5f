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
  /** A code of a format of your own: the first group of the expression. */
  pattern?: RegExp;
  /** Any other condition; it is applied here, to messages that meet the others. */
  where?: (message: Message) => boolean;
}

/** Whether a condition is a regular expression or a function, or has one: the server knows neither. */
export const isLocal = (condition: unknown): boolean =>
  typeof condition === 'function' ||
  condition instanceof RegExp ||
  (typeof condition === 'object' && condition !== null && Object.values(condition).some(isLocal));
