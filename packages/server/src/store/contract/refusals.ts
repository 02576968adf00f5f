import type { MetFault } from './faults.ts';

/** Refused mail. Part of the Store's contract. */

/**
 * The `address` of a {@link Refusal} without a recipient: a failed TLS handshake, or a MAIL command that was
 * refused for its size. Only the latter has a `reply` that begins with a code.
 */
export const NO_RECIPIENT = '';

/** A RCPT or DATA for an address on a served domain without a 250 reply, or a failed TLS handshake. */
export interface Refusal {
  at: number;
  /** Lower case, without a tag; or {@link NO_RECIPIENT}. */
  address: string;
  /** Code and text of the reply; the reason of a failed handshake; '' where a fault gave no reply. */
  reply: string;
  mailFrom: string;
  helo: string;
  remoteAddress: string;
  /** The fault rule that caused it, also one that only delayed the reply. */
  fault?: Omit<MetFault, 'reply'>;
  /** Of a connection that ended: whether it was in the middle of a message, and not before DATA. */
  hadBegun?: boolean;
  /** The inbox that received the mail in place of the inbox of the address; see {@link capturedMail}. */
  capturedBy?: { inboxId: string; accountId: string };
}

/**
 * What stands for the address in a {@link Refusal} that is none: mail for that address was stored in another inbox,
 * because its sender had authenticated for that one.
 */
export const capturedMail = (address: string): string => `captured ${address}`;

/** An address to which mail was refused. */
export interface RefusedAddress {
  address: string;
  /** The last time. */
  at: number;
  /** How often. */
  times: number;
}

export interface RefusalStore {
  /** Stores them, up to a number per address and in all, of which the oldest are deleted. */
  add(refusals: Refusal[]): Promise<void>;
  /** Of one address, newest first, not older than 24 h. */
  list(address: string, limit: number, now: number): Promise<Refusal[]>;
  /**
   * What may concern mail for an address after a time, newest first: its refusals, mail for it that was captured
   * ({@link capturedMail}), and refusals without a recipient ({@link NO_RECIPIENT}).
   */
  listConcerning(address: string, after: number, now: number): Promise<Refusal[]>;
  /** Of all addresses of a domain, except those that another inbox has, or had within the quarantine. */
  listByDomain(domain: string, inboxId: string, limit: number, now: number): Promise<Refusal[]>;
  /**
   * For the addresses that an account has, holds, or had within the quarantine, by themselves or by a catch-all
   * inbox, and for its own domains; if it is the only account, also for addresses that no account has. Newest
   * first, not older than 24 h. Refusals without a recipient are left out.
   */
  listByAccount(
    accountId: string,
    query: { after: number; address?: string; limit: number },
    now: number,
  ): Promise<Refusal[]>;
  /**
   * Addresses that were refused with 550 5.1.1, because no inbox had them, after a time and not longer than
   * 24 h ago, the latest first. Addresses that another account has, holds, or had within the quarantine, by
   * themselves or by a catch-all inbox, and those of another account's domains, are left out; for no account
   * (`null`) those of every account.
   * @param page `among`: the addresses that are of interest
   */
  listAddresses(
    accountId: string | null,
    page: { after: number; limit: number; among?: readonly string[] },
    now: number,
  ): Promise<RefusedAddress[]>;
  /**
   * All refusals of that kind after a time, newest first: a line for each, its time, a space, and the address as
   * JSON. Most of them are none of an account's business; {@link listAddresses} says which are.
   */
  recent(after: number, now: number): Promise<string>;
}
