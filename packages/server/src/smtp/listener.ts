import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createSecureContext, type SecureContext } from 'node:tls';
import { oncePerMinute } from '../log.ts';
import { Connection, type ConnectionContext } from './connection.ts';
import type { KeyPair } from './transport/certificate.ts';
import type { NetworkMatch } from './transport/networks.ts';

export interface ListenerContext extends ConnectionContext {
  /** Peers that speak the PROXY protocol. */
  isTrustedProxy: NetworkMatch;
  /** Makes the certificate of a listener that was given none. */
  makeCertificate(): Promise<KeyPair>;
  /** All sockets of all listeners, until they are closed. */
  open: Set<Connection>;
}

/** What differs between the listeners of one server. */
export interface ListenerOptions {
  /** The server's name, in the greeting. */
  name: string;
  /** True for TLS from the first byte. */
  implicitTls: boolean;
  /** True to offer STARTTLS. */
  startTls: boolean;
  /** Null where a certificate is generated for the first client that asks for TLS. */
  tls: KeyPair | null;
}

/** A listening socket and its certificate. */
export class Listener {
  readonly #options: ListenerOptions;
  readonly #context: ListenerContext;
  readonly #server: Server;
  #certificate: Promise<SecureContext> | undefined;

  constructor(options: ListenerOptions, context: ListenerContext) {
    this.#options = options;
    this.#context = context;
    // A client that sends all and closes its side (a script through nc) still reads its replies.
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => this.#accept(socket));
    if (options.tls) this.useCertificate(options.tls);
  }

  /** @param port 0 takes a free one. @returns the port taken */
  listen(host: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      // With Node's default of 511 a burst of connections overflows the queue, and some clients wait forever.
      const backlog = this.#context.limits.maxConnections;
      this.#server.listen({ port, host, backlog }, () => {
        this.#server.off('error', reject);
        const { clock, log } = this.#context;
        // Such as too many open files.
        const report = oncePerMinute(clock, (err, count) =>
          log.error({ err, count }, 'SMTP connections were not accepted'),
        );
        this.#server.on('error', report);
        resolve((this.#server.address() as AddressInfo).port);
      });
    });
  }

  /** Stops listening. Resolves when all its connections are closed. */
  close(): Promise<void> {
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  /** New connections, and STARTTLS from now on, use this certificate; established ones are not affected. */
  useCertificate(pair: KeyPair): void {
    this.#certificate = Promise.resolve(createSecureContext({ ...pair }));
  }

  /**
   * The certificate to show. Where none is configured, one is generated for the first client that asks for TLS:
   * most servers never need it, and generating it takes 8 MB.
   */
  #certified(): Promise<SecureContext> {
    this.#certificate ??= this.#context.makeCertificate().then(createSecureContext, (error) => {
      this.#certificate = undefined;
      throw error;
    });
    return this.#certificate;
  }

  #accept(socket: Socket): void {
    const { open, limits, isTrustedProxy } = this.#context;
    // Rejected connections and those in a handshake are not counted by the limiter.
    if (open.size >= 2 * limits.maxConnections) {
      socket.destroy();
      return;
    }
    const { name, implicitTls, startTls } = this.#options;
    const expectsProxyHeader = isTrustedProxy(socket.remoteAddress);
    const certificate = () => this.#certified();
    const onClose = () => void open.delete(connection);
    const options = { name, implicitTls, startTls, expectsProxyHeader, certificate, onClose };
    const connection = new Connection(socket, options, this.#context);
    open.add(connection);
  }
}
