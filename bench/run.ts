/**
 * `npm run bench [-- name …]`: measures against baselines in the same run and prints a Markdown table.
 * docs/internals/benchmarks.md says what the figures mean.
 */
import { availableParallelism, cpus } from 'node:os';
import { auth } from './auth.ts';
import { consoleBench } from './console.ts';
import { costs } from './costs.ts';
import { explained } from './explained.ts';
import { hostile } from './hostile/run-all.ts';
import { http } from './http.ts';
import { intake } from './intake.ts';
import { memory } from './memory.ts';
import { postgres } from './postgres/run-all.ts';
import { postgresScale } from './postgres/scale.ts';
import { scale } from './scale.ts';
import { search } from './search.ts';
import { slowDisk } from './slow-disk.ts';
import { start } from './start.ts';
import { store } from './store.ts';
import { type Bench, type Row, table } from './support/rows.ts';
import { wait } from './wait.ts';
import { waitNodes } from './wait-nodes.ts';

const BENCHES: Record<string, Bench> = {
  intake,
  hostile,
  'slow-disk': slowDisk,
  store,
  wait,
  explained,
  'wait-nodes': waitNodes,
  http,
  auth,
  memory,
  start,
  scale,
  search,
  console: consoleBench,
  postgres,
  'postgres-scale': postgresScale,
  costs,
};
/** These take long, or much disk: only when named. */
const ON_REQUEST = ['scale', 'search', 'console', 'postgres', 'postgres-scale', 'costs'];

const names = process.argv.slice(2);
const unknown = names.filter((name) => !(name in BENCHES));
if (unknown.length > 0) {
  console.error(`No such bench: ${unknown.join(', ')}. There are: ${Object.keys(BENCHES).join(', ')}.`);
  process.exit(2);
}

// So that folders and servers go with this process.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

const chosen = names.length > 0 ? names : Object.keys(BENCHES).filter((name) => !ON_REQUEST.includes(name));
const rows: Row[] = [];
for (const name of chosen) {
  console.error(`${name} …`);
  try {
    rows.push(...((await BENCHES[name]?.()) ?? []));
  } catch (error) {
    console.error(error);
    process.exitCode = 1;
    rows.push({ what: name, figure: 'failed', baseline: '–', ratio: '–', budget: '–', met: 'no' });
  }
}
console.log(`Node ${process.version}, ${availableParallelism()} cores (${cpus()[0]?.model ?? 'unknown'})\n`);
console.log(table(rows));
