import type { Socket } from 'node:net';
import { type SecureContext, TLSSocket } from 'node:tls';
import type { ConnectionLimiter, LimitedConnection } from '../connection-limiter.ts';
import { newSessionId } from '../ids.ts';
import { plainAddress, sourceKey } from '../inbound/source-key.ts';
import { Dialogue, type DialogueContext, type Transport } from './dialogue.ts';
import { readProxyHeader } from './protocol/proxy-header.ts';
import { REPLIES, replyLine } from './protocol/replies.ts';
import { HandshakeWatch } from './transport/handshake-failures.ts';
import { isLoopback } from './transport/networks.ts';

/** What all connections share. */
export interface ConnectionContext extends DialogueContext {
  limiter: ConnectionLimiter<Connection>;
}

/** What differs between the listeners of one server, and between their peers. */
export interface ConnectionOptions {
  /** The server's name, in the greeting. */
  name: string;
  /** True for TLS from the first byte. */
  implicitTls: boolean;
  /** True to offer STARTTLS. */
  startTls: boolean;
  /** Whether the peer has to begin with a PROXY header. */
  expectsProxyHeader: boolean;
  /** The certificate to show; it may have to be generated first. */
  certificate(): Promise<SecureContext>;
  /** Called once, when the socket is closed. */
  onClose(): void;
}

/** How long a client may take to close its side after the last reply. */
const LINGER_MS = 2_000;
/**
 * Bytes that a client may send after the last reply; they are discarded. Closing at once would discard the
 * reply as well for a client that is still sending (RFC 1122 section 4.2.2.13).
 */
const MAX_BYTES_AFTER_END = 64 * 1024;
const NOTHING = Buffer.alloc(0);

/** Such as `TLSv1.3 TLS_AES_256_GCM_SHA384`. */
const cipherOf = (socket: TLSSocket): string => `${socket.getProtocol()} ${socket.getCipher().standardName}`;

const addressOf = ({ remoteAddress = '' }: Socket): string => plainAddress(remoteAddress);

/** The socket of one client, from accept to close: PROXY header, TLS, SMTP dialogue. */
export class Connection implements Transport, LimitedConnection {
  readonly #id = newSessionId();
  readonly #context: ConnectionContext;
  readonly #options: ConnectionOptions;
  readonly #plain: Socket;
  /** The topmost one: the TLS socket once there is one. */
  #socket: Socket;
  #remoteAddress: string;
  #source = '';
  /** Bytes of an incomplete PROXY header; undefined when none is expected (any more). */
  #header: Buffer | undefined;
  /** Runs while a PROXY header or a handshake is not complete. */
  #deadline: AbortController | undefined;
  #handshake: HandshakeWatch | undefined;
  /** Bytes that the socket had read before the handshake. */
  #bytesBeforeHandshake = 0;
  #dialogue: Dialogue | undefined;
  #hasEntered = false;
  #isLeaving = false;
  /** When the last reply was written, monotonic milliseconds. */
  #endedAt: number | undefined;
  #bytesAfterEnd = 0;
  /** Epoch milliseconds. */
  readonly #connectedAt: number;

  constructor(socket: Socket, options: ConnectionOptions, context: ConnectionContext) {
    this.#plain = socket;
    this.#socket = socket;
    this.#options = options;
    this.#context = context;
    this.#remoteAddress = addressOf(socket);
    this.#connectedAt = context.clock.now();
    this.#listen(socket);
    if (options.expectsProxyHeader) {
      this.#header = NOTHING;
      this.#startDeadline();
    } else this.#begin(NOTHING);
  }

  get source(): string {
    return this.#source;
  }

  get isIdle(): boolean {
    return this.#deadline !== undefined || (this.#dialogue?.isIdle ?? true);
  }

  get isCongested(): boolean {
    return this.#socket.writableNeedDrain;
  }

  write(text: string): void {
    this.#socket.write(text, 'latin1');
  }

