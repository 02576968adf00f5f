import type { Client } from 'pg';

export type Hint =
  | { kind: 'message'; accountId: string; inboxId: string }
  | { kind: 'inbox'; inboxId: string }
  | { kind: 'deliveries' }
  /** Anything may have changed. */
  | { kind: 'all' };

/** Ids for which this node holds waits. */
export interface Waiting {
  inboxes: string[];
  accounts: string[];
}

/** Compares versions with those of the previous call; new ids count as changed. */
export function createVersionCheck(waiting: () => Waiting): (client: Client) => Promise<Hint[]> {
  let known = new Map<string, number>();
  return async (client) => {
    const { inboxes, accounts } = waiting();
    const { rows } = await client.query({
      name: 'versions',
      text: `select id, version, 'inbox' as kind from inboxes where id = any($1)
        union all select a.id, o.last, 'account' from accounts a join account_orders o on o.account_seq = a.seq
        where a.id = any($2)`,
      values: [inboxes, accounts],
    });
    const changed = rows.filter(({ id, version }) => known.get(id) !== version);
    known = new Map(rows.map(({ id, version }) => [id, version]));
    return changed.map(({ id, kind }) =>
      kind === 'inbox' ? { kind, inboxId: id } : { kind: 'message', accountId: id, inboxId: '' },
    );
  };
}
