import type { AppliedFault, FaultReply, FaultState } from '@mayfly/client/contract';
import { FOR_UPDATE, read, sql, write } from '../database/sql.ts';
import { type FaultPoint, insertRefusals, type Refusal } from '../refusals/sql.ts';

/** `reply.text` is printable ASCII, so that SMTP can send it. */
export type FaultRuleRecord = Omit<FaultState, 'reply'> & { reply: Required<FaultReply> | null };
export type MetFault = AppliedFault & Pick<FaultRuleRecord, 'reply'>;

const leftOf = (rules: readonly FaultRuleRecord[]): number => rules.reduce((sum, { left }) => sum + left, 0);

const toRules = (text: string | null | undefined): FaultRuleRecord[] => (text ? JSON.parse(text) : []);

/** Fault rules are JSON in the row of their inbox. A use locks the row, so that concurrent uses all count. */
export const faults = {
  /** Replaces the rules; an empty list removes them. @returns false if the inbox is not live */
  set: write(async (tx, accountId: string, inboxId: string, rules: FaultRuleRecord[], now: number) => {
    const text = rules.length === 0 ? null : JSON.stringify(rules);
    const changed = await tx.run(
      sql`update inboxes set faults = ${text}, faults_left = ${leftOf(rules)}
          where id = ${inboxId} and account_id = ${accountId} and expires_at > ${now} and freed = 0`,
    );
    return changed > 0;
  }),

  /** The rules of an inbox, including used-up ones; undefined if the inbox is not live. */
  read: read(async (db, accountId: string, inboxId: string, now: number) => {
    const row = await db.first<{ faults: string | null }>(
      sql`select faults from inboxes where id = ${inboxId} and account_id = ${accountId} and expires_at > ${now}`,
    );
    return row && toRules(row.faults);
  }),

  /** Applies the first rule with uses left if it is for `at`: counts the use, stores a refusal, returns the fault. */
  spend: write(
    { keepsInboxes: true },
    async (
      tx,
      inboxId: string,
      at: FaultPoint,
      sender: Pick<Refusal, 'address' | 'mailFrom' | 'helo' | 'remoteAddress'>,
      now: number,
    ) => {
      const row = await tx.first<{ faults: string }>(
        sql`select faults from inboxes where id = ${inboxId} and expires_at > ${now} and faults_left > 0 ${FOR_UPDATE}`,
      );
      const rules = toRules(row?.faults);
      const index = rules.findIndex(({ left }) => left > 0);
      const rule = rules[index];
      if (rule?.at !== at) return undefined;
      rule.left -= 1;
      await tx.run(
        sql`update inboxes set faults = ${JSON.stringify(rules)}, faults_left = ${leftOf(rules)} where id = ${inboxId}`,
      );
      const { reply, delayMs, disconnect } = rule;
      const fault = { rule: index + 1, at, delayMs, disconnect };
      const shown = reply ? `${reply.code} ${reply.text}` : '';
      await insertRefusals(tx, [{ at: now, reply: shown, ...sender, fault }]);
      return { ...fault, reply };
    },
  ),
};
