import { describe, expect, it } from 'vitest';
import { newId } from '../../../../src/ids.ts';
import { encodeTrail } from '../../../../src/mail/trail.ts';
import { mailTo, T } from '../../builders.ts';
import type { Given } from '../suite.ts';

/** What a timeline is made from: the trail of a message, and the deliveries of its event. */
export function describeTimeline(given: Given): void {
  describe('the timeline of a message', () => {
    const trail = [
      { event: 'connected' as const, at: T - 40 },
      { event: 'fault' as const, at: T - 30, detail: '451 “later” \0 \ud800' },
      { event: 'parsed' as const, at: T - 1 },
    ];

    it('has the trail that came with the mail, in each of its inboxes', async () => {
      const owner = await given.account();
      const inboxes = [await given.inbox(owner), await given.inbox(await given.account())];
      const { messages } = given.store;
      const [placed = []] = await messages.addBatch([{ ...mailTo(inboxes), trail: encodeTrail(trail) }], T);
      for (const place of placed) {
        if (!('messageId' in place)) throw new Error('refused');
        const message = await messages.find(place.inboxId, place.messageId, T);
        expect(message?.trail).toEqual(trail);
        expect(message?.envelope).toEqual(mailTo([]).envelope);
      }
    });

    it('has the deliveries of this message, and none of another one or another account', async () => {
      const { store } = given;
      const [owner, stranger] = [await given.account(), await given.account()];
      const [inbox, other] = [await given.inbox(owner), await given.inbox(owner)];
      const webhookAt = (inboxId: string | null) => ({
        ...{ id: newId('whk', T), inboxId, url: 'http://127.0.0.1:9/' },
        ...{ description: '', secret: 'whsec_one', createdAt: T },
      });
      const forAll = await store.webhooks.create(owner, webhookAt(null), 9);
      const forOne = await store.webhooks.create(owner, webhookAt(inbox.id), 9);
      await store.webhooks.create(owner, webhookAt(other.id), 9);
      await store.webhooks.create(stranger, webhookAt(null), 9);
      const mails = [mailTo([inbox]), mailTo([inbox]), mailTo([other])];
      const [[place] = []] = await store.messages.addBatch(mails, T);
      if (!place || !('messageId' in place)) throw new Error('refused');
      const { messageId, receivedAt: to } = place;
      const message = { inboxId: inbox.id, messageId, from: T, to };
      const found = await store.deliveries.listOfMessage(owner, message, T);
      expect(found.map(({ webhookId }) => webhookId).sort()).toEqual([forAll.id, forOne.id].sort());
      for (const one of found) expect(one).toMatchObject({ messageId, inboxId: inbox.id, attempts: [] });
      expect(await store.deliveries.listOfMessage(stranger, message, T)).toEqual([]);
      expect(await store.deliveries.listOfMessage(owner, message, inbox.expiresAt)).toEqual([]);
    });
  });
}
