import { AppError } from '../../../errors.ts';
import type { Dialect, Tx } from '../engine.ts';

/**
 * Locks an account until the transaction ends. Transactions that count what the account has before they add
 * to it lock it first; otherwise two at once could both find room for the last one.
 * @returns false if the account is deleted or being deleted
 */
export async function lockIfThere(tx: Tx, dialect: Dialect, accountId: string): Promise<boolean> {
  const account = await dialect
    .lockRows(
      tx.selectFrom('accounts').select('id').where('id', '=', accountId).where('deleted_at', 'is', null),
    )
    .executeTakeFirst();
  return account !== undefined;
}

/**
 * The same for callers to whom it matters.
 * @throws AppError `unauthorized` if the account is deleted or being deleted
 */
export async function lockAccount(tx: Tx, dialect: Dialect, accountId: string): Promise<void> {
  if (await lockIfThere(tx, dialect, accountId)) return;
  throw new AppError(
    'unauthorized',
    'The account of this credential is deleted. Use a credential of another account.',
  );
}
