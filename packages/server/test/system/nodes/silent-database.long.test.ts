import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { afterEach, beforeEach, describe, expect, type TestContext, test } from 'vitest';
import { sendMail } from '../../support/mail/smtp-mail.ts';
import type { Inbox, ServerProcess } from '../../support/server-process.ts';
import { cpuSlowness } from '../../support/slowness.ts';
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts';
import { POSTGRES, throughPort, useSiteOfTest } from './nodes.ts';

/** How long it takes at most until everything works again: the time for an answer, and to connect. */
const PROMISED_MS = 18_000;
/** The time to wait for a connection, and for an answer. */
const LONGEST_CALL_MS = 18_000;
const EVERY_MS = 150;
/** Calls that show how long they take at the moment, when nothing is wrong. */
const USUAL_CALLS = 5;
/** Most calls in a row that each of them can wait for. */
const CALLS_IN_A_ROW = 5;

interface Call {
  begun: number;
  ended: number;
  /** Reply code of SMTP, or status of HTTP. */
  code: string;
  subject?: string;
}

/** Sends mail and polls all the time, without waiting for the answers before. */
class Load {
  readonly mails: Call[] = [];
  readonly polls: Call[] = [];
  readonly #node: ServerProcess;
  readonly #inbox: Inbox;
  readonly #calls: Promise<void>[] = [];
  #isRunning = true;
  readonly #done: Promise<void>;

  constructor(node: ServerProcess, inbox: Inbox) {
    this.#node = node;
    this.#inbox = inbox;
    this.#done = this.#run();
  }

  async #run(): Promise<void> {
    for (let n = 0; this.#isRunning; n++) {
      this.#calls.push(this.#mail(`mail ${n}`), this.#poll());
      await pause(EVERY_MS);
    }
    await Promise.all(this.#calls);
  }

  async #mail(subject: string): Promise<void> {
    const begun = performance.now();
    const { replies, end } = await sendMail(
      this.#node.smtpPort,
      [this.#inbox.address],
      `Subject: ${subject}\n\n.`,
    );
    this.mails.push({
      begun,
      ended: performance.now(),
      code: (end ?? replies[0] ?? '').slice(0, 3),
      subject,
    });
  }

  async #poll(): Promise<void> {
    const begun = performance.now();
    const response = await this.#node.request('GET', `/v1/inboxes/${this.#inbox.id}/messages?limit=1`);
    const retryAfter = response.status === 503 ? ` ${response.headers.get('retry-after') !== null}` : '';
    await response.arrayBuffer();
    this.polls.push({ begun, ended: performance.now(), code: `${response.status}${retryAfter}` });
  }

  /** Resolves when mail and polls that began after `time` have succeeded. @returns how long after `time` */
  async succeededAfter(time: number): Promise<number> {
    const first = (calls: Call[], code: string) =>
      calls.find((call) => call.begun > time && call.code === code)?.ended ?? Number.POSITIVE_INFINITY;
    for (;;) {
      const at = Math.max(first(this.mails, '250'), first(this.polls, '200'));
      if (Number.isFinite(at)) return at - time;
      await pause(20);
    }
  }

  async stop(): Promise<void> {
    this.#isRunning = false;
    await this.#done;
  }
}

describe.skipIf(!POSTGRES)('a database that falls silent and closes nothing', () => {
  const site = useSiteOfTest(0);
  let url: string;
  let proxy: TcpProxy;
  let node: ServerProcess;
  let inbox: Inbox;
  let load: Load;
  let limit: (ms: number) => number;
  beforeEach(async () => {
    ({ url } = site());
    proxy = await startTcpProxy(() => Number(new URL(url).port));
    site().url = throughPort(url, proxy.port);
    node = await site().startNode();
    inbox = await node.createInbox();
    load = new Load(node, inbox);
    await expect.poll(() => load.polls.length).toBeGreaterThan(USUAL_CALLS);
    await load.succeededAfter(performance.now());
    // On a slow machine everything takes longer.
    const usualMs = longestCall();
    limit = (ms) => ms * cpuSlowness() + CALLS_IN_A_ROW * usualMs;
  });
  afterEach(async () => {
    await load.stop();
    await proxy.close();
  });

  /** Nothing acknowledged is missing, and each call got an answer that says what to do. */
  async function assertHonest(): Promise<void> {
    await load.stop();
    const { messages } = await node.getJson<{ messages: { subject: string }[] }>(
      `/v1/inboxes/${inbox.id}/messages?limit=200`,
    );
    const stored = new Set(messages.map(({ subject }) => subject));
    const acknowledged = load.mails.filter(({ code }) => code === '250').slice(-150);
    expect(acknowledged.filter(({ subject }) => !stored.has(subject ?? ''))).toEqual([]);
    expect(
      [...new Set(load.mails.map(({ code }) => code))].filter((code) => !/^(250|451)$/.test(code)),
    ).toEqual([]);
    const polls = new Set(load.polls.map(({ code }) => code));
    expect([...polls].filter((code) => !/^(200|503 true)$/.test(code))).toEqual([]);
  }

  const longestCall = () =>
    Math.max(...[...load.mails, ...load.polls].map(({ begun, ended }) => ended - begun));

  /** From now on mail and polls succeed within the promised time, and no call has taken longer than it may. */
  async function worksAgain(annotate: TestContext['annotate']): Promise<void> {
    const ms = await load.succeededAfter(performance.now());
    await assertHonest();
    await annotate(`works again after ${Math.round(ms)} ms; longest call ${Math.round(longestCall())} ms`);
    expect(ms).toBeLessThan(limit(PROMISED_MS));
    expect(longestCall()).toBeLessThan(limit(LONGEST_CALL_MS));
  }

  const freezeAll = () => {
    for (const connection of proxy.connections()) connection.freeze();
  };

  test('is used again within 18 s when new connections work, and does not keep a node from stopping', async ({
    annotate,
  }) => {
    freezeAll();
    await worksAgain(annotate);
    freezeAll();
    // The exit code says whether the last usage could be written, which it could not.
    await node.end('SIGTERM');
  });

  test('is answered with 451 and 503 meanwhile, and used again within 18 s of its return', async ({
    annotate,
  }) => {
    proxy.freezesNew = true;
    freezeAll();
    await pause(20_000);
    proxy.freezesNew = false;
    await worksAgain(annotate);
    expect(load.mails.some(({ code }) => code === '451')).toBe(true);
    expect(load.polls.some(({ code }) => code === '503 true')).toBe(true);
  });

  test('is not given up while it works on statements: mail waits for a lock, and is acknowledged', async () => {
    const client = new Client(url);
    await client.connect();
    await client.query('begin');
    await client.query('lock table sources in share mode');
    const begun = performance.now();
    await pause(6_000);
    await client.query('commit');
    await client.end();
    await load.succeededAfter(begun);
    await assertHonest();
    const waited = load.mails.filter((call) => call.begun > begun && call.ended - call.begun > 4_000);
    expect(waited.length).toBeGreaterThan(0);
    expect(load.mails.filter(({ code }) => code !== '250')).toEqual([]);
  });
});
