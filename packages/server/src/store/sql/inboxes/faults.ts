import type { FaultRuleRecord, FaultStore } from '../../contract/index.ts';
import type { Engine } from '../engine.ts';
import { prepare, type Slots } from '../prepared.ts';
import { createInsert } from './refusals.ts';

const leftOf = (rules: readonly FaultRuleRecord[]): number => rules.reduce((sum, { left }) => sum + left, 0);

const toRules = (text: string | null): FaultRuleRecord[] => (text === null ? [] : JSON.parse(text));

/** Fault rules: one JSON text in the inbox's row, so that they end with it and one row lock guards them. */
export function createFaults(engine: Engine): FaultStore {
  const { db, dialect, transaction } = engine;
  const insertRefusals = createInsert(engine);
  const select = prepare((value: Slots<{ accountId: string; inboxId: string; now: number }>) =>
    db
      .selectFrom('inboxes')
      .select('faults')
      .where('id', '=', value.inboxId)
      .where('account_id', '=', value.accountId)
      .where('expires_at', '>', value.now),
  );
  return {
    set: (accountId, inboxId, rules, now) =>
      transaction(async (tx) => {
        const changed = await tx
          .updateTable('inboxes')
          .set({ faults: rules.length === 0 ? null : JSON.stringify(rules), faults_left: leftOf(rules) })
          .where('id', '=', inboxId)
          .where('account_id', '=', accountId)
          .where('expires_at', '>', now)
          .where('freed', '=', 0)
          .returning('id')
          .executeTakeFirst();
        return changed !== undefined;
      }),

    async read(accountId, inboxId, now) {
      const [row] = await select(db, { accountId, inboxId, now });
      return row && toRules(row.faults);
    },

    spend: (inboxId, at, sender, now) =>
      transaction(async (tx) => {
        const row = await dialect
          .lockRows(
            tx
              .selectFrom('inboxes')
              .select('faults')
              .where('id', '=', inboxId)
              .where('expires_at', '>', now)
              .where('faults_left', '>', 0),
          )
          .executeTakeFirst();
        const rules = toRules(row?.faults ?? null);
        const index = rules.findIndex(({ left }) => left > 0);
        const rule = rules[index];
        if (rule?.at !== at) return undefined;
        rule.left -= 1;
        await tx
          .updateTable('inboxes')
          .set({ faults: JSON.stringify(rules), faults_left: leftOf(rules) })
          .where('id', '=', inboxId)
          .execute();
        const { reply, delayMs, disconnect } = rule;
        const fault = { rule: index + 1, at, delayMs, disconnect };
        await insertRefusals(tx, [
          { at: now, reply: reply ? `${reply.code} ${reply.text}` : '', ...sender, fault },
        ]);
        return { ...fault, reply };
      }),
  };
}
