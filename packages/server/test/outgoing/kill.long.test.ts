import { describe, expect, it } from 'vitest';
import type { Body } from '../support/api-client.ts';
import { inForm, timeLimit } from '../support/form.ts';
import { ENGINES, useSite } from '../system/nodes/nodes.ts';
import { useReceiver } from '../webhooks/receivers.ts';

const KILLS = inForm(6, 40);
const SCHEDULED = 60;
const BOUNCES = 40;
const REPLIES = 30;
const DAY = 24 * 60;
const ENV = { MAYFLY_WEBHOOK_ALLOW: '127.0.0.1/32' };
const END_LEASES =
  'update outgoing set leased_until = leased_until - 3600000 where leased_until is not null and due_at is not null';

describe.each(ENGINES)('servers on $engine', ({ engine }) => {
  const count = engine === 'SQLite' ? 1 : 3;
  describe(`of which one is killed, ${KILLS} times`, { timeout: timeLimit(900_000) }, () => {
    const site = useSite(count, { engine, env: ENV });
    const receiver = useReceiver();
    let turn = 0;

    /** What an hour does to the leases of a node that was killed; a single server ends them when it starts. */
    const endLeases = async () => engine === 'PostgreSQL' && site().query(END_LEASES);

    const kill = (place: number) => site().node(place).end('SIGKILL');

    /** Kills one node after the other and starts it again; each time something must have gone on. */
    async function killWhile(progress: () => number | Promise<number>, all: number): Promise<void> {
      for (let n = 0; n < KILLS; n++) {
        const before = await progress();
        await expect.poll(progress).toSatisfy((now: number) => now > before || now >= all);
        await kill(n % count);
        await endLeases();
        await site().startNode({}, n % count);
      }
    }

    /** Repeated until a node has answered. */
    async function call(method: string, path: string, body?: object): Promise<Body> {
      for (;;) {
        // One node after the other.
        const { api } = site().node(turn++);
        const response = await api(method, path, { body }).catch(() => undefined);
        if (response && response.status < 500) return response.body;
        await new Promise((resolve) => setImmediate(resolve));
      }
    }

    const send = (to: string, subject: string, more: object = {}): Promise<Body> =>
      call('POST', '/providers/resend/emails', { from: 'app@shop.example', to, subject, text: 'x', ...more });

    const subjectsOf = async (inbox: string): Promise<string[]> => {
      const { messages } = await call('GET', `/v1/inboxes/${inbox}/messages?limit=200`);
      return messages.map(({ subject }: Body) => subject).toReversed();
    };

    it('loses and doubles no scheduled mail that is released meanwhile, and keeps its order', async () => {
      const inbox = await call('POST', '/v1/inboxes', {});
      const names = Array.from({ length: SCHEDULED }, (_, n) => `mail ${String(n).padStart(3, '0')}`);
      for (const [n, name] of names.entries()) {
        const scheduled_at = new Date(Date.now() + (DAY + n + 1) * 60_000).toISOString();
        await send(inbox.address, name, { scheduled_at });
      }
      expect(await subjectsOf(inbox.id)).toEqual([]);
      await call('POST', `/v1/inboxes/${inbox.id}/advance`, { minutes: 2 * DAY });
      await killWhile(async () => (await subjectsOf(inbox.id)).length, SCHEDULED);
      await expect.poll(() => subjectsOf(inbox.id)).toHaveLength(SCHEDULED);
      for (let n = 0; n < count; n++) expect(await subjectsOf(inbox.id)).toEqual(names);
    });

    it('releases mail by an advance whose server is killed as soon as it has answered', async () => {
      const inbox = await call('POST', '/v1/inboxes', {});
      const scheduled_at = new Date(Date.now() + DAY * 60_000).toISOString();
      await send(inbox.address, 'later', { scheduled_at });
      const path = `/v1/inboxes/${inbox.id}/advance`;
      const { api } = site().node(0);
      const advanced = await api('POST', path, { body: { minutes: 2 * DAY } });
      await kill(0);
      expect(advanced.body).toEqual({ released: 1 });
      await endLeases();
      if (count === 1) await site().startNode({}, 0);
      await expect.poll(() => subjectsOf(inbox.id)).toEqual(['later']);
      if (count > 1) await site().startNode({}, 0);
    });

    it('loses no outcome, and applies a rule to exactly as many mails as it says', async () => {
      const webhookUrl = `http://127.0.0.1:${receiver.port}/events`;
      await call('PUT', '/v1/providers/resend', { webhookUrl });
      const inbox = await call('POST', '/v1/inboxes', {});
      const rules = [{ outcome: 'bounce', times: BOUNCES }];
      await call('PUT', `/v1/inboxes/${inbox.id}/outcomes`, { rules });
      const sending = (async () => {
        for (let n = 0; n < 2 * BOUNCES; n++) await send(inbox.address, `mail ${n}`);
      })();
      const events = () => new Set(receiver.requests.map(({ headers }) => headers['svix-id']));
      await killWhile(() => events().size, BOUNCES);
      await sending;
      await expect.poll(() => events().size).toBe(BOUNCES);
      const { rules: left } = await call('GET', `/v1/inboxes/${inbox.id}/outcomes`);
      expect(left).toMatchObject([{ left: 0 }]);
      const { sent } = await call('GET', `/v1/inboxes/${inbox.id}/sent?limit=100`);
      expect(new Set(sent.map(({ id }: Body) => id))).toEqual(events());
    });

    it('delivers each reply once', async () => {
      const support = await call('POST', '/v1/inboxes', {});
      const inbox = await call('POST', '/v1/inboxes', {});
      await send(inbox.address, 'Ticket', { from: support.address });
      const [{ id }] = (await call('GET', `/v1/inboxes/${inbox.id}/messages`)).messages;
      const made: string[] = [];
      const replying = (async () => {
        for (let n = 0; n < REPLIES; n++) {
          const body = { text: `Reply ${n}.`, to: 'smtp' };
          made.push((await call('POST', `/v1/inboxes/${inbox.id}/messages/${id}/reply`, body)).id);
        }
      })();
      const arrived = async (): Promise<string[]> => {
        const { messages } = await call('GET', `/v1/inboxes/${support.id}/messages?limit=200`);
        return messages.map(({ preview }: Body) => /^Reply \d+\./.exec(preview)?.[0]);
      };
      await killWhile(async () => (await arrived()).length, REPLIES);
      await replying;
      const { sent } = await call('GET', `/v1/inboxes/${inbox.id}/sent?limit=100`);
      const all = sent.map(({ text }: Body) => text).toSorted();
      expect(sent.map((one: Body) => one.id)).toEqual(expect.arrayContaining(made));
      await expect.poll(async () => (await arrived()).toSorted()).toEqual(all);
    });
  });
});
