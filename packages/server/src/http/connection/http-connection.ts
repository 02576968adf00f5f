import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { LimitedConnection } from '../../connection-limiter.ts';
import { sourceKey } from '../../text/source-key.ts';

type Exchange = [IncomingMessage, ServerResponse];

/** What all connections of a server share. */
export interface Requests {
  /** Handles one request. */
  process: RequestListener;
  /** Unanswered requests of one connection beside the current one. */
  maxPipelined: number;
  /** Called with 1 when a request begins, and with -1 when its response is complete. */
  count(change: 1 | -1): void;
}

/**
 * Processes the requests of a connection one after the other: the next one begins when the client's system has taken
 * the last response. A client that pipelines requests (RFC 9112 section 9.3.2) and reads nothing thus costs one
 * response. With too many unanswered requests the connection is closed: what they take in memory is freed
 * only then.
 */
export class HttpConnection implements LimitedConnection {
  readonly source: string;
  readonly socket: Socket;
  readonly #requests: Requests;
  #current: Exchange | null = null;
  #waiting: Exchange[] = [];
  /** Runs when the current response is complete; no further request is processed then. */
  #afterwards: (() => void) | null = null;

  constructor(socket: Socket, requests: Requests) {
    this.socket = socket;
    this.source = sourceKey(socket.remoteAddress);
    this.#requests = requests;
  }

  get isIdle(): boolean {
    return this.#current === null;
  }

  makeRoom(): void {
    this.socket.destroy();
  }

  /** Takes a request from Node's HTTP server. */
  add(request: IncomingMessage, response: ServerResponse): void {
    if (this.#afterwards || !this.socket.writable) return;
    if (this.#current === null) this.#begin([request, response]);
    else if (this.#waiting.length < this.#requests.maxPipelined) this.#waiting.push([request, response]);
    else {
      this.#waiting = [];
      this.socket.destroy();
    }
  }

  /**
   * Ends a connection whose bytes cannot be read as HTTP any more. Where an earlier request is complete, it is
   * answered first, as the order of responses demands.
   * @param respond writes a last response, where one may be written
   */
  end(respond: () => void): void {
    const [request, response] = this.#current ?? [];
    if (request?.complete) {
      this.#afterwards = respond;
      this.#waiting = [];
    } else if (response?.headersSent) this.socket.destroy();
    else respond();
  }

  #begin(exchange: Exchange): void {
    const [request, response] = exchange;
    this.#current = exchange;
    this.#requests.count(1);
    response.once('close', () => {
      this.#current = null;
      this.#next();
      this.#requests.count(-1);
    });
    this.#requests.process(request, response);
  }

  #next(): void {
    // After a response with `Connection: close` no further one can be written.
    if (!this.socket.writable) this.#waiting = [];
    else if (this.#afterwards) this.#afterwards();
    else {
      const next = this.#waiting.shift();
      if (next) this.#begin(next);
    }
  }
}
