/* TEST_SEED=… repeats the choices of a run, but not its timing. */
import { setTimeout as pause } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from 'vitest';
import { chance } from '../../support/chance.ts';
import { openStream } from '../../support/event-stream.ts';
import { inForm, timeLimit } from '../../support/form.ts';
import { sendTo } from '../../support/mail/smtp-mail.ts';
import type { Inbox } from '../../support/server-process.ts';
import type { TcpProxy } from '../../support/tcp-proxy.ts';
import { MailQueue } from './mail-queue.ts';
import { POSTGRES, useSiteOfTest } from './nodes.ts';
import { allMessages, follow } from './truth.ts';

const MAILS = inForm(100, 5_000);
const INBOXES = 3;
const CONNECTIONS = inForm(3, 6);
/** Time between two cuts, milliseconds. */
const CUT_EVERY = { low: 40, high: 300 };
/** Timeout of waits, seconds. */
const WAIT_S = 60;
/** Delay of data to and from the database, once or twice, milliseconds. */
const SLOW_MS = 5;
const LIMIT = { timeout: timeLimit(600_000) };

const random = chance();

describe.skipIf(!POSTGRES)(`two nodes whose connections for hints break (seed ${random.seed})`, LIMIT, () => {
  const site = useSiteOfTest(0);
  let proxies: TcpProxy[];
  let inboxes: Inbox[];
  beforeEach(async () => {
    proxies = [];
    for (let n = 0; n < 2; n++) {
      const proxy = await site().startProxy();
      proxies.push(proxy);
      await site().startNodeThrough(proxy);
    }
    inboxes = await site().createInboxes(INBOXES);
  });

  const listeners = () =>
    proxies.flatMap((proxy) => proxy.connections().filter(({ begin }) => /listen mayfly/i.test(begin)));

  /** Follows the account's stream into `seen`; opens a stream that has ended again on the other node. */
  async function stream(seen: string[], enough: () => boolean): Promise<void> {
    let lastEventId: string | undefined;
    for (let turn = 0; !enough(); turn++) {
      const { url, key } = site().node(turn);
      const reader = await openStream(`${url}/v1/events`, { as: key, lastEventId });
      const timer = setInterval(() => enough() && reader.close(), 100);
      const readsUntil = seen.length + random.between(20, 60);
      while (seen.length < readsUntil) {
        const event = await reader.nextEvent();
        if (!event) break;
        lastEventId = event.id;
        seen.push(event.data.message.id);
      }
      clearInterval(timer);
      reader.close();
    }
  }

  test(`show ${MAILS} mails once and in order to three followers and to a stream that change nodes`, async () => {
    let made = 0;
    const next = () => {
      if (made >= MAILS) return undefined;
      const { address } = inboxes[random.between(0, INBOXES - 1)] as Inbox;
      return { id: `mail-${random.seed}-${++made}`, to: [address] };
    };
    // A stream begins with the messages after it was opened.
    let over = false;
    const streamed: string[] = [];
    const streaming = stream(streamed, () => over);
    await pause(300);
    const following = inboxes.map((inbox, n) => follow(site(), inbox, n, () => over));
    const queue = new MailQueue(site(), next, CONNECTIONS);
    let isSending = true;
    const cutting = (async () => {
      while (isSending) {
        await pause(random.between(CUT_EVERY.low, CUT_EVERY.high));
        // Sometimes delays data to the database, for one node or both.
        for (const proxy of proxies) proxy.delayMs = random.between(0, 2) * SLOW_MS;
        const all = listeners();
        const one = all[random.between(0, Math.max(0, all.length - 1))];
        if (!one) continue;
        if (random.between(1, 4) === 1) one.freeze();
        else one.reset();
      }
    })();
    await queue.untilAcknowledged(MAILS);
    isSending = false;
    await Promise.all([cutting, queue.drained()]);
    for (const proxy of proxies) proxy.delayMs = 0;
    await expect.poll(() => streamed.length).toBeGreaterThanOrEqual(MAILS);
    over = true;
    const seen = await Promise.all(following);
    await streaming;
    for (const [n, inbox] of inboxes.entries()) {
      const truth = (await allMessages(site().node(n), inbox)).map(({ id }) => id);
      expect(seen[n], `inbox ${n}`).toEqual(truth);
      expect(streamed.filter((id) => truth.includes(id))).toEqual(truth);
    }
    expect(streamed).toHaveLength(MAILS);
    expect(queue.permanent).toEqual([]);
  });

  test('answer a wait while no hint comes through, and at once when they come again', async () => {
    const [inbox] = inboxes as [Inbox];
    for (const connection of listeners()) connection.freeze();
    /** Waits on the first node for a mail to the node `mailTo`. @returns the time from the mail to the response */
    const waitFor = async (since: string, mailTo: number) => {
      const path = `/v1/inboxes/${inbox.id}/messages?since=${since}&wait=${WAIT_S}`;
      const held = site().node(0).api('GET', path);
      await pause(200);
      expect(await sendTo(site().node(mailTo).smtpPort, inbox.address)).toMatch(/^250 /);
      const sent = performance.now();
      const { body: page } = await held;
      expect(page.messages).toHaveLength(1);
      return { cursor: page.cursor, ms: performance.now() - sent };
    };
    const first = await waitFor(inbox.cursor, 1);
    // By the check that every node makes once a second, long before the timeout of the wait.
    expect(first.ms).toBeLessThan(WAIT_S * 500);
    // The frozen connection is replaced, and hints arrive again.
    let last = first;
    const time = async (mailTo: number) => {
      last = await waitFor(last.cursor, mailTo);
      return last.ms;
    };
    // A mail to the node that holds the wait needs no hint, and shows how fast this machine is.
    await expect.poll(async () => (await time(1)) - 3 * (await time(0))).toBeLessThan(150);
  });
});
