import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTransport } from 'nodemailer';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApp, TEST_KEY, type TestApp } from '../../server/test/support/start-app.ts';
import { type ApiError, Mayfly } from '../src/index.ts';
import { type Fault, faultyProxy } from './support/faulty-proxy.ts';

/** `TEST_FORM=long` runs 10,000 waits, two for each inbox, with other faults each time. */
const LONG = process.env.TEST_FORM === 'long';
const INBOXES = LONG ? 5_000 : 120;
const AT_ONCE = 50;
const FAULTS: Fault[] = [
  'reset-before',
  'reset-after',
  'cut-body',
  'cut-held',
  '502',
  '504-held',
  'duplicate',
  'delay',
];
/** Of requests; the others pass. */
const FAULT_SHARE = LONG ? 0.6 : 0.4;

/** Numbers in [0, 1) that are the same in each short run (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

let app: TestApp;
beforeAll(async () => {
  app = await startApp({}, {});
});
afterAll(() => app.stop());

describe('waits through a proxy that cuts, delays, repeats and answers 502 and 504', () => {
  it(`return to each of ${INBOXES} waiters its own two messages, once and in order`, async () => {
    const seed = LONG ? Date.now() : 20261122;
    const random = randomOf(seed);
    const proxy = await faultyProxy(app.url, () =>
      random() < FAULT_SHARE ? (FAULTS[Math.floor(random() * FAULTS.length)] ?? 'pass') : 'pass',
    );
    const mayfly = new Mayfly({ url: proxy.url, apiKey: TEST_KEY, retries: 30, timeout: 60_000 });
    const transport = createTransport({
      host: app.smtp.host,
      port: app.smtp.port,
      pool: true,
      maxMessages: Infinity,
    });
    const wrong: string[] = [];
    const send = (to: string, code: string) =>
      transport.sendMail({
        from: 'app@shop.example',
        to,
        subject: `Code ${code}`,
        text: `Your code is ${code}.`,
      });

    let next = 0;
    async function worker(): Promise<void> {
      while (next < INBOXES) {
        const number = 100_000 + next++;
        const inbox = await mayfly.createInbox({ ttlMinutes: 10 });
        const [first, second] = [`${number}1`, `${number}2`];
        const isEarly = random() < 0.5;
        if (isEarly) await send(inbox.address, first);
        const one = inbox.waitForCode({ timeout: 60_000 });
        if (!isEarly) {
          await new Promise((resolve) => setTimeout(resolve, random() * 150));
          await send(inbox.address, first);
        }
        const got = [await one];
        const two = inbox.waitForCode({ timeout: 60_000 });
        await send(inbox.address, second);
        got.push(await two);
        if (got.join() !== `${first},${second}`) wrong.push(`${first},${second}: ${got}`);
        await inbox.delete();
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    transport.close();
    const applied = Object.fromEntries(proxy.applied);
    await proxy.close();
    expect({ seed, wrong }).toEqual({ seed, wrong: [] });
    // Every fault happened.
    expect(Object.keys(applied)).toEqual(expect.arrayContaining(FAULTS));
    // No repeated creation made a second inbox: all are deleted.
    expect((await app.api('GET', '/v1/inboxes')).body.inboxes).toEqual([]);
    if (LONG) process.stdout.write(`${INBOXES * 2} waits: ${JSON.stringify(applied)}\n`);
  }, 600_000);

  it('continue over a restart of the server', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'mayfly-restart-'));
    const first = await startApp({}, {}, dataDir);
    const mayfly = new Mayfly({ url: first.url, apiKey: TEST_KEY });
    const inbox = await mayfly.createInbox();
    const port = new URL(first.url).port;
    const waiting = inbox.waitForCode({ timeout: 20_000 });
    await first.stop();
    const again = await startApp({ MAYFLY_HTTP_PORT: port }, {}, dataDir);
    try {
      await again.send({
        from: 'a@shop.example',
        to: inbox.address,
        subject: 'Code',
        text: 'Your code is 775533.',
      });
      expect(await waiting).toBe('775533');
    } finally {
      await again.stop();
      rmSync(dataDir, { recursive: true, force: true });
    }
  });

  it('stop at once for a credential that is refused', async () => {
    const stranger = new Mayfly({ url: app.url, apiKey: 'mfk_unknown' });
    const error = await stranger
      .inbox('inb_x')
      .waitForMessage()
      .catch((caught: ApiError) => caught);
    expect((error as ApiError).status).toBe(401);
  });

  it('respect Retry-After, and fail when it ends after the deadline', async () => {
    let refusals = 2;
    const limited: typeof fetch = async (input, init) => {
      if (refusals-- > 0) {
        const problem = {
          code: 'rate_limited',
          detail: 'Too many requests.',
          requestId: 'req_1',
          status: 429,
        };
        const headers = { 'content-type': 'application/problem+json', 'retry-after': '0' };
        return new Response(JSON.stringify(problem), { status: 429, headers });
      }
      return fetch(input, init);
    };
    const mayfly = new Mayfly({ url: app.url, apiKey: TEST_KEY, fetch: limited });
    expect((await mayfly.usage()).plan).toBe('unlimited');
    let calls = 0;
    const late: typeof fetch = async () => {
      calls += 1;
      return new Response('{}', {
        status: 429,
        headers: { 'content-type': 'application/problem+json', 'retry-after': '60' },
      });
    };
    await expect(new Mayfly({ url: app.url, apiKey: TEST_KEY, fetch: late }).usage()).rejects.toMatchObject({
      status: 429,
      retryAfter: 60_000,
    });
    expect(calls).toBe(1);
  });
});
