import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** Between two attempts to connect, milliseconds. */
const RETRY_MS = 20;

/** @returns a port of the loopback interface that nothing listens on, for programs that cannot take port 0 */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('The server has no port.');
  return address.port;
}

/** Resolves when a program accepts connections on a port of the loopback interface. */
export async function untilListening(port: number, signal?: AbortSignal): Promise<void> {
  for (;;) {
    signal?.throwIfAborted();
    const socket = connect(port, '127.0.0.1');
    try {
      await once(socket, 'connect');
      return;
    } catch {
      await delay(RETRY_MS);
    } finally {
      socket.destroy();
    }
  }
}
