import { AppError } from '../errors.ts';
import type { Store } from '../store/contract/index.ts';
import { messageReceived } from './payload.ts';
import type { ClaimedDelivery } from './sql/queue.ts';

/** The JSON to send, or the reason why there is nothing to send any more. */
export type EventBody = { json: string } | { gone: string };

export interface EventBodyDeps {
  store: Pick<Store, 'inboxes' | 'messages'>;
  publicUrl: string;
  domain: string;
}

/** Ids that do not exist: the inbox and the message of a test event cannot be read. */
const TEST_INBOX = 'inb_test';
const TEST_MESSAGE = 'msg_test';

/** A sample event of the same shape, marked with `test: true`. */
function testEvent(eventId: string, createdAt: number, { publicUrl, domain }: EventBodyDeps) {
  const address = `test@${domain}`;
  const text = 'This is a test event. Your code is 123456.';
  const event = messageReceived({
    eventId,
    inbox: { id: TEST_INBOX, address, labels: {} },
    message: {
      id: TEST_MESSAGE,
      inboxId: TEST_INBOX,
      receivedAt: createdAt,
      size: text.length,
      summary: {
        from: { address: `mayfly@${domain}`, name: 'Mayfly' },
        to: [{ address, name: '' }],
        cc: [],
        subject: 'Mayfly test event',
        preview: text,
        attachmentCount: 0,
        inlineCount: 0,
        codes: [{ value: '123456', context: 'Your code is 123456.' }],
      },
      content: { html: null, text, links: [], attachments: [] },
    },
    publicUrl,
  });
  return { ...event, test: true as const };
}

/** Creates the body of a delivery. Every attempt of a delivery has the same bytes. */
export function createEventBodies(deps: EventBodyDeps) {
  const { store, publicUrl } = deps;
  return async (delivery: ClaimedDelivery, now: number): Promise<EventBody> => {
    const { eventId, accountId, inboxId, messageId } = delivery;
    if (inboxId === null || messageId === null) {
      return { json: JSON.stringify(testEvent(eventId, delivery.createdAt, deps)) };
    }
    try {
      const inbox = await store.inboxes.find(accountId, inboxId, now);
      if (!inbox || inbox.expiresAt <= now) return { gone: 'The inbox ended.' };
      const message = await store.messages.find(inboxId, messageId, now);
      if (!message) return { gone: 'The message was deleted.' };
      return { json: JSON.stringify(messageReceived({ eventId, inbox, message, publicUrl })) };
    } catch (error) {
      // Trying again would keep the other deliveries of this webhook waiting for ever.
      if (error instanceof AppError && error.code === 'storage_damaged') return { gone: error.message };
      throw error;
    }
  };
}
