/**
 * `@mayfly/testcontainers`: Mayfly in a container, for tests that use Testcontainers. This package is outside of the
 * workspaces, because Testcontainers brings 170 packages: `npm run try-packages` installs and tests it.
 */
import { randomBytes } from 'node:crypto';
import { type CreateOptions, type Inbox, Mayfly } from '@mayfly/client';
import { AbstractStartedContainer, GenericContainer, type StartedTestContainer, Wait } from 'testcontainers';

/** The official Node.js image; the server is installed from npm. */
const NODE_IMAGE = 'node:24-slim';
/** Set by the release script. */
const VERSION = '0.2.0';
const HTTP_PORT = 8025;
const SMTP_PORT = 2525;
/** The first start downloads the server. */
const STARTUP_MS = 120_000;
/** A reused container must be created with the same settings each time. It listens on this machine only. */
const REUSED_KEY = 'testcontainers_reused_container';

const newKey = (): string => `testcontainers_${randomBytes(16).toString('hex')}`;

/** A container that runs a Mayfly server. Every part of it is configured before `start()`. */
export class MayflyContainer extends GenericContainer {
  #apiKey = newKey();

  /** @param image an image that starts Mayfly. Default: the Node.js image, with the server from npm */
  constructor(image?: string) {
    super(image ?? NODE_IMAGE);
    if (image === undefined) this.withCommand(['npx', '--yes', `mayfly@${VERSION}`, 'dev']);
    this.withEnvironment({
      MAYFLY_HTTP_HOST: '0.0.0.0',
      MAYFLY_SMTP_HOST: '0.0.0.0',
      MAYFLY_DATA_DIR: '/tmp/mayfly',
    });
    this.withExposedPorts(HTTP_PORT, SMTP_PORT);
    this.withWaitStrategy(Wait.forHttp('/readyz', HTTP_PORT).withStartupTimeout(STARTUP_MS));
  }

  /** Sets the API key that the server accepts from its start. Default: a random one. */
  withApiKey(apiKey: string): this {
    this.#apiKey = apiKey;
    return this;
  }

  /** The domains whose mail is received; the first is the default. */
  withDomains(...domains: string[]): this {
    return this.withEnvironment({ MAYFLY_DOMAINS: domains.join(',') });
  }

  /** Keeps the container for the next run, with the same key. Each run labels its inboxes: see `createInbox`. */
  override withReuse(): this {
    this.#apiKey = REUSED_KEY;
    return super.withReuse();
  }

  override async start(): Promise<StartedMayflyContainer> {
    this.withEnvironment({ MAYFLY_API_KEY: this.#apiKey });
    return new StartedMayflyContainer(await super.start(), this.#apiKey);
  }
}

/** A Mayfly server that accepts requests and mail. */
export class StartedMayflyContainer extends AbstractStartedContainer {
  readonly #apiKey: string;
  /** Added to every inbox of `createInbox`, to distinguish the runs of a reused container. */
  readonly runLabels: { run: string };

  constructor(container: StartedTestContainer, apiKey: string) {
    super(container);
    this.#apiKey = apiKey;
    this.runLabels = { run: process.env.MAYFLY_RUN ?? randomBytes(8).toString('hex') };
  }

  /** For `MAYFLY_URL`. */
  getApiUrl(): string {
    return `http://${this.getHost()}:${this.getMappedPort(HTTP_PORT)}`;
  }

  /** For `MAYFLY_API_KEY`. */
  getApiKey(): string {
    return this.#apiKey;
  }

  /** For the SMTP settings of an application outside of containers. */
  getSmtpHost(): string {
    return this.getHost();
  }

  getSmtpPort(): number {
    return this.getMappedPort(SMTP_PORT);
  }

  client(): Mayfly {
    return new Mayfly({ url: this.getApiUrl(), apiKey: this.#apiKey });
  }

  /** A new inbox with the labels of this run. */
  createInbox(options: CreateOptions = {}): Promise<Inbox> {
    return this.client().createInbox({ ...options, labels: { ...this.runLabels, ...options.labels } });
  }
}
