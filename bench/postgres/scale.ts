import { newId } from '../../packages/server/src/ids.ts';
import { drawn, type Filled, makeInboxes, rowsOf, SIZES } from '../scale.ts';
import { startMayfly, withFilled } from '../support/mayfly.ts';
import { type Row, skipped } from '../support/rows.ts';
import { NO_WRK, wrkProgram } from '../support/wrk.ts';
import { type BenchCluster, connect, withCluster } from './cluster.ts';

/** Rows of one statement. */
const STEP = 20_000;

/** What a server with ten million stored messages on PostgreSQL does, against one with ten thousand. */
export async function postgresScale(): Promise<Row[]> {
  if (wrkProgram === undefined) return [skipped('list and poll at 10 million messages', NO_WRK)];
  return withCluster((cluster) =>
    withFilled(
      SIZES,
      (_, size) => filled(cluster, size),
      (large, small, folder) => rowsOf('at 10 million stored on PostgreSQL', large, small, folder),
    ),
  );
}

async function filled(cluster: BenchCluster, { inboxes, each }: typeof SIZES.small): Promise<Filled> {
  const url = await cluster.createDatabase();
  const start = () => startMayfly({ env: { MAYFLY_DATABASE_URL: url } });
  const mayfly = await start();
  const made = await makeInboxes(mayfly, inboxes);
  const client = await connect(url);
  await fill(client, each);
  await client.end();
  return { mayfly, inboxes: drawn(made), start };
}

/** Gives every inbox but the one of the sample so many messages, mixed on the disk as if they had come in turn. */
async function fill(client: Awaited<ReturnType<typeof connect>>, each: number): Promise<void> {
  const { rows: inboxes } = await client.query(
    'select seq, created_at::float8 as created_at from inboxes where message_count = 0 order by seq',
  );
  const total = inboxes.length * each;
  const messages = (from: number, to: number) => {
    const columns = { inbox: [] as number[], at: [] as number[], id: [] as string[] };
    for (let n = from; n < to; n++) {
      const { seq, created_at } = inboxes[n % inboxes.length];
      const at = created_at + 1 + Math.floor(n / inboxes.length);
      columns.inbox.push(seq);
      columns.at.push(at);
      columns.id.push(newId('msg', at));
    }
    return columns;
  };
  await client.query('begin');
  for (let from = 0; from < total; from += STEP) {
    const to = Math.min(total, from + STEP);
    const { inbox, at, id } = messages(from, to);
    // The sample has the numbers 1.
    await client.query(
      `insert into sources (seq, size, envelope, raw)
       select n + 2, size, envelope, raw from generate_series($1::int, $2::int) n,
         (select * from sources where seq = 1) as sample`,
      [from, to - 1],
    );
    await client.query(
      `insert into readings (source_seq, size, parse_error, trail, summary, content)
       select n + 2, size, parse_error, trail, summary, content from generate_series($1::int, $2::int) n,
         (select * from readings where source_seq = 1) as sample`,
      [from, to - 1],
    );
    await client.query(
      `insert into messages (inbox_seq, received_at, id, source_seq, rcpt_to, account_seq, account_order)
       select inbox, at, id, $1::bigint + place + 1, '["a@mayfly.test"]', 1, $1::bigint + place + 1
       from unnest($2::bigint[], $3::bigint[], $4::text[]) with ordinality as new(inbox, at, id, place)`,
      [from, inbox, at, id],
    );
  }
  await client.query(
    `update inboxes set message_count = $1, last_received_at = created_at + $1, version = version + 1
     where message_count = 0`,
    [each],
  );
  await client.query('update account_orders set last = last + $1', [total]);
  await client.query(`select setval(pg_get_serial_sequence('sources', 'seq'), $1)`, [total + 1]);
  await client.query('commit');
  await client.query('vacuum analyze');
}
