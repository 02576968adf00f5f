import type { Row } from '../support/rows.ts';
import { withCluster } from './cluster.ts';
import { intakeRows } from './intake.ts';
import { storeRows } from './store.ts';

/** Servers on PostgreSQL, all on this machine; `wait-nodes` measures waits from server to server. */
export function postgres(): Promise<Row[]> {
  return withCluster(async (cluster) => [...(await intakeRows(cluster)), ...(await storeRows(cluster))]);
}
