/**
 * Types and conversions for data between the browser and Node.js. It is JSON, so regular expressions are sent
 * as their source.
 */
import type { CodeWait, LinkWait, MessageWait, Silence } from '@mayfly/client';

/** An inbox as specs see it. */
export interface CypressInbox {
  id: string;
  address: string;
  /** Of an inbox that was created with `sms: true`. */
  phoneNumber: string | null;
  expiresAt: string;
}

/** Functions and signals cannot be sent between the processes. */
type OverTheWire<Wait> = Omit<Wait, 'where' | 'signal'>;
/** Times are milliseconds, as everywhere in Cypress. */
export type CypressMessageWait = OverTheWire<MessageWait>;
export type CypressCodeWait = OverTheWire<CodeWait>;
export type CypressLinkWait = OverTheWire<LinkWait>;
export type CypressSilence = OverTheWire<Silence>;

export interface WaitArguments {
  inboxId: string;
  wait: unknown;
}

const REGEXP = '$regexp';

/** Replaces regular expressions by JSON, at any depth. */
export function toJson(value: unknown): unknown {
  if (value instanceof RegExp) return { [REGEXP]: [value.source, value.flags] };
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, toJson(inner)]));
}

/** Restores the regular expressions of `toJson`. */
export function fromJson(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const expression = (value as Record<string, unknown>)[REGEXP];
  if (Array.isArray(expression)) return new RegExp(expression[0], expression[1]);
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, fromJson(inner)]));
}
