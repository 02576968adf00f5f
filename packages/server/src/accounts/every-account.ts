import type { Store } from '../store.ts';
import type { AccountRecord } from './sql.ts';

const PAGE = 200;

/** Every account, oldest first. */
export async function* everyAccount({ accounts }: Pick<Store, 'accounts'>): AsyncGenerator<AccountRecord> {
  for (let after: string | null = null; ; ) {
    const page = await accounts.list({ limit: PAGE, after });
    yield* page.accounts;
    after = page.accounts.at(-1)?.id ?? null;
    if (!page.hasMore || after === null) return;
  }
}
