/** Fault rules of inboxes. Part of the Store's contract. */

/** Where a fault applies: in place of the reply to RCPT, of the 354, or of the reply to the final dot. */
export type FaultPoint = 'rcpt' | 'data' | 'end-of-data';

export interface FaultRuleRecord {
  at: FaultPoint;
  /** Null: no reply of its own. `text` is printable ASCII. */
  reply: { code: number; text: string } | null;
  /** Before the reply; 0 for none. */
  delayMs: number;
  disconnect: boolean;
  times: number;
  /** How often it still applies. */
  left: number;
}

/** A rule that is to be applied once. */
export interface MetFault extends Omit<FaultRuleRecord, 'times' | 'left'> {
  /** Its place among the inbox's rules, from 1 on. */
  rule: number;
}

/** Whom a rule meets. */
export interface FaultySender {
  /** The address under which the refusal is stored: lower case, without a tag. */
  address: string;
  mailFrom: string;
  helo: string;
  remoteAddress: string;
}

export interface FaultStore {
  /** Replaces the rules of a live inbox; none ends them. @returns false if the inbox is not live */
  set(accountId: string, inboxId: string, rules: FaultRuleRecord[], now: number): Promise<boolean>;
  /** The rules of a live inbox, also those of which nothing is left. */
  read(accountId: string, inboxId: string, now: number): Promise<FaultRuleRecord[] | undefined>;
  /**
   * Takes one application of the first rule of which something is left, if that rule is for this point. In
   * one transaction, so that all nodes together never apply a rule more often than it says; the same
   * transaction stores it among the refusals.
   */
  spend(inboxId: string, at: FaultPoint, sender: FaultySender, now: number): Promise<MetFault | undefined>;
}
