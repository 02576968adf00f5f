/** The thread of the senders that take memory: those of large mails, and those that send slowly. */
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';

export interface SlowLoad {
  port: number;
  /** An address of an inbox for the senders of large mails, and one for the slow ones. */
  large: { to: string; senders: number; bytes: number };
  slow: { to: string; senders: number; addresses: number; bytesAtOnce: number; bytesPerSecond: number };
}

const { port, large, slow } = workerData as SlowLoad;
let isStopped = false;
const done = { large: 0, slow: 0 };
const LINE = Buffer.from(`${'x'.repeat(998)}\r\n`);
const PIECE = Buffer.concat(Array.from({ length: 64 }, () => LINE));
const REPLIES_BEFORE_DATA = 5;

/** A connection up to the 354; `ended` resolves with the reply to the message, '' when there is none. */
async function begin(to: string, localAddress: string): Promise<{ socket: Socket; ended: Promise<string> }> {
  const socket = connect({ port, host: '127.0.0.1', localAddress, noDelay: true });
  socket.on('error', () => undefined);
  let text = '';
  const ready = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<string>();
  socket.on('data', (bytes) => {
    text += bytes.toString('latin1');
    const replies = text.split('\r\n').filter((line) => /^\d{3} /.test(line));
    if (replies.length >= REPLIES_BEFORE_DATA) ready.resolve();
    if (replies.length > REPLIES_BEFORE_DATA) ended.resolve(replies.at(-1) ?? '');
  });
  socket.on('close', () => {
    ready.resolve();
    ended.resolve('');
  });
  socket.write('EHLO slow.example.com\r\nMAIL FROM:<slow@example.com>\r\n');
  socket.write(`RCPT TO:<${to}>\r\nDATA\r\n`);
  await ready.promise;
  return { socket, ended: ended.promise };
}

/** Waits until the system took the bytes, or the connection is closed. */
const written = (socket: Socket, bytes: Buffer): Promise<void> =>
  new Promise((resolve) => {
    socket.once('close', () => resolve());
    socket.write(bytes, () => resolve());
  });

async function sendLarge(): Promise<void> {
  while (!isStopped) {
    const { socket, ended } = await begin(large.to, '127.0.0.1');
    socket.setMaxListeners(0);
    for (let sent = 0; sent < large.bytes && !socket.destroyed && !isStopped; sent += PIECE.length) {
      await written(socket, PIECE);
    }
    if (!isStopped) socket.write('.\r\n');
    if (!isStopped && (await ended).startsWith('250')) done.large++;
    socket.destroy();
  }
}

async function sendSlowly(index: number): Promise<void> {
  while (!isStopped) {
    const { socket } = await begin(slow.to, `127.0.0.${2 + (index % slow.addresses)}`);
    socket.write(Buffer.alloc(slow.bytesAtOnce, PIECE));
    while (!isStopped && !socket.destroyed) {
      await sleep(1_000);
      socket.write(LINE.subarray(0, slow.bytesPerSecond));
    }
    if (socket.destroyed) done.slow++;
    socket.destroy();
  }
}

parentPort?.once('message', () => {
  isStopped = true;
  parentPort?.postMessage(done);
});
parentPort?.postMessage('ready');
await Promise.all([
  ...Array.from({ length: large.senders }, sendLarge),
  ...Array.from({ length: slow.senders }, (_, index) => sendSlowly(index)),
]);
