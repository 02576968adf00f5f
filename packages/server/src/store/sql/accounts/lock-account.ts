import { AppError } from '../../../errors.ts';
import type { Dialect, Tx } from '../dialect.ts';

/**
 * Locks an account until the transaction ends, so that what is counted and then made for it goes one by
 * one: else two could both see the last free place.
 * @throws AppError `unauthorized` when it is gone or being deleted: nothing more is made for it
 */
export async function lockAccount(tx: Tx, dialect: Dialect, accountId: string): Promise<void> {
  const account = await dialect
    .lockRows(
      tx.selectFrom('accounts').select('id').where('id', '=', accountId).where('deleted_at', 'is', null),
    )
    .executeTakeFirst();
  if (!account)
    throw new AppError(
      'unauthorized',
      'The account of this credential is deleted. Use a credential of another account.',
    );
}
