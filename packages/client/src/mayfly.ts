import type { Addresses, Keys, Webhooks } from './account.ts';
import type * as api from './generated/api.ts';
import { Inbox } from './inbox.ts';
import type { FollowOptions, MessageEvent } from './since.ts';
import { type CallArguments, type MayflyOptions, type RequestOptions, Transport } from './transport.ts';

export interface CreateOptions extends api.CreateInbox, RequestOptions {
  /** Default: a random one, so that a repeated request creates no second inbox. */
  idempotencyKey?: string;
}

type Labels = Record<string, string>;

export interface ListOptions extends RequestOptions {
  labels?: Labels;
  address?: string;
}

const account = () => import('./account.ts');

/** Methods of a class of account.ts, which is loaded by the first call of one. */
const later = <Methods extends object>(mayfly: Mayfly, name: 'Addresses' | 'Keys' | 'Webhooks'): Methods =>
  new Proxy({} as Methods, {
    get: (_, method) =>
      // Promises that are resolved with this object look for it.
      method === 'then'
        ? undefined
        : async (...args: unknown[]) => {
            const methods: object = new (await account())[name](mayfly);
            return (methods as Record<string | symbol, (...args: unknown[]) => unknown>)[method]?.(...args);
          },
  });

/** A server and a credential for it. */
export class Mayfly {
  /** For classes that extend {@link Inbox}. */
  readonly transport: Transport;

  /** @throws MayflyError `no_credential` when there is neither an option nor an environment variable */
  constructor(options: MayflyOptions = {}) {
    this.transport = new Transport(options);
  }

  get url(): string {
    return this.transport.url;
  }

  /**
   * Any operation of the API, by the method and path of the OpenAPI document:
   * `mayfly.call('GET /v1/webhooks/{id}', { path: { id } })`.
   * @throws ApiError, ConnectionError
   */
  call<Name extends keyof api.Operations>(
    operation: Name,
    ...args: CallArguments<Name>
  ): Promise<api.Operations[Name]['result']> {
    return this.transport.send(operation, ...args) as Promise<api.Operations[Name]['result']>;
  }

  readonly inboxes = {
    create: async ({
      idempotencyKey,
      signal,
      timeoutMs,
      headers,
      ...body
    }: CreateOptions = {}): Promise<Inbox> => {
      // Not randomUUID(): neither pages without TLS nor jsdom have it.
      const key = idempotencyKey ?? crypto.getRandomValues(new Uint32Array(4)).join('-');
      const created = (await this.transport.send('POST /v1/inboxes', {
        body,
        headers: { ...headers, 'idempotency-key': key },
        signal,
        timeoutMs,
      })) as api.CreatedInbox;
      return new Inbox(this.transport, created);
    },

    get: async (id: string, options?: RequestOptions): Promise<Inbox> =>
      new Inbox(this.transport, await this.call('GET /v1/inboxes/{id}', { ...options, path: { id } })),

    /** All live inboxes, newest first. */
    list: (options?: ListOptions) => this.#inboxes(options),

    /** Deletes all inboxes with these labels. @returns how many */
    deleteByLabels: async (labels: Labels, options?: RequestOptions): Promise<number> =>
      (await account()).deleteByLabels(this, labels, options),
  };

  async *#inboxes(options?: ListOptions): AsyncGenerator<Inbox> {
    yield* (await account()).listInboxes(this, options);
  }

  /** An inbox of which only the id and the read token are known. Makes no request. */
  inbox(id: string, token?: string): Inbox {
    return new Inbox(token ? this.transport.as(token) : this.transport, { id, token });
  }

  readonly addresses = later<Addresses>(this, 'Addresses');
  readonly webhooks = later<Webhooks>(this, 'Webhooks');
  readonly keys = later<Keys>(this, 'Keys');

  usage(options?: RequestOptions): Promise<api.Usage> {
    return this.call('GET /v1/usage', options);
  }

  async domains(options?: RequestOptions): Promise<api.ServedDomain[]> {
    return (await this.call('GET /v1/domains', options)).domains;
  }

  /**
   * What became of the mail of a test run: of all inboxes with these labels, also for 24 hours after their end.
   * @param labels at least one
   */
  async report(labels: Labels, options?: RequestOptions): Promise<api.RunReport> {
    return (await account()).report(this, labels, options);
  }

  /** Every message of the account as it arrives, once each, over cuts and restarts. */
  async *events(options: FollowOptions = {}): AsyncGenerator<MessageEvent> {
    yield* (await account()).events(this, options);
  }
}
