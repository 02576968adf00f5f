import type { Socket } from 'node:net';
import type { Clock } from '../../clock.ts';
import type { SmtpLimits } from '../limits.ts';

/**
 * Destroys a socket after the time that a TLS handshake or a PROXY line may take.
 * @param topmost the socket to destroy in its place by then, such as the TLS socket upon it
 * @returns abort it when the handshake is done
 */
export function handshakeDeadline(
  socket: Socket,
  { clock, limits }: { clock: Clock; limits: SmtpLimits },
  topmost: () => Socket | undefined = () => socket,
): AbortController {
  const done = new AbortController();
  void clock.sleep(limits.handshakeMs, done.signal).then(() => {
    if (!done.signal.aborted) (topmost() ?? socket).destroy();
  });
  return done;
}

/**
 * Destroys a TLS socket whose client closes its side during the handshake; where sockets may be half open,
 * nothing else would before the deadline.
 * @returns call it when the handshake is done
 */
export function destroyOnEnd(socket: Socket): () => void {
  const destroy = (): void => void socket.destroy();
  socket.once('end', destroy);
  return () => socket.off('end', destroy);
}
