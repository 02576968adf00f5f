import type { Readable } from 'node:stream';
import type { Clock } from '../clock.ts';
import { sourceKey } from '../connection-limiter.ts';
import { AppError } from '../errors.ts';
import type { MailEnvelope } from '../mail/mail.ts';
import type { TrailEvent } from '../mail/trail.ts';
import { type ByteBudget, readMessage, TRACE_HEADROOM_BYTES } from './incoming-mail.ts';
import type { ReceivedMail, Receiver } from './receiver.ts';
import type { CaptureTarget } from './smtp-credentials.ts';

interface Incoming {
  stream: Readable;
  remoteAddress: string;
}

interface InjectedMessage extends Incoming {
  /** '' is the null reverse-path `<>` (RFC 5321 section 4.5.5). */
  mailFrom: string;
  /** Stored with the message. It need not be an address of the inbox. */
  rcptTo: string;
  requestId: string;
}

/** A message of an import. Its size limit is slightly higher, because it already has a Received line. */
interface RecordedMail extends Incoming {
  envelope: MailEnvelope;
}

interface InjectionDeps {
  receiver: Pick<Receiver, 'accept' | 'deliver' | 'stage'>;
  budget: ByteBudget;
  clock: Clock;
}

export const emptyMessage = (): AppError =>
  new AppError('malformed_message', 'The body is empty. Send the message, header and body, as its bytes.');

async function readAndStore<T>(
  { budget, clock }: InjectionDeps,
  { stream, remoteAddress }: Incoming,
  maxBytes: number,
  begin: TrailEvent,
  store: (mail: Pick<ReceivedMail, 'received' | 'trail'>) => Promise<T>,
): Promise<T> {
  const begun = { event: begin, at: clock.now() };
  const source = sourceKey(remoteAddress);
  const mail = await readMessage(stream, { budget, source, maxBytes });
  try {
    if (mail.length === 0) throw emptyMessage();
    const trail = [begun, { event: 'end-of-data' as const, at: clock.now() }];
    return await store({ received: mail.finish(), trail });
  } finally {
    mail.release();
  }
}

/** @throws AppError as {@link Receiver.accept}; `malformed_message` if empty, `unavailable` if it arrives too slowly */
export async function inject(deps: InjectionDeps, inbox: CaptureTarget, message: InjectedMessage) {
  const { mailFrom, rcptTo, remoteAddress, requestId } = message;
  const recipient = await deps.receiver.accept(rcptTo, 0, inbox);
  const envelope = { mailFrom, helo: '', remoteAddress, tls: false };
  const trace = { id: requestId, protocol: 'HTTP' as const };
  const [id = ''] = await readAndStore(deps, message, recipient.maxMessageBytes, 'injected', (read) =>
    deps.receiver.deliver({ ...read, envelope, recipients: [recipient], trace }),
  );
  return id;
}

/** Stores a recorded message without adding a Received line. @throws AppError as {@link inject} */
export async function restore(
  deps: InjectionDeps,
  inbox: CaptureTarget,
  message: RecordedMail & { rcptTo: string[] },
): Promise<void> {
  const { envelope, rcptTo } = message;
  const recipients = await Promise.all(rcptTo.map((path) => deps.receiver.accept(path, 0, inbox)));
  for (const recipient of recipients) recipient.maxMessageBytes += TRACE_HEADROOM_BYTES;
  const maxBytes = recipients[0]?.maxMessageBytes ?? 0;
  await readAndStore(deps, message, maxBytes, 'imported', (read) =>
    deps.receiver.deliver({ ...read, envelope, recipients, trace: null }),
  );
}

export function stage(
  deps: InjectionDeps,
  message: RecordedMail,
  { accountId, maxMessageBytes, stage }: { accountId: string; maxMessageBytes: number; stage: string },
): Promise<number> {
  const maxBytes = maxMessageBytes + TRACE_HEADROOM_BYTES;
  const { envelope } = message;
  return readAndStore(deps, message, maxBytes, 'imported', (read) =>
    deps.receiver.stage({ ...read, envelope }, accountId, stage),
  );
}
