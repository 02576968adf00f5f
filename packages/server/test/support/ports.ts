import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** Between two attempts to connect, milliseconds. */
const RETRY_MS = 20;
/**
 * Linux gives outgoing connections ports from 32,768 on. One of those could be taken by a connection of another test
 * before the program listens, or while it restarts.
 */
const PORTS = { first: 12_000, end: 32_000 };

/** @returns a port of the loopback interface that nothing listens on, for programs that cannot take port 0 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(PORTS.first, PORTS.end);
    const server = createServer().listen(port, '127.0.0.1');
    try {
      await once(server, 'listening');
    } catch {
      // Something else listens there.
      continue;
    }
    server.close();
    await once(server, 'close');
    return port;
  }
}

/** @returns false when a program accepts connections on a port of the loopback interface */
export async function isFree(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return false;
  } catch {
    return true;
  } finally {
    socket.destroy();
  }
}

/** Resolves when a program accepts connections on a port of the loopback interface. */
export async function untilListening(port: number, signal?: AbortSignal): Promise<void> {
  while (await isFree(port)) {
    signal?.throwIfAborted();
    await delay(RETRY_MS);
  }
}

/** Listens on a port of the loopback interface, so that no other program can. */
export async function takePort(): Promise<{ port: string; release(): void }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: String((server.address() as AddressInfo).port), release: () => void server.close() };
}
