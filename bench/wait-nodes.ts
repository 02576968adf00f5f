import { startPostgres } from '../packages/server/test/support/postgres.ts';
import { realisticMail } from './support/mails.ts';
import { type Mayfly, startMayfly } from './support/mayfly.ts';
import type { Row } from './support/rows.ts';
import { onTheWire } from './support/smtp-client.ts';
import { latencies, rows, underLoad } from './wait.ts';

/** Promised for a wait on one node that is answered by mail to another, milliseconds. */
const BUDGET_MS = 25;

/** The waits of `wait` on PostgreSQL: with one node, and held on one node while the mail comes to another. */
export async function waitNodes(): Promise<Row[]> {
  const mail = onTheWire(await realisticMail());
  const postgres = await startPostgres({ source: 'npm' });
  const nodes: Mayfly[] = [];
  try {
    for (let n = 0; n < 2; n++)
      nodes.push(await startMayfly({ env: { MAYFLY_DATABASE_URL: postgres.url() } }));
    const [one, other] = nodes as [Mayfly, Mayfly];
    await latencies(one, mail, other);
    const own = await latencies(one, mail);
    const idle = await latencies(one, mail, other);
    const busy = await underLoad(other, mail, () => latencies(one, mail, other));
    return [
      ...rows('a held wait on the same node, PostgreSQL, at idle', own, BUDGET_MS),
      ...rows('a held wait on another node, at idle', idle, BUDGET_MS),
      ...rows('a held wait on another node, beside 200 mails/s to other inboxes', busy, BUDGET_MS),
    ];
  } finally {
    for (const node of nodes) await node.stop();
    await postgres.remove();
  }
}
