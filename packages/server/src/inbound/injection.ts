import type { Readable } from 'node:stream';
import type { Clock } from '../clock.ts';
import { AppError } from '../errors.ts';
import type { MailEnvelope } from '../store/contract/index.ts';
import type { Trail, TrailEvent } from '../store/contract/trail.ts';
import { sourceKey } from '../text/source-key.ts';
import type { ReceivedMail, Staging } from './delivery.ts';
import type { ByteBudget } from './in-flight/byte-budget.ts';
import { readMessage } from './in-flight/read-message.ts';
import { TRACE_HEADROOM_BYTES } from './received-line.ts';
import type { Receiver } from './receiver.ts';
import { messageTooLarge, type Recipient } from './recipients.ts';
import type { CaptureTarget } from './smtp-credentials.ts';

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

/** A message of a recorded inbox, with the envelope that it had. */
export interface RecordedMail {
  /** The raw source, our Received line included. */
  stream: Readable;
  envelope: MailEnvelope;
  /** Envelope recipients, one at least. */
  rcptTo: string[];
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
  /**
   * Stores a recorded message byte for byte, without another Received line. Resolves as {@link inject}.
   * @param remoteAddress of the client, whose share of the memory it takes
   * @throws AppError as {@link inject}
   */
  restore(inbox: CaptureTarget, message: RecordedMail, remoteAddress: string): Promise<void>;
  /**
   * Stores a recorded message for an inbox that is created with all of them; see `messages.stage`.
   * @param maxMessageBytes of the plan of the account
   * @returns its source
   * @throws AppError `message_too_large`, `malformed_message`, `unavailable` as {@link inject}
   */
  stage(
    message: Pick<RecordedMail, 'stream' | 'envelope'>,
    place: { accountId: string; maxMessageBytes: number; stage: string },
    remoteAddress: string,
  ): Promise<number>;
}

export const emptyMessage = (): AppError =>
  new AppError('malformed_message', 'The body is empty. Send the message, header and body, as its bytes.');

/** @param budget shared with SMTP: it bounds the memory of all mails in flight */
export function createInjection({
  receiver,
  budget,
  clock,
}: {
  receiver: Pick<Receiver, 'accept' | 'deliver'> & Staging;
  budget: ByteBudget;
  clock: Clock;
}): Injection {
  /** Reads a message into memory for as long as `use` runs. */
  const reading = async <T>(
    stream: Readable,
    { remoteAddress, maxBytes, begin }: { remoteAddress: string; maxBytes: number; begin: TrailEvent },
    use: (mail: { received: Uint8Array; trail: Trail }) => Promise<T>,
  ): Promise<T> => {
    const begun = { event: begin, at: clock.now() };
    const message = await readMessage(stream, messageTooLarge, {
      budget,
      source: sourceKey(remoteAddress),
      maxBytes,
    });
    try {
      if (message.length === 0) throw emptyMessage();
      const trail = [begun, { event: 'end-of-data' as const, at: clock.now() }];
      return await use({ received: message.finish(), trail });
    } finally {
      message.release();
    }
  };

  /** @returns the message's id */
  const deliver = (
    stream: Readable,
    remoteAddress: string,
    recipients: Recipient[],
    { begin, ...mail }: Pick<ReceivedMail, 'envelope' | 'trace'> & { begin: TrailEvent },
  ): Promise<string> => {
    const maxBytes = recipients[0]?.maxMessageBytes ?? 0;
    return reading(stream, { remoteAddress, maxBytes, begin }, async (read) => {
      const [place] = await receiver.deliver({ ...mail, ...read, recipients });
      if (!place || !('messageId' in place)) throw new Error('a delivered message is in its inbox');
      return place.messageId;
    });
  };

  return {
    async check(inbox, bytes) {
      await receiver.accept(inbox.address, bytes, inbox);
    },

    async inject(inbox, { stream, mailFrom, rcptTo, remoteAddress, requestId }) {
      const recipient = await receiver.accept(rcptTo, 0, inbox);
      return deliver(stream, remoteAddress, [recipient], {
        envelope: { mailFrom, helo: '', remoteAddress, tls: false },
        trace: { id: requestId, protocol: 'HTTP' },
        begin: 'injected',
      });
    },

    async restore(inbox, { stream, envelope, rcptTo }, remoteAddress) {
      const accepted = await Promise.all(rcptTo.map((path) => receiver.accept(path, 0, inbox)));
      // The plan's limit is for a message as it was sent; this one has our Received line.
      const recipients = accepted.map((recipient) => ({
        ...recipient,
        maxMessageBytes: recipient.maxMessageBytes + TRACE_HEADROOM_BYTES,
      }));
      await deliver(stream, remoteAddress, recipients, { envelope, trace: null, begin: 'imported' });
    },

    stage({ stream, envelope }, { accountId, maxMessageBytes, stage }, remoteAddress) {
      const maxBytes = maxMessageBytes + TRACE_HEADROOM_BYTES;
      return reading(stream, { remoteAddress, maxBytes, begin: 'imported' }, (read) =>
        receiver.stage({ envelope, accountId, ...read }, stage),
      );
    },
  };
}
