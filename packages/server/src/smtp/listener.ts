import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { SMTPServerDataStream, SMTPServerError, SMTPServerSession } from 'smtp-server';
import type { SMTPConnectionOptions } from 'smtp-server/lib/smtp-connection.js';
import type { AuthContext } from './auth/authentication.ts';
import { Connection, type Doorkeeper } from './connection.ts';
import { SMTPServer } from './library.ts';
import { MECHANISMS } from './protocol/sasl.ts';
import type { SessionContext } from './session.ts';
import type { KeyPair } from './transport/certificate.ts';
import { destroyOnEnd, handshakeDeadline } from './transport/handshake-deadline.ts';
import { HandshakeWatch } from './transport/handshake-failures.ts';
import type { NetworkMatch } from './transport/networks.ts';
import { asProxyVersion1 } from './transport/proxy-v2.ts';

export interface ListenerContext extends SessionContext {
  door: Doorkeeper;
  auth: AuthContext;
  /** Peers that speak the PROXY protocol to us. */
  isTrustedProxy: NetworkMatch;
  /** Makes the certificate of a listener that was given none. */
  makeCertificate(): Promise<KeyPair>;
}

/** What differs between the listeners of one server. */
export interface ListenerOptions {
  /** The server's name, in the greeting. */
  name: string;
  /** True for TLS from the first byte. */
  secure: boolean;
  /** True to offer STARTTLS. */
  startTls: boolean;
  /** Null where a certificate is generated for the first client that asks for TLS. */
  tls: KeyPair | null;
}

/** Commands of smtp-server that are not SMTP, or that are not offered. */
const DISABLED = ['XCLIENT', 'XFORWARD', 'WIZ', 'SHELL', 'KILL'];

/** A listening socket and its connections. */
export class Listener extends SMTPServer {
  readonly context: ListenerContext;
  readonly #bySession = new WeakMap<SMTPServerSession, Connection>();
  /** Until their socket is closed, which may be after smtp-server has forgotten them. */
  readonly #open = new Set<Connection>();
  /** Of sockets whose PROXY header was read: the client's address. */
  readonly #clients = new WeakMap<Socket, string>();
  /** Failed handshakes, which their watch has reported. */
  readonly #reported = new WeakSet<Error>();
  #stopping = false;
  #certified: Promise<void> | undefined;

  constructor({ name, secure, startTls, tls }: ListenerOptions, context: ListenerContext) {
    super({
      name,
      secure,
      ...tls,
      size: context.maxMessageBytes,
      maxClients: context.limits.maxConnections,
      disabledCommands: startTls ? DISABLED : [...DISABLED, 'STARTTLS'],
      // Listed in the reply to EHLO where the connection says that AUTH is supported.
      authMethods: [...MECHANISMS],
      authOptional: true,
      disableReverseLookup: true,
      hideENHANCEDSTATUSCODES: false,
      // A client that sends all and closes its side (a script through nc) still reads its replies.
      allowHalfOpen: true,
      logger: false,
      onConnect: (_session, callback) => callback(),
      onSecure: (_socket, _session, callback) => callback(),
    });
    this.context = context;
    if (tls) this.#certified = Promise.resolve();
    // A client's broken connection, which its session tells of by ending.
    this.on('error', (err: Error) => {
      if (!this.#reported.has(err)) context.log.debug({ err }, 'SMTP connection failed');
    });
  }

  /**
   * Resolves when there is a certificate to show. One that nobody gave is made for the first client that
   * asks for TLS: many never meet one, and making it takes 8 MB. Until then nothing may be shown.
   */
  certified(): Promise<void> {
    this.#certified ??= this.context.makeCertificate().then(
      (made) => this.useCertificate(made),
      (error) => {
        this.#certified = undefined;
        throw error;
      },
    );
    return this.#certified;
  }

  /** New connections, and STARTTLS from now on, use this certificate; established ones are not affected. */
  useCertificate(pair: KeyPair): void {
    this.updateSecureContext({ ...pair });
  }

  override connect(socket: Socket, options?: SMTPConnectionOptions): void {
    const connection = new Connection(this, socket, options);
    this.#bySession.set(connection.session, connection);
    this.connections.add(connection);
    this.#open.add(connection);
    connection.on('error', (error: SMTPServerError) => this._onError(error));
    connection.init();
  }

  override onData(
    stream: SMTPServerDataStream,
    session: SMTPServerSession,
    callback: (error?: Error | null, message?: string) => void,
  ): void {
    this.#bySession.get(session)?.receive(stream, callback);
  }

  /** smtp-server compares single addresses; operators name networks. */
  override _expectsProxyHeader(socket: Socket): boolean {
    return this.context.isTrustedProxy(socket.remoteAddress);
  }

  /** smtp-server reads version 1; version 2 is put in its words before. */
  override _handleProxy(
    socket: Socket,
    callback: Parameters<InstanceType<typeof SMTPServer>['_handleProxy']>[1],
  ): void {
    const read: typeof callback = (error, options) => {
      if (options?.remoteAddress) this.#clients.set(socket, options.remoteAddress);
      callback(error, options);
    };
    if (!this._expectsProxyHeader(socket)) super._handleProxy(socket, read);
    else asProxyVersion1(socket, (error) => (error ? read(error) : super._handleProxy(socket, read)));
  }

  /** The PROXY header and the first handshake have their deadline too. */
  override _acceptSocket(socket: Socket, handshake: boolean): false | (() => void) {
    const release = super._acceptSocket(socket, handshake);
    if (!release || (!handshake && !this._expectsProxyHeader(socket))) return release;
    const deadline = handshakeDeadline(socket, this.context, () => this._pendingSockets.get(socket));
    return () => {
      deadline.abort();
      release();
    };
  }

  /**
   * A stop, or the client, may destroy the socket in the turn between its acceptance and this call,
   * and Node's TLS crashes the process when it is put upon a destroyed socket.
   */
  override _upgrade(socket: Socket, callback: (error: Error | null, secure?: TLSSocket) => void): void {
    if (socket.destroyed) {
      callback(new Error('closed before the TLS handshake'));
      return;
    }
    const remoteAddress = this.#clients.get(socket) ?? socket.remoteAddress?.replace(/^::ffff:/i, '') ?? '';
    const watch = new HandshakeWatch(this.context, { remoteAddress });
    // What came with a PROXY header was put back into the socket.
    const before = socket.bytesRead - socket.readableLength;
    let allowHalfOpen = (): void => undefined;
    watch.begin();
    super._upgrade(socket, (error, secure) => {
      allowHalfOpen();
      if (error) {
        watch.failed(error);
        this.#reported.add(error);
        if (!this.#stopping) watch.closed(socket.bytesRead > before);
      }
      callback(error, secure);
    });
    allowHalfOpen = destroyOnEnd(this._pendingSockets.get(socket) ?? socket);
  }

  override onClose(session: SMTPServerSession): void {
    const connection = this.#bySession.get(session);
    if (connection) this.#open.delete(connection);
  }

  /** Stops listening; the connections live on. */
  stopListening(): Promise<void> {
    this.#stopping = true;
    const stopped = new Promise<void>((resolve) => this.server.close(() => resolve()));
    for (const topmost of this._pendingSockets.values()) topmost.destroy();
    return stopped;
  }

  /** Closes every socket now, those of ended sessions too whose clients do not close their side. */
  cutAll(): void {
    for (const connection of this.#open) connection.cut();
  }
}
