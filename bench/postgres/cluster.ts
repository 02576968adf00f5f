import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { connectAlone } from '../../packages/server/src/database/postgres/connection.ts';
import { type PostgresCluster, startPostgres } from '../../packages/server/test/support/postgres.ts';

/** `/proc/PID/stat` counts in ticks of 10 ms (USER_HZ). */
const TICKS_PER_SECOND = 100;
/** As an operator would set them for a server that takes much mail; the rest are PostgreSQL's defaults. */
const SETTINGS = { shared_buffers: '256MB', max_wal_size: '4GB', checkpoint_timeout: '15min' };

/** A PostgreSQL with a database of its own for each server or group of servers that is measured. */
export interface BenchCluster extends PostgresCluster {
  createDatabase(): Promise<string>;
  /** CPU time of all its processes so far, also of those that have ended, seconds. */
  cpuSeconds(): number;
}

/** Utime and stime of a process, and with `andChildren` of its children that have ended, in ticks. */
function ticksOf(stat: string, andChildren: boolean): number {
  // After the command's name, which may hold anything: state is field 3, utime 14, stime 15, cutime 16, cstime 17.
  const fields = stat.replace(/^.*\) /s, '').split(' ');
  const own = Number(fields[11]) + Number(fields[12]);
  return andChildren ? own + Number(fields[13]) + Number(fields[14]) : own;
}

function statOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    // It ended meanwhile.
    return '';
  }
}

function cpuSecondsOf(postmaster: string): number {
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(statOf)
    .filter((stat) => stat.replace(/^.*\) /s, '').split(' ')[1] === postmaster);
  const ticks = children.reduce((sum, stat) => sum + ticksOf(stat, false), ticksOf(statOf(postmaster), true));
  return ticks / TICKS_PER_SECOND;
}

/** A connection whose statements may take any time. */
export const connect = (url: string) => connectAlone(url, (error) => console.error(error));

/** Runs one statement on a connection of its own. */
async function runOnce(url: string, text: string): Promise<void> {
  const client = await connect(url);
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}

/** Starts PostgreSQL for `use` and removes it, whatever happens. */
export async function withCluster<T>(use: (cluster: BenchCluster) => Promise<T>): Promise<T> {
  const cluster = await startPostgres({ source: 'npm', settings: SETTINGS });
  const [pid = ''] = readFileSync(join(cluster.dataDir, 'postmaster.pid'), 'latin1').split('\n');
  let databases = 0;
  try {
    return await use({
      ...cluster,
      async createDatabase() {
        const name = `bench_${++databases}`;
        await runOnce(cluster.url(), `create database ${name}`);
        return cluster.url(name);
      },
      cpuSeconds: () => cpuSecondsOf(pid),
    });
  } finally {
    await cluster.remove();
  }
}
