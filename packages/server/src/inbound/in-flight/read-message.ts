import type { Readable } from 'node:stream';
import { AppError } from '../../errors.ts';
import { freeRead } from '../../memory.ts';
import { IncomingMail, type IncomingMailOptions } from './incoming-mail.ts';

const interrupted = (): Error => new Error('The sender closed the connection before the end of the message.');

const tooSlow = (): AppError =>
  new AppError(
    'unavailable',
    'The body came too slowly while other messages waited for memory. Send it again in 30 seconds.',
    { retryAfterSeconds: 30 },
  );

/**
 * Reads a whole message. A stream that is not read to its end is left open, so that its sender can read an answer.
 * @throws what `tooLarge` makes; AppError `unavailable` when it comes too slowly while others wait for memory
 */
export async function readMessage(
  stream: Readable,
  tooLarge: (maxBytes: number) => Error,
  options: Omit<IncomingMailOptions, 'revoke'>,
): Promise<IncomingMail> {
  const stopped = Promise.withResolvers<never>();
  // It may be rejected when nothing waits for it.
  stopped.promise.catch(() => undefined);
  const onClose = (): void => {
    const { readableEnded, errored } = stream;
    if (!readableEnded) stopped.reject(errored instanceof AppError ? errored : interrupted());
  };
  stream.once('close', onClose);
  const mail = new IncomingMail({ ...options, revoke: () => stopped.reject(tooSlow()) });
  const pieces: AsyncIterator<Buffer> = stream.iterator({ destroyOnReturn: false });
  const next = () => Promise.race([pieces.next(), stopped.promise]);
  try {
    for (let piece = await next(); !piece.done; piece = await next()) {
      if (mail.length + piece.value.length > options.maxBytes) throw tooLarge(options.maxBytes);
      const granted = mail.append(piece.value);
      if (granted && stream.destroyed) throw interrupted();
      await Promise.race([granted, stopped.promise]);
      freeRead(piece.value);
    }
    mail.finish();
    return mail;
  } catch (error) {
    // Not awaited: it settles after a read that may still be waiting for the sender.
    void pieces.return?.();
    mail.release();
    throw error;
  } finally {
    stream.off('close', onClose);
  }
}
