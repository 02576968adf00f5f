import type { Readable } from 'node:stream';
import type { Clock } from '../clock.ts';
import { sourceKey } from '../connection-limiter.ts';
import { AppError } from '../errors.ts';
import type { MailEnvelope } from '../mail/mail.ts';
import type { TrailEvent } from '../mail/trail.ts';
import { type ByteBudget, readMessage, TRACE_HEADROOM_BYTES } from './incoming-mail.ts';
import { messageTooLarge, type ReceivedMail, type Receiver } from './receiver.ts';
import type { CaptureTarget } from './smtp-credentials.ts';

export interface InjectedMessage {
  stream: Readable;
  /** '' is the null reverse-path. */
  mailFrom: string;
  /** Need not be an address of the inbox. */
  rcptTo: string;
  remoteAddress: string;
  requestId: string;
}

export interface RecordedMail {
  /** Includes our Received line, which does not count against the size limit of a plan. */
  stream: Readable;
  envelope: MailEnvelope;
  rcptTo: string[];
}

interface InjectionDeps {
  receiver: Pick<Receiver, 'accept' | 'deliver' | 'stage'>;
  budget: ByteBudget;
  clock: Clock;
}

export type Injection = ReturnType<typeof createInjection>;

export const emptyMessage = (): AppError =>
  new AppError('malformed_message', 'The body is empty. Send the message, header and body, as its bytes.');

export function createInjection({ receiver, budget, clock }: InjectionDeps) {
  /** Reads a message, and holds its memory until `store` has settled. */
  const reading = async <T>(
    stream: Readable,
    remoteAddress: string,
    maxBytes: number,
    begin: TrailEvent,
    store: (mail: Pick<ReceivedMail, 'received' | 'trail'>) => Promise<T>,
  ): Promise<T> => {
    const begun = { event: begin, at: clock.now() };
    const source = sourceKey(remoteAddress);
    const mail = await readMessage(stream, messageTooLarge, { budget, source, maxBytes });
    try {
      if (mail.length === 0) throw emptyMessage();
      const trail = [begun, { event: 'end-of-data' as const, at: clock.now() }];
      return await store({ received: mail.finish(), trail });
    } finally {
      mail.release();
    }
  };

  return {
    /**
     * Checks inbox and declared size.
     * @param bytes 0 if unknown
     * @throws AppError as {@link Receiver.accept}
     */
    async check(inbox: CaptureTarget, bytes: number): Promise<void> {
      await receiver.accept(inbox.address, bytes, inbox);
    },

    /** @returns the message id @throws as `check`; `malformed_message` if empty, `unavailable` if too slow */
    async inject(inbox: CaptureTarget, message: InjectedMessage): Promise<string> {
      const { stream, mailFrom, rcptTo, remoteAddress, requestId } = message;
      const recipient = await receiver.accept(rcptTo, 0, inbox);
      const { maxMessageBytes } = recipient;
      const envelope = { mailFrom, helo: '', remoteAddress, tls: false };
      const trace = { id: requestId, protocol: 'HTTP' as const };
      const [messageId = ''] = await reading(stream, remoteAddress, maxMessageBytes, 'injected', (read) =>
        receiver.deliver({ ...read, envelope, recipients: [recipient], trace }),
      );
      return messageId;
    },

    /** Stores a recorded message without adding a Received line. @throws AppError as `inject` */
    async restore(inbox: CaptureTarget, message: RecordedMail, remoteAddress: string): Promise<void> {
      const { stream, envelope, rcptTo } = message;
      const recipients = await Promise.all(rcptTo.map((path) => receiver.accept(path, 0, inbox)));
      for (const recipient of recipients) recipient.maxMessageBytes += TRACE_HEADROOM_BYTES;
      const maxBytes = recipients[0]?.maxMessageBytes ?? 0;
      await reading(stream, remoteAddress, maxBytes, 'imported', (read) =>
        receiver.deliver({ ...read, envelope, recipients, trace: null }),
      );
    },

    /** Stores a message of the import `stage`, whose inbox is created later. @returns the id of its source */
    stage(
      { stream, envelope }: Pick<RecordedMail, 'stream' | 'envelope'>,
      { accountId, maxMessageBytes, stage }: { accountId: string; maxMessageBytes: number; stage: string },
      remoteAddress: string,
    ): Promise<number> {
      const maxBytes = maxMessageBytes + TRACE_HEADROOM_BYTES;
      return reading(stream, remoteAddress, maxBytes, 'imported', (read) =>
        receiver.stage({ ...read, envelope }, accountId, stage),
      );
    },
  };
}
