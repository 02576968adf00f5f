import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

type Exchange = [IncomingMessage, ServerResponse];

/** The requests of one connection. */
interface Connection {
  /** The request that is being processed, until its response is complete; null while the connection is idle. */
  current: Exchange | null;
  /** Pipelined requests that arrived meanwhile, in order. */
  waiting: Exchange[];
  /** Runs when the current response is complete; no further request is processed then. */
  afterwards: (() => void) | null;
  /** Requests that arrived beyond the limit; with the first one no further request is taken. */
  ignored: number;
}

/**
 * Requests beyond the limits of their connections that are in memory until those close, of all connections: what
 * two packets of the smallest requests hold, 20 MB. Beyond, a connection is closed without the responses that it
 * is owed.
 */
const MAX_IGNORED = 5_000;

/**
 * Processes the requests of each connection one after the other: the next one begins when the client's system
 * has taken the last response. A client that pipelines requests (RFC 9112 section 9.3.2) and reads nothing
 * thus costs one response, however many requests it sent.
 */
export class RequestQueue {
  readonly #maxWaiting: number;
  readonly #process: RequestListener;
  readonly #connections = new WeakMap<Socket, Connection>();
  #open = 0;
  #ignored = 0;
  #whenNone: (() => void) | undefined;

  /** @param maxWaiting unanswered requests of one connection; with one more it is closed after their responses */
  constructor(maxWaiting: number, process: RequestListener) {
    this.#maxWaiting = maxWaiting;
    this.#process = process;
  }

  /** Takes a request from Node's HTTP server. */
  readonly add: RequestListener = (request, response) => {
    const { socket } = request;
    const connection = this.#connectionOf(socket);
    if (connection.afterwards || !socket.writable) return;
    if (connection.ignored > 0) this.#ignore(connection, socket);
    else if (connection.current === null) this.#begin(connection, [request, response]);
    else if (connection.waiting.length < this.#maxWaiting) connection.waiting.push([request, response]);
    else this.#ignore(connection, socket);
  };

  /** True while a request of this connection is not answered. */
  isBusy(socket: Socket): boolean {
    return this.#connections.get(socket)?.current != null;
  }

  /**
   * Ends a connection whose bytes cannot be read as HTTP any more. Where an earlier request is complete, it is
   * answered first, as the order of responses demands.
   * @param respond writes a last response, where one may be written
   */
  end(socket: Socket, respond: () => void): void {
    const connection = this.#connectionOf(socket);
    const [request, response] = connection.current ?? [];
    if (request?.complete) {
      connection.afterwards = respond;
      connection.waiting = [];
    } else if (response?.headersSent) socket.destroy();
    else respond();
  }

  /** Resolves as soon as no request is without its whole response. */
  answered(): Promise<void> {
    return new Promise((resolve) => {
      this.#whenNone = resolve;
      if (this.#open === 0) resolve();
    });
  }

  /** Takes no further request of a connection, which is closed after the last response that it is owed. */
  #ignore(connection: Connection, socket: Socket): void {
    if (connection.ignored === 0) {
      const [, last] = connection.waiting.at(-1) ?? connection.current ?? [];
      if (last) last.shouldKeepAlive = false;
      socket.once('close', () => {
        this.#ignored -= connection.ignored;
      });
    }
    connection.ignored++;
    this.#ignored++;
    if (this.#ignored > MAX_IGNORED) socket.destroy();
    else socket.pause();
  }

  #connectionOf(socket: Socket): Connection {
    const known = this.#connections.get(socket);
    if (known) return known;
    const connection: Connection = { current: null, waiting: [], afterwards: null, ignored: 0 };
    this.#connections.set(socket, connection);
    return connection;
  }

  #begin(connection: Connection, exchange: Exchange): void {
    const [request, response] = exchange;
    // Kept, because a stream of the body that fails may take the socket from the request.
    const { socket } = request;
    connection.current = exchange;
    this.#open++;
    response.once('close', () => {
      this.#open--;
      this.#next(connection, socket);
      if (this.#open === 0) this.#whenNone?.();
    });
    this.#process(request, response);
  }

  #next(connection: Connection, socket: Socket): void {
    connection.current = null;
    // After a response with `Connection: close` no further one can be written.
    if (!socket.writable) connection.waiting = [];
    else if (connection.afterwards) connection.afterwards();
    else {
      const next = connection.waiting.shift();
      if (next) this.#begin(connection, next);
    }
  }
}
