/* TEST_SEED=… repeats the choices of a run, but not its timing. */
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { chance } from '../../support/chance.ts';
import { inForm, timeLimit } from '../../support/form.ts';
import type { Inbox, ServerProcess } from '../../support/server-process.ts';
import { MailQueue, NO_ANSWER } from './mail-queue.ts';
import { type Nodes, POSTGRES, startNodes } from './nodes.ts';
import { assertTruth } from './truth.ts';

const NODES = 2;
/** Each stops both nodes, one after the other. */
const ROUNDS = inForm(1, 25);
const CONNECTIONS = inForm(3, 10);
const INBOXES = 2;
const ENV = { MAYFLY_PLANS: JSON.stringify({ unlimited: { maxMessagesPerInbox: 1_000_000 } }) };

const random = chance();

describe.skipIf(!POSTGRES)(`a rolling restart of ${NODES} nodes under load (seed ${random.seed})`, () => {
  let site: Nodes;
  beforeEach(async () => {
    site = await startNodes();
    for (let n = 0; n < NODES; n++) await site.startNode({ env: ENV });
  });
  afterEach(() => site.close());

  /** Waits on a node until it stops. @returns what the wait was answered with */
  async function waitForStop(on: ServerProcess, inbox: Inbox): Promise<string> {
    const response = await on.request(
      'GET',
      `/v1/inboxes/${inbox.id}/messages?wait=60&since=${inbox.cursor}`,
    );
    const { code = '' } = (await response.json()) as { code?: string };
    return `${response.status} ${code} ${response.headers.get('retry-after')}`;
  }

  test(
    'fails no mail and no reader: each node answers what it has begun, and the other takes the rest',
    async ({ annotate }) => {
      const inboxes = await Promise.all(Array.from({ length: INBOXES }, () => site.node(0).createInbox()));
      const quiet = await site.node(0).createInbox();
      let made = 0;
      let isSending = true;
      const next = () => {
        made += 1;
        const inbox = inboxes[made % INBOXES];
        return isSending && inbox ? { id: `mail-${random.seed}-${made}`, to: [inbox.address] } : undefined;
      };
      const queue = new MailQueue(() => site.nodes.map(({ smtpPort }) => smtpPort), next, CONNECTIONS);
      const times: number[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        for (let place = 0; place < NODES; place++) {
          await queue.untilAcknowledged(queue.acknowledged.size + random.between(15, 40));
          const stopping = site.node(place);
          const waits = [waitForStop(stopping, quiet), waitForStop(stopping, quiet)];
          await pause(random.between(100, 150));
          const { code, ms } = await stopping.end('SIGTERM');
          expect(code).toBe(0);
          times.push(Math.round(ms));
          // A stop that waited for the held waits would let them end by themselves, with 200.
          expect(await Promise.all(waits)).toEqual(waits.map(() => '503 server_stopping 1'));
          // The other node takes mail meanwhile.
          await queue.untilAcknowledged(queue.acknowledged.size + 5);
          await site.startNode({ env: ENV }, place);
        }
      }
      isSending = false;
      await queue.drained();
      const { stored, repeated } = await assertTruth(site.node(0), inboxes, queue);
      expect([stored, repeated]).toEqual([queue.acknowledged.size, 0]);
      expect(queue.replies.get(NO_ANSWER), 'final dots without an answer').toBeUndefined();
      // The last word of a node that stops is 421 (RFC 5321 section 3.8).
      for (const reply of queue.replies.keys()) expect(['421', 'closed', 'no connection']).toContain(reply);
      await annotate(
        `${ROUNDS * NODES} stops after ${times.join(', ')} ms, ${stored} mails, other replies: ${JSON.stringify([...queue.replies])}`,
      );
    },
    timeLimit(900_000),
  );
});
