import type { Selectable } from 'kysely';
import type { AccountRecord } from '../../contract/index.ts';
import type { AccountsTable } from '../tables/accounts.ts';

export function toAccount(
  row: Pick<Selectable<AccountsTable>, 'id' | 'name' | 'plan' | 'created_at'>,
): AccountRecord {
  return { id: row.id, name: JSON.parse(row.name), plan: row.plan, createdAt: row.created_at };
}
