import { connect, type Socket } from 'node:net';

/** A connection that sends exactly what it is given, and collects what it receives as latin1. */
export class RawClient {
  socket: Socket;
  /** What was received and not taken. */
  protected unread = '';
  #hasEnded = false;
  #wake = (): void => undefined;

  constructor(socket: Socket) {
    this.socket = socket;
    this.listen(socket);
  }

  /** Goes on with a socket, from which nothing was read. */
  protected listen(socket: Socket): void {
    this.socket = socket;
    this.unread = '';
    this.#hasEnded = false;
    socket.on('data', (bytes: Buffer) => {
      this.unread += bytes.toString('latin1');
      this.#wake();
    });
    for (const event of ['close', 'error', 'end'])
      socket.on(event, () => {
        this.#hasEnded = true;
        this.#wake();
      });
  }

  get isClosed(): boolean {
    return this.#hasEnded;
  }

  readonly text = (): string => this.unread;

  /** Resolves with what was not taken when it matches, or when the connection has ended. */
  readonly until = async (pattern: { test(text: string): boolean }): Promise<string> => {
    while (!pattern.test(this.unread) && !this.#hasEnded)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    return this.unread;
  };

  /** Resolves with what was not taken when the connection has ended. */
  readonly closed = (): Promise<string> => this.until({ test: () => false });

  /** Takes a beginning. @param lengthOf its length in a text; 0 if more is needed @returns '' if the connection ends */
  protected async take(lengthOf: (text: string) => number): Promise<string> {
    const text = await this.until({ test: (received) => lengthOf(received) > 0 });
    const length = lengthOf(text);
    this.unread = text.slice(length);
    return text.slice(0, length);
  }
}

export const rawClient = (port: number, localAddress = '127.0.0.1', allowHalfOpen = false): RawClient =>
  new RawClient(connect({ port, host: '127.0.0.1', localAddress, allowHalfOpen }));
