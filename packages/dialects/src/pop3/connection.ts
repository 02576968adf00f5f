import type { Socket } from 'node:net';
import { type SecureContext, TLSSocket } from 'node:tls';
import { type Credentials, type Maildrop, Pop3Session, type Pop3Transport } from './session.ts';

/** Longest line: credentials as in SMTP, in plain text or base64. Mailpit has no limit (CVE-2026-67445). */
const MAX_LINE_BYTES = 2048;
/** RFC 1939 section 3 requires at least ten minutes. */
const IDLE_MS = 10 * 60_000;
/** Time limit for logging in, for a TLS handshake, and for a client to read a part of a reply. */
const WAIT_MS = 60_000;
/** Longest session, as with SMTP. */
const SESSION_MS = 60 * 60_000;
/** Time for the client to close its side after the last reply. */
const LINGER_MS = 2_000;
/** Bytes discarded in that time: closing immediately would also discard the reply. */
const MAX_BYTES_AFTER_END = 64 * 1024;
/** Size of the parts of a reply; a client must read each within {@link WAIT_MS}. */
const PIECE = 64 * 1024;

/**
 * HTTP requests, which a web page can make a browser send here with commands in the body, and TLS, which
 * begins with control characters.
 */
const FOREIGN = /\p{Cc}| HTTP\/\d/u;

export interface Pop3ConnectionOptions {
  /** Identifies the client for limits. */
  source: string;
  /** Null if TLS is not offered. */
  certificate: { readonly context: SecureContext } | null;
  /** Whether passwords are accepted without TLS. */
  plaintext: boolean;
  logIn(credentials: Credentials): Promise<Maildrop | undefined>;
  onUsed(connection: Pop3Connection): void;
  onError(error: unknown): void;
  onClose(connection: Pop3Connection): void;
}

/**
 * The socket of a POP3 client: lines, TLS, time limits. Each reply waits until the client has read the previous one.
 */
export class Pop3Connection implements Pop3Transport {
  readonly source: string;
  readonly #options: Pop3ConnectionOptions;
  readonly #session: Pop3Session = new Pop3Session(this);
  readonly #closed = new AbortController();
  #socket: Socket;
  #unread: Buffer = Buffer.alloc(0);
  #hasEnded = false;
  #isStopping = false;
  #bytesAfterEnd = 0;
  /** What the connection is waiting for. */
  #waiting: 'line' | 'client' | 'end' | 'nothing' = 'nothing';
  #wake: (() => void) | undefined;
  /** Start of the current wait and of the connection; set by the first call of `watch`. */
  #since: number | undefined;
  #openSince: number | undefined;

  constructor(socket: Socket, options: Pop3ConnectionOptions) {
    this.#socket = socket;
    this.#options = options;
    this.source = options.source;
    this.#listen();
  }

  get isIdle(): boolean {
    return this.#waiting === 'line';
  }

  mayLogIn(): boolean {
    return this.#options.plaintext || this.#socket instanceof TLSSocket;
  }

  mayEncrypt(): boolean {
    return this.#options.certificate !== null && !(this.#socket instanceof TLSSocket);
  }

  hasUnread(): boolean {
    return this.#unread.length > 0 || this.#socket.readableLength > 0;
  }

  logIn(credentials: Credentials): Promise<Maildrop | undefined> {
    return this.#options.logIn(credentials);
  }

