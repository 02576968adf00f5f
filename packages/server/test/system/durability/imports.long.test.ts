import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { brokenInvariants } from '../../store/invariants.ts';
import { chance } from '../../support/chance.ts';
import { inForm, timeLimit } from '../../support/form.ts';
import { RECORDING, zipOf } from '../../support/recording-archive.ts';
import type { Inbox, ServerProcess } from '../../support/server-process.ts';
import { ENGINES, type Site, useSite } from '../nodes/nodes.ts';
import { allMessages } from '../nodes/truth.ts';

/** Number of imports that are cut in each way on each engine. */
const CUTS = inForm(2, 20);
const LIMIT = { timeout: timeLimit(900_000) };
const SMALL_MAILS = 40;
const LARGE_BYTES = 4_000_000;
/** Longer than the lock timeout of the server, milliseconds. */
const LOCKED_MS = 4_000;

const MAILS = Array.from({ length: SMALL_MAILS + 1 }, (_, n) => {
  return `Subject: mail ${n}\r\n\r\n${'text. '.repeat(n === 20 ? LARGE_BYTES / 6 : 300)}\r\n`;
});

/** @param afterMs returns the time of each mail in the recording */
function archiveOf(label: string, mails: readonly string[], afterMs: (n: number) => number): Promise<Buffer> {
  const messages = mails.map((mail, n) => ({
    file: `${n}.eml`,
    receivedAt: new Date(Date.UTC(2026, 0) + afterMs(n)).toISOString(),
    size: mail.length,
    envelope: { mailFrom: 'a@x.example', rcptTo: [], helo: 'x', remoteAddress: '192.0.2.1', tls: false },
  }));
  const index = { ...RECORDING, inbox: { ...RECORDING.inbox, labels: { cut: label } }, messages };
  const files = Object.fromEntries(mails.map((mail, n) => [`${n}.eml`, mail]));
  return zipOf({ 'inbox.json': JSON.stringify(index), ...files });
}

let server: ServerProcess;
const random = chance();
afterEach(() => server.end('SIGKILL'));

/** @returns the status; 0 if the connection ended before the response */
async function importOf(archive: Buffer, query = '', signal?: AbortSignal): Promise<number> {
  const headers = { 'content-type': 'application/zip' };
  const request = { body: archive, headers, ...(signal && { signal }) };
  const answer = await server.api('POST', `/v1/inboxes/import${query}`, request).catch(() => undefined);
  return answer?.status ?? 0;
}

const inboxesOf = async (label: string): Promise<(Inbox & { messageCount: number; replay: string })[]> =>
  (await server.api('GET', `/v1/inboxes?label.cut=${label}`)).body.inboxes;

/** Asserts that an import is complete or absent. @returns true if it exists */
async function isThere(label: string): Promise<boolean> {
  const inboxes = await inboxesOf(label);
  expect(inboxes.length).toBeLessThanOrEqual(1);
  const [inbox] = inboxes;
  if (!inbox) return false;
  expect(inbox.messageCount).toBe(MAILS.length);
  const messages = await allMessages(server, inbox);
  const path = `/v1/inboxes/${inbox.id}/messages`;
  const raws = await Promise.all(messages.map(({ id }) => server.api('GET', `${path}/${id}/raw`)));
  expect(raws.map(({ body }) => body)).toEqual(MAILS);
  return true;
}

/** Makes the database fail for the import in progress, and then work again. */
async function loseDatabase(site: Site): Promise<void> {
  const goOn = await site.loseDatabase();
  if (site.url === '') await sleep(LOCKED_MS);
  await goOn();
}

describe.each(ENGINES)(`an import that is cut (seed ${random.seed}), on $engine`, LIMIT, ({ engine }) => {
  const site = useSite(0, { engine, ...(engine === 'PostgreSQL' && { own: {} }) });
  /** Duration of a complete import, milliseconds. */
  let wholeMs: number;
  const restart = async () => {
    server = await site().startNode({}, 0);
  };
  beforeAll(async () => {
    await restart();
    const archive = await archiveOf('whole', MAILS, () => 0);
    const begun = performance.now();
    expect(await importOf(archive)).toBe(201);
    wholeMs = performance.now() - begun;
    expect(await isThere('whole')).toBe(true);
    await server.end('SIGTERM');
  });

  const waysToCut: [string, (running: ServerProcess, client: AbortController) => Promise<unknown>][] = [
    ['SIGKILL', (running) => running.end('SIGKILL').then(restart)],
    ['SIGTERM', (running) => running.end('SIGTERM').then(restart)],
    ['the loss of the database', () => loseDatabase(site())],
    ['the end of its connection', async (_running, client) => client.abort()],
  ];

  it.for(waysToCut)('by %s is there whole or not at all, and what it leaves is freed', async ([way, cut]) => {
    await restart();
    const labels = Array.from({ length: CUTS }, (_, n) => `${way.replaceAll(' ', '-')}.${n}`);
    for (const label of labels) {
      const archive = await archiveOf(label, MAILS, () => 0);
      const client = new AbortController();
      const imported = importOf(archive, '', client.signal);
      await sleep(random.between(0, Math.ceil(wholeMs)));
      await cut(server, client);
      const status = await imported;
      await expect.poll(async () => (await server.api('GET', '/readyz')).status).toBe(200);
      // Without a response the import may exist or not.
      expect((await isThere(label)) ? [201, 0, 503] : [0, 503]).toContain(status);
    }
    await server.end('SIGTERM');
    await restart();
    for (const label of labels) await isThere(label);
    // On PostgreSQL, sources of a stage are kept for an hour, because another server may use them.
    const parked = `select * from parked_sources ${engine === 'SQLite' ? '' : 'where stage is null'}`;
    await expect.poll(() => site().select(parked)).toEqual([]);
    await server.end('SIGTERM');
    expect(await brokenInvariants(site().select, Date.now(), false)).toEqual([]);
  });

  it('that is a replay is marked when it was cut, and only then', async () => {
    await restart();
    const HOUR = 3_600_000;
    const cuts = engine === 'SQLite' ? (['SIGTERM', 'SIGKILL'] as const) : (['SIGTERM'] as const);
    for (const signal of cuts) {
      const archive = await archiveOf(signal, MAILS.slice(0, 2), (n) => n * HOUR);
      expect(await importOf(archive, '?speed=1&ttlMinutes=100')).toBe(201);
      await expect.poll(() => inboxesOf(signal)).toMatchObject([{ messageCount: 1, replay: 'running' }]);
      await server.end(signal);
      await restart();
      expect(await inboxesOf(signal)).toMatchObject([{ messageCount: 1, replay: 'cut' }]);
    }
    const archive = await archiveOf('complete', MAILS.slice(0, 2), (n) => n * 100_000);
    expect(await importOf(archive, '?speed=1000')).toBe(201);
    await expect.poll(() => inboxesOf('complete')).toMatchObject([{ messageCount: 2, replay: 'none' }]);
  });
});
