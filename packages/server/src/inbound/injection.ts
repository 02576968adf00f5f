import type { Readable } from 'node:stream';
import { AppError } from '../errors.ts';
import type { Delivering } from './delivery.ts';
import type { ByteBudget } from './in-flight/byte-budget.ts';
import { readMessage } from './in-flight/read-message.ts';
import type { Receiver } from './receiver.ts';
import { messageTooLarge } from './recipients.ts';
import type { CaptureTarget } from './smtp-credentials.ts';
import { sourceKey } from './source-key.ts';

/** A message that is put into an inbox by a request. */
export interface InjectedMessage {
  stream: Readable;
  /** Envelope sender; '' is the null reverse-path. */
  mailFrom: string;
  /** Envelope recipient; it need not be an address of the inbox. */
  rcptTo: string;
  remoteAddress: string;
  requestId: string;
}

/** Puts messages into inboxes without SMTP, under the same limits and with the same effects. */
export interface Injection {
  /**
   * Checks what can be known before the message is read.
   * @param bytes of the message, 0 where they are not known yet
   * @throws AppError `message_too_large`, `inbox_full`, `unknown_recipient` for an inbox that ended
   */
  check(inbox: CaptureTarget, bytes: number): Promise<void>;
  /**
   * Resolves when the message is on stable storage and readable by everyone.
   * @returns its id
   * @throws AppError as {@link check}, and `malformed_message` for one without a byte, `unavailable` also for one
   *   that comes too slowly while others wait for memory
   */
  inject(inbox: CaptureTarget, message: InjectedMessage): Promise<string>;
}

export const emptyMessage = (): AppError =>
  new AppError('malformed_message', 'The body is empty. Send the message, header and body, as its bytes.');

/** @param budget shared with SMTP: it bounds the memory of all mails in flight */
export function createInjection({
  receiver,
  budget,
}: {
  receiver: Pick<Receiver, 'accept'> & Delivering;
  budget: ByteBudget;
}): Injection {
  return {
    async check(inbox, bytes) {
      await receiver.accept(inbox.address, bytes, inbox);
    },

    async inject(inbox, { stream, mailFrom, rcptTo, remoteAddress, requestId }) {
      const recipient = await receiver.accept(rcptTo, 0, inbox);
      const owner = { source: sourceKey(remoteAddress), account: recipient.accountId };
      const limits = { limit: recipient.maxMessageBytes, tooLarge: messageTooLarge, budget, owner };
      const { bytes, release } = await readMessage(stream, limits);
      try {
        if (bytes.length === 0) throw emptyMessage();
        const placed = await receiver.deliver({
          envelope: { mailFrom, helo: '', remoteAddress, tls: false },
          recipients: [recipient],
          received: bytes,
          trace: { id: requestId, protocol: 'HTTP' },
        });
        const [place] = placed;
        if (!place || !('messageId' in place)) throw new Error('a delivered message is in its inbox');
        return place.messageId;
      } finally {
        release();
      }
    },
  };
}