  /** Runs the session. Never rejects. */
  async run(): Promise<void> {
    try {
      await this.#write(Pop3Session.greeting);
      while (!this.#closed.signal.aborted && this.#session.next !== 'ended' && !this.#isStopping) {
        const line = await this.#readLine();
        if (line === undefined) break;
        for await (const piece of this.#session.answer(line)) {
          await this.#write(piece);
          if (this.#closed.signal.aborted) return;
        }
        if (this.#session.next === 'encrypt') await this.#encrypt();
      }
      this.#end('');
    } catch (error) {
      this.#options.onError(error);
      this.#socket.destroy();
    }
  }

  /** Rejects the connection before a session begins. */
  refuse(text: string): void {
    this.#socket.write(`-ERR ${text}\r\n`);
    this.#socket.destroySoon();
  }

  makeRoom(): void {
    this.leave();
  }

  /** Closes the connection: now if it waits for a command, otherwise after the reply. */
  leave(): void {
    this.#isStopping = true;
    if (this.#waiting === 'end') this.#socket.destroySoon();
    if (this.#waiting === 'line') this.#end('-ERR [SYS/TEMP] The server closes the connection.\r\n');
  }

  cut(): void {
    this.#socket.destroy();
  }

  /** Enforces time limits; called every second. @param now monotonic milliseconds */
  watch(now: number): void {
    this.#openSince ??= now;
    this.#since ??= now;
    const waited = now - this.#since;
    if (this.#waiting === 'line') {
      const limit = this.#session.isLoggedIn ? IDLE_MS : WAIT_MS;
      if (waited > limit || now - this.#openSince > SESSION_MS)
        this.#end('-ERR The session took too long.\r\n');
    } else if (this.#waiting === 'client' && waited > WAIT_MS) this.#socket.destroy();
    else if (this.#waiting === 'end' && waited > LINGER_MS) this.#socket.destroy();
  }

  #listen(): void {
    const socket = this.#socket;
    socket.on('data', this.#onData).on('end', this.#onEnd).on('drain', this.#onWake);
    socket.on('error', this.#onError).on('close', this.#onClose);
    socket.pause();
  }

  readonly #onData = (bytes: Buffer): void => {
    if (this.#waiting === 'end') {
      this.#bytesAfterEnd += bytes.length;
      if (this.#bytesAfterEnd > MAX_BYTES_AFTER_END) this.#socket.destroy();
      return;
    }
    this.#options.onUsed(this);
    this.#unread = Buffer.concat([this.#unread, bytes]);
    this.#socket.pause();
    this.#onWake();
  };

  readonly #onEnd = (): void => {
    this.#hasEnded = true;
    this.#onWake();
  };

  readonly #onWake = (): void => {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  };

  /** A connection reset by the client is not a failure of the server. */
  readonly #onError = (): void => {
    this.#socket.destroy();
  };

  readonly #onClose = (): void => {
    this.#hasEnded = true;
    this.#closed.abort();
    this.#onWake();
    this.#options.onClose(this);
  };

  async #wait(what: 'line' | 'client'): Promise<void> {
    this.#waiting = what;
    this.#since = undefined;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    if (this.#waiting === what) this.#waiting = 'nothing';
  }

  /** @returns undefined at the end of the connection, and for a line that no POP3 client sends */
  async #readLine(): Promise<string | undefined> {
    for (;;) {
      const end = this.#unread.indexOf('\n');
      if ((end < 0 ? this.#unread.length : end) > MAX_LINE_BYTES) {
        await this.#write('-ERR The line is too long.\r\n');
        return undefined;
      }
      if (end >= 0) {
        const line = this.#unread.toString('utf8', 0, end).replace(/\r$/, '');
        this.#unread = this.#unread.subarray(end + 1);
        return FOREIGN.test(line) ? undefined : line;
      }
      if (this.#hasEnded || this.#waiting === 'end') return undefined;
      this.#socket.resume();
      await this.#wait('line');
    }
  }

  async #write(text: string): Promise<void> {
    for (let at = 0; at < text.length && !this.#closed.signal.aborted; at += PIECE)
      if (!this.#socket.write(text.slice(at, at + PIECE), 'latin1')) await this.#wait('client');
  }

  #end(text: string): void {
    if (this.#waiting === 'end' || this.#closed.signal.aborted) return;
    this.#waiting = 'end';
    this.#since = undefined;
    this.#socket.end(text);
    if (this.#isStopping) this.#socket.destroySoon();
    else this.#socket.resume();
    this.#onWake();
  }

  /** Resolves after the handshake, or when the connection has closed. */
  async #encrypt(): Promise<void> {
    const plain = this.#socket;
    if (plain.destroyed || plain.readableEnded) return plain.destroySoon();
    plain
      .off('data', this.#onData)
      .off('end', this.#onEnd)
      .off('drain', this.#onWake)
      .off('close', this.#onClose);
    const secureContext = this.#options.certificate?.context;
    const secure = new TLSSocket(plain, { isServer: true, secureContext });
    this.#socket = secure;
    this.#listen();
    secure.once('secure', this.#onWake);
    await this.#wait('client');
  }
}
