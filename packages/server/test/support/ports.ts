import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** Delay between two attempts to connect, milliseconds. */
const RETRY_MS = 20;
/**
 * Below the ports of outgoing connections (32,768 and up on Linux), which another test could take before a program
 * listens.
 */
const PORTS = { first: 12_000, end: 32_000 };

/** @returns a free port of the loopback interface, for programs that do not support port 0 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(PORTS.first, PORTS.end);
    const server = createServer().listen(port, '127.0.0.1');
    try {
      await once(server, 'listening');
    } catch {
      // The port is in use.
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

/**
 * Starts a program that runs in the foreground. Resolves when it accepts connections on a port of the loopback interface.
 * @returns ends it
 * @throws Error with its output when it ends before
 */
export async function startProgram(
  program: string,
  args: string[],
  port: number,
): Promise<() => Promise<void>> {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece) => (output += piece));
  const exited = once(child, 'exit');
  const ended = new AbortController();
  void exited.then(([code]) => ended.abort(new Error(`${program} ended with ${code}: ${output}`)));
  await untilListening(port, ended.signal);
  return async () => {
    child.kill('SIGTERM');
    await exited;
  };
}

/** Listens on a port of the loopback interface, so that a server cannot. */
export async function takePort(): Promise<{ port: string; release(): void }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: String((server.address() as AddressInfo).port), release: () => void server.close() };
}