  end(text: string): void {
    // A client that closes without a command may have rejected the certificate; the watch reports it.
    if (text !== '') this.#handshake?.settled();
    this.#endedAt = this.#context.clock.monotonic();
    this.#socket.end(text, 'latin1');
    // On shutdown, do not wait for the client to close its side.
    if (this.#isLeaving) this.#socket.destroySoon();
    else this.#socket.resume();
    this.#leaveLimiter();
  }

  setReading(reads: boolean): void {
    if (reads !== this.#socket.isPaused()) return;
    if (reads) this.#socket.resume();
    else this.#socket.pause();
  }

  setDelayed(isDelayed: boolean): void {
    if (!this.#hasEntered) return;
    if (isDelayed) this.#context.limiter.exempt(this);
    else this.#context.limiter.readmit(this);
  }

  certificate(): Promise<SecureContext> {
    return this.#options.certificate();
  }

  encrypt(certificate: SecureContext): void {
    this.#startDeadline();
    this.#encrypt(certificate, NOTHING);
  }

  /** Finishes the message that is coming in or being stored, if one is, and closes with 421. */
  leave(): void {
    this.#isLeaving = true;
    this.#handshake?.settled();
    if (!this.#dialogue || this.#deadline) this.#socket.destroy();
    else if (this.#endedAt !== undefined) this.#socket.destroySoon();
    else this.#dialogue.leave(REPLIES.shuttingDown);
  }

  makeRoom(): void {
    this.#handshake?.settled();
    if (this.#dialogue && !this.#deadline) this.#dialogue.close(REPLIES.makesRoom);
    else this.#socket.destroy();
    this.#leaveLimiter();
  }

  /** Closes now, whatever is going on. */
  cut(): void {
    this.#handshake?.settled();
    this.#dialogue?.close(REPLIES.shuttingDown);
    this.#socket.destroy();
  }

  /** Enforces the limits of time; called every few seconds. @param now monotonic milliseconds */
  watch(now: number): void {
    if (this.#endedAt === undefined) this.#dialogue?.watch(now);
    else if (now - this.#endedAt > LINGER_MS) this.#socket.destroy();
  }

  readonly #onData = (bytes: Buffer): void => {
    this.#handshake?.settled();
    this.#context.limiter.used(this);
    if (this.#header) this.#readHeader(Buffer.concat([this.#header, bytes]));
    else if (this.#endedAt === undefined) this.#dialogue?.receive(bytes);
    else {
      this.#bytesAfterEnd += bytes.length;
      if (this.#bytesAfterEnd > MAX_BYTES_AFTER_END) this.#socket.destroy();
    }
  };

  readonly #onEnd = (): void => {
    if (!this.#dialogue || this.#deadline) this.#socket.destroy();
    else this.#dialogue.peerEnded();
  };

  readonly #onError = (err: Error): void => {
    if (this.#deadline && this.#handshake) this.#handshake.failed(err);
    else this.#context.log.debug({ session: this.#id, err }, 'An SMTP connection failed');
  };

  readonly #onDrain = (): void => this.#dialogue?.resume();

  readonly #onClose = (): void => {
    this.#stopDeadline();
    const hasBegun = !this.#options.implicitTls || this.#plain.bytesRead > this.#bytesBeforeHandshake;
    this.#handshake?.closed(hasBegun);
    this.#dialogue?.ended();
    this.#leaveLimiter();
    this.#options.onClose();
  };

  #listen(socket: Socket): void {
    socket.on('data', this.#onData).on('end', this.#onEnd).on('drain', this.#onDrain);
    socket.on('error', this.#onError).on('close', this.#onClose);
  }

  #startDeadline(): void {
    const deadline = new AbortController();
    this.#deadline = deadline;
    const { clock, limits } = this.#context;
    void clock.sleep(limits.handshakeMs, deadline.signal).then(() => {
      if (!deadline.signal.aborted) this.#socket.destroy();
    });
  }

  #stopDeadline(): void {
    this.#deadline?.abort();
    this.#deadline = undefined;
  }

  #readHeader(bytes: Buffer): void {
    const header = readProxyHeader(bytes);
    this.#header = bytes;
    if (header === 'incomplete') return;
    this.#header = undefined;
    this.#stopDeadline();
    if (header === 'invalid') {
      this.#context.log.info({ proxy: this.#remoteAddress }, 'The PROXY header is missing or invalid');
      this.#socket.destroy();
      return;
    }
    this.#remoteAddress = header.client ?? this.#remoteAddress;
    this.#begin(bytes.subarray(header.length));
  }

  /** @param received bytes that followed the PROXY header */
  #begin(received: Buffer): void {
    const { limiter, metrics, visits } = this.#context;
    visits.lastAt = this.#connectedAt;
    this.#source = sourceKey(this.#remoteAddress);
    const rejectedBy = limiter.enter(this, isLoopback(this.#remoteAddress));
    if (rejectedBy) {
      const reply = rejectedBy === 'address' ? REPLIES.tooManyFromYou : REPLIES.tooManyConnections;
      // A reply in plain text means nothing to a client that expects a handshake.
      this.#socket.end(this.#options.implicitTls ? '' : `${replyLine(reply)}\r\n`);
      this.#socket.destroySoon();
      return;
    }
    this.#hasEntered = true;
    metrics.connection();
    if (!this.#options.implicitTls) {
      this.#greet(null);
      if (received.length > 0) this.#onData(received);
      return;
    }
    this.#startDeadline();
    this.#socket.pause();
    this.certificate().then(
      (certificate) => this.#encrypt(certificate, received),
      (err) => {
        this.#context.log.error({ err }, 'A TLS certificate could not be generated');
        this.#socket.destroy();
      },
    );
  }

  /** @param received bytes of the handshake that were read already */
  #encrypt(certificate: SecureContext, received: Buffer): void {
    const plain = this.#plain;
    plain.off('data', this.#onData).off('end', this.#onEnd).off('drain', this.#onDrain).pause();
    // Node.js crashes when TLS is started on a destroyed socket.
    if (plain.destroyed || plain.readableEnded) {
      plain.destroy();
      return;
    }
    // Discard plaintext that was pipelined after STARTTLS (CVE-2011-0411).
    if (this.#dialogue) while (plain.read() !== null);
    if (received.length > 0) plain.unshift(received);
    plain.off('close', this.#onClose);
    this.#bytesBeforeHandshake = plain.bytesRead - plain.readableLength;
    const { clock, limits, log, metrics, receiver } = this.#context;
    const helo = this.#dialogue?.helo ?? '';
    const peer = { session: this.#id, remoteAddress: this.#remoteAddress, helo };
    this.#handshake = new HandshakeWatch({ clock, limits, log, metrics, receiver }, peer);
    this.#handshake.begin();
    const secure = new TLSSocket(plain, { isServer: true, secureContext: certificate });
    this.#socket = secure;
    this.#listen(secure);
    secure.on('_tlsError', this.#onError);
    secure.once('secure', () => this.#secured(cipherOf(secure)));
  }

  #secured(cipher: string): void {
    this.#stopDeadline();
    this.#handshake?.done();
    if (this.#dialogue) this.#dialogue.secured(cipher);
    else this.#greet(cipher);
  }

  #greet(cipher: string | null): void {
    const { name, startTls } = this.#options;
    const session = { id: this.#id, remoteAddress: this.#remoteAddress, connectedAt: this.#connectedAt };
    const options = { ...session, name, cipher, startTls };
    this.#dialogue = new Dialogue(options, this.#context, this);
    this.#dialogue.greet();
  }

  #leaveLimiter(): void {
    if (!this.#hasEntered) return;
    this.#hasEntered = false;
    this.#context.limiter.leave(this);
    this.#context.metrics.disconnection();
  }
}
