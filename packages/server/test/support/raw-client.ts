import { connect, type Socket } from 'node:net';

/** A connection that sends exactly what it is given, and collects what it receives as latin1. */
export interface RawClient {
  socket: Socket;
  text(): string;
  /** Resolves with the text when it matches or the connection has ended. */
  until(pattern: RegExp): Promise<string>;
  closed: Promise<void>;
}

export function rawClient(port: number, localAddress = '127.0.0.1', allowHalfOpen = false): RawClient {
  const socket = connect({ port, host: '127.0.0.1', localAddress, allowHalfOpen });
  let text = '';
  let hasEnded = false;
  let wake = (): void => undefined;
  socket.on('data', (bytes) => {
    text += bytes.toString('latin1');
    wake();
  });
  for (const event of ['close', 'error', 'end'] as const) {
    socket.on(event, () => {
      hasEnded = true;
      wake();
    });
  }
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  const until = async (pattern: RegExp): Promise<string> => {
    while (!pattern.test(text) && !hasEnded) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    return text;
  };
  return { socket, text: () => text, until, closed };
}
