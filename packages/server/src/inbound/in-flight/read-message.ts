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

/** On failure the stream stays open for a response. @throws `tooLarge()`; AppError `unavailable` if it is too slow */
export async function readMessage(
  stream: Readable,
  tooLarge: (maxBytes: number) => Error,
  options: Omit<IncomingMailOptions, 'revoke'>,
): Promise<IncomingMail> {
  const stopped = Promise.withResolvers<never>();
  // Prevents an unhandled rejection when nothing awaits it.
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
    // Not awaited, because it waits for a pending read of the client's data.
    void pieces.return?.();
    mail.release();
    throw error;
  } finally {
    stream.off('close', onClose);
  }
}
