import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { afterEach, beforeEach, describe, expect, type TestContext, test } from 'vitest';
import { sendTo } from '../../support/mail/smtp-mail.ts';
import type { Inbox, ServerProcess } from '../../support/server-process.ts';
import type { TcpProxy } from '../../support/tcp-proxy.ts';
import { POSTGRES, useSiteOfTest } from './nodes.ts';
import { allMessages } from './truth.ts';

/**
 * Maximum time until everything works again, and maximum duration of a call, milliseconds. The timeouts of a response
 * and of a connection are 18 s together; a busy machine adds to them; without them it would take TCP many minutes.
 */
const MAX_MS = 60_000;
const EVERY_MS = 150;

/** `code` is a reply code of SMTP or a status of HTTP. */
type Call = { n: number; begun: number; ended: number; code: string };

/** Makes calls at a fixed rate without waiting for earlier ones. @returns those that have ended */
function repeat(call: (n: number) => Promise<string>): { calls: Call[]; stop(): Promise<unknown> } {
  const calls: Call[] = [];
  const begun: Promise<void>[] = [];
  const one = async (n: number): Promise<void> => {
    const at = performance.now();
    const code = await call(n);
    calls.push({ n, begun: at, ended: performance.now(), code });
  };
  const timer = setInterval(() => begun.push(one(begun.length)), EVERY_MS);
  return {
    calls,
    stop() {
      clearInterval(timer);
      return Promise.all(begun);
    },
  };
}

describe.skipIf(!POSTGRES)('a database that falls silent and closes nothing', () => {
  const site = useSiteOfTest(0);
  let proxy: TcpProxy;
  let node: ServerProcess;
  let inbox: Inbox;
  let mails: ReturnType<typeof repeat>;
  let polls: ReturnType<typeof repeat>;
  beforeEach(async () => {
    proxy = await site().startProxy();
    node = await site().startNodeThrough(proxy);
    inbox = await node.createInbox();
    const { id, address } = inbox;
    const send = (n: number) => sendTo(node.smtpPort, address, `Subject: mail ${n}\n\n.`);
    mails = repeat(async (n) => (await send(n)).slice(0, 3));
    polls = repeat(async () => {
      const { status, headers } = await node.api('GET', `/v1/inboxes/${id}/messages?limit=1`);
      return headers.has('retry-after') ? `${status} with Retry-After` : `${status}`;
    });
    await succeededAfter(performance.now());
  });
  afterEach(() => Promise.all([mails.stop(), polls.stop()]));

  /** Resolves when mail and polls that began after `time` have succeeded. @returns how long after `time` */
  async function succeededAfter(time: number): Promise<number> {
    const first = (calls: Call[], code: string) =>
      calls.find((call) => call.begun > time && call.code === code)?.ended ?? Number.POSITIVE_INFINITY;
    for (;;) {
      const at = Math.max(first(mails.calls, '250'), first(polls.calls, '200'));
      if (Number.isFinite(at)) return at - time;
      await pause(20);
    }
  }

  /** Stops the calls; asserts that no acknowledged mail is missing, and that no call failed otherwise than with 451 or 503. */
  async function assertHonest(): Promise<void> {
    await Promise.all([mails.stop(), polls.stop()]);
    const stored = new Set((await allMessages(node, inbox)).map(({ subject }) => subject));
    const acknowledged = mails.calls.filter(({ code }) => code === '250');
    expect(acknowledged.filter(({ n }) => !stored.has(`mail ${n}`))).toEqual([]);
    for (const { code } of mails.calls) expect(code).toBeOneOf(['250', '451']);
    for (const { code } of polls.calls) expect(code).toBeOneOf(['200', '503 with Retry-After']);
  }

  const longestCall = () =>
    Math.max(...[...mails.calls, ...polls.calls].map(({ begun, ended }) => ended - begun));

  /** Asserts that mail and polls succeed again, and that no call has taken too long. */
  async function worksAgain(annotate: TestContext['annotate']): Promise<void> {
    const ms = await succeededAfter(performance.now());
    await assertHonest();
    await annotate(`works again after ${Math.round(ms)} ms; longest call ${Math.round(longestCall())} ms`);
    expect(ms).toBeLessThan(MAX_MS);
    expect(longestCall()).toBeLessThan(MAX_MS);
  }

  const freezeAll = () => {
    for (const connection of proxy.connections()) connection.freeze();
  };

  test('is used again by its timeouts when new connections work, and a node can stop', async (context) => {
    freezeAll();
    await worksAgain(context.annotate);
    freezeAll();
    // The exit code is not 0, because the last usage could not be written.
    await node.end('SIGTERM');
  });

  test('is answered with 451 and 503 meanwhile, and used again after its return', async ({ annotate }) => {
    proxy.freezesNew = true;
    freezeAll();
    await pause(20_000);
    proxy.freezesNew = false;
    await worksAgain(annotate);
    expect(mails.calls.some(({ code }) => code === '451')).toBe(true);
    expect(polls.calls.some(({ code }) => code.startsWith('503'))).toBe(true);
  });

  test('is not given up while it works on statements: mail waits for a lock, and is acknowledged', async () => {
    const client = new Client(site().url);
    await client.connect();
    await client.query('begin');
    await client.query('lock table sources in share mode');
    const begun = performance.now();
    await pause(6_000);
    await client.query('commit');
    await client.end();
    await succeededAfter(begun);
    await assertHonest();
    const waited = mails.calls.filter((call) => call.begun > begun && call.ended - call.begun > 4_000);
    expect(waited.length).toBeGreaterThan(0);
    expect(mails.calls.filter(({ code }) => code !== '250')).toEqual([]);
  });
});
