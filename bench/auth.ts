import { join } from 'node:path';
import { type Child, startChild } from './support/child.ts';
import { makeFolder, removeFolder } from './support/folder.ts';
import { compared, type Row, skipped } from './support/rows.ts';
import { NO_WRK, wrk, wrkProgram } from './support/wrk.ts';

const ROUNDS = 20;
const SECONDS = 1;
/** The gate with all that belongs to it; the same without headers that tell of limits; no gate. */
const MODES = ['with', 'silent', 'without'] as const;
const WHAT = 'look at an inbox, with authentication, rate limit and quota';

/** What the way in costs: the same app with the gate that every request passes, and without it. */
export async function auth(): Promise<Row[]> {
  if (wrkProgram === undefined) return [skipped(WHAT, NO_WRK)];
  const folder = makeFolder();
  const servers: Child[] = [];
  const start = async (mode: Mode): Promise<() => Promise<Measured>> => {
    const server = await startChild({
      file: new URL('./support/gate-server.ts', import.meta.url),
      args: [mode, join(folder, `${mode}.db`)],
      ready: /ready on (\d+) with (\S+)/,
    });
    servers.push(server);
    const [port, key = ''] = server.ready;
    const base = `http://127.0.0.1:${port}/v1/inboxes`;
    const made = await fetch(base, { method: 'POST', headers: { authorization: `Bearer ${key}` } });
    const { id } = (await made.json()) as { id: string };
    const url = `${base}/${id}`;
    await assertGate(mode, url, key);
    return async () => {
      const before = server.cpuSeconds();
      const { rate, p99 } = await wrk({ url, key, seconds: SECONDS });
      return { rate, p99, cpuMs: ((server.cpuSeconds() - before) * 1_000) / (rate * SECONDS) };
    };
  };
  try {
    const measure = {
      with: await start('with'),
      silent: await start('silent'),
      without: await start('without'),
    };
    const rounds: Round[] = [];
    for (let round = 0; round <= ROUNDS; round++) {
      // Each goes first in every other round: whatever changes meanwhile is no one's gain.
      const order = round % 2 === 0 ? MODES : MODES.toReversed();
      const measured: Partial<Round> = {};
      for (const mode of order) measured[mode] = await measure[mode]();
      // The first one warms up.
      if (round > 0) rounds.push(measured as Round);
    }
    return rows(rounds);
  } finally {
    for (const server of servers) await server.stop();
    removeFolder(folder);
  }
}

type Mode = (typeof MODES)[number];
type Round = Record<Mode, Measured>;

interface Measured {
  rate: number;
  p99: number;
  /** CPU time of all threads a request. */
  cpuMs: number;
}

/** Status for a stranger and for the owner, and how many headers of limits the owner reads. */
const EXPECTED: Readonly<Record<Mode, readonly number[]>> = {
  with: [401, 200, 2],
  silent: [401, 200, 0],
  without: [200, 200, 0],
};

/** @throws Error when a gate is not what its row says */
async function assertGate(mode: Mode, url: string, key: string): Promise<void> {
  const asStranger = await fetch(url);
  const asOwner = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
  const limits = ['ratelimit', 'x-quota-remaining'].filter((name) => asOwner.headers.has(name)).length;
  const found = [asStranger.status, asOwner.status, limits];
  if (String(found) !== String(EXPECTED[mode]))
    throw new Error(`the server ${mode} its gate answers ${found}`);
}

function rows(rounds: readonly Round[]): Row[] {
  const pairs = (mode: Mode, figure: keyof Measured) =>
    rounds.map((round) => ({ ours: round[mode][figure], baseline: round.without[figure] }));
  return [
    compared(`${WHAT}; baseline without them`, 'requests/s', pairs('with', 'rate'), { atLeast: 0.9 }),
    compared('CPU time a request, all threads', 'ms', pairs('with', 'cpuMs')),
    compared('its p99 with 32 requests at a time', 'ms', pairs('with', 'p99')),
    compared('the same, but without the headers that tell of them', 'requests/s', pairs('silent', 'rate')),
  ];
}
