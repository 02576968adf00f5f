import type { Readable } from 'node:stream';
import type { Clock } from '../clock.ts';
import { sourceKey } from '../connection-limiter.ts';
import { AppError } from '../errors.ts';
import type { MailEnvelope } from '../mail/mail.ts';
import type { Trail, TrailEvent } from '../mail/trail.ts';
import { messageTooLarge, type ReceivedMail, type Recipient, TRACE_HEADROOM_BYTES } from './delivery.ts';
import { type ByteBudget, readMessage } from './incoming-mail.ts';
import type { Receiver } from './receiver.ts';
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
  /** Includes our Received line. */
  stream: Readable;
  envelope: MailEnvelope;
  rcptTo: string[];
}

export type Injection = ReturnType<typeof createInjection>;

export const emptyMessage = (): AppError =>
  new AppError('malformed_message', 'The body is empty. Send the message, header and body, as its bytes.');

interface InjectionDeps {
  receiver: Pick<Receiver, 'accept' | 'deliver' | 'stage'>;
  budget: ByteBudget;
  clock: Clock;
}

async function reading<T>(
  { budget, clock }: InjectionDeps,
  stream: Readable,
  { remoteAddress, maxBytes, begin }: { remoteAddress: string; maxBytes: number; begin: TrailEvent },
  use: (mail: { received: Uint8Array; trail: Trail }) => Promise<T>,
): Promise<T> {
  const begun = { event: begin, at: clock.now() };
  const source = sourceKey(remoteAddress);
  const message = await readMessage(stream, messageTooLarge, { budget, source, maxBytes });
  try {
    if (message.length === 0) throw emptyMessage();
    const trail = [begun, { event: 'end-of-data' as const, at: clock.now() }];
    return await use({ received: message.finish(), trail });
  } finally {
    message.release();
  }
}

export function createInjection(deps: InjectionDeps) {
  const { receiver } = deps;
  const deliver = (
    stream: Readable,
    remoteAddress: string,
    recipients: Recipient[],
    { begin, ...mail }: Pick<ReceivedMail, 'envelope' | 'trace'> & { begin: TrailEvent },
  ): Promise<string> => {
    const maxBytes = recipients[0]?.maxMessageBytes ?? 0;
    return reading(deps, stream, { remoteAddress, maxBytes, begin }, async (read) => {
      const [place] = await receiver.deliver({ ...mail, ...read, recipients });
      if (!place || !('messageId' in place)) throw new Error('a delivered message is in its inbox');
      return place.messageId;
    });
  };

  return {
    /**
     * Checks the inbox and the declared size before the body is read.
     * @param bytes declared size, 0 if unknown
     * @throws AppError as {@link Receiver.accept}
     */
    async check(inbox: CaptureTarget, bytes: number): Promise<void> {
      await receiver.accept(inbox.address, bytes, inbox);
    },

    /** @returns the message id @throws as `check`; `malformed_message` if empty, `unavailable` if too slow */
    async inject(inbox: CaptureTarget, message: InjectedMessage): Promise<string> {
      const { stream, mailFrom, rcptTo, remoteAddress, requestId } = message;
      const recipient = await receiver.accept(rcptTo, 0, inbox);
      return deliver(stream, remoteAddress, [recipient], {
        envelope: { mailFrom, helo: '', remoteAddress, tls: false },
        trace: { id: requestId, protocol: 'HTTP' },
        begin: 'injected',
      });
    },

    /** Stores a recorded message without adding a Received line. @throws AppError as `inject` */
    async restore(inbox: CaptureTarget, message: RecordedMail, remoteAddress: string): Promise<void> {
      const { stream, envelope, rcptTo } = message;
      const accepted = await Promise.all(rcptTo.map((path) => receiver.accept(path, 0, inbox)));
      // The recording contains our Received line, which does not count against the plan's size limit.
      const recipients = accepted.map((recipient) => ({
        ...recipient,
        maxMessageBytes: recipient.maxMessageBytes + TRACE_HEADROOM_BYTES,
      }));
      await deliver(stream, remoteAddress, recipients, { envelope, trace: null, begin: 'imported' });
    },

    /** Stores a message for an inbox that is created later; see `messages.stage`. @returns the id of its source */
    stage(
      { stream, envelope }: Pick<RecordedMail, 'stream' | 'envelope'>,
      { accountId, maxMessageBytes, stage }: { accountId: string; maxMessageBytes: number; stage: string },
      remoteAddress: string,
    ): Promise<number> {
      const maxBytes = maxMessageBytes + TRACE_HEADROOM_BYTES;
      return reading(deps, stream, { remoteAddress, maxBytes, begin: 'imported' }, (read) =>
        receiver.stage({ envelope, accountId, ...read }, stage),
      );
    },
  };
}
