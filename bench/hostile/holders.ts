import { connect, type Socket } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';

/** What the thread holds open; see waits.ts. */
export interface Held {
  port: number;
  key: string;
  count: number;
  /** The path of a stream, or of a wait that is repeated as soon as it is answered. */
  path: string;
  /** A body makes it a POST. */
  body?: object;
}

const { port, key, count, path, body } = workerData as Held;
const json = body ? JSON.stringify(body) : '';
const request = `${body ? 'POST' : 'GET'} ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n${
  body ? `Content-Type: application/json\r\nContent-Length: ${json.length}\r\n` : ''
}\r\n${json}`;
const repeats = !path.endsWith('/events');

/** Nothing is parsed: the load is the server's, not this thread's. A stream's data does not end a request. */
function hold(): Socket {
  const socket = connect(port, '127.0.0.1', () => socket.write(request));
  socket.on('data', () => repeats && socket.write(request));
  return socket.on('error', () => undefined);
}

const sockets = Array.from({ length: count }, hold);
parentPort?.on('message', () => {
  for (const socket of sockets) socket.destroy();
  parentPort?.close();
});
