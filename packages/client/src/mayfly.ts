import type * as api from './generated/api.ts';
import { Inbox } from './inbox.ts';
import type { FollowOptions, MessageEvent } from './since.ts';
import {
  type CallArguments,
  type CallInput,
  type MayflyOptions,
  type RequestOptions,
  Transport,
} from './transport.ts';

export interface CreateOptions extends api.CreateInbox, RequestOptions {
  /** Default: a random one, so that a repeated request creates no second inbox. */
  idempotencyKey?: string;
}

const labelQuery = (labels: Record<string, string> = {}) =>
  Object.fromEntries(Object.entries(labels).map(([name, value]) => [`label.${name}`, value]));

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
    return this.transport.call(operation, ...args);
  }

  readonly inboxes = {
    create: async ({
      idempotencyKey,
      signal,
      timeoutMs,
      headers,
      ...body
    }: CreateOptions = {}): Promise<Inbox> => {
      const key = idempotencyKey ?? crypto.randomUUID();
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
    list: (options?: RequestOptions & { labels?: Record<string, string>; address?: string }) =>
      this.#inboxes(options),

    /** Deletes all inboxes with these labels. @returns how many */
    deleteByLabels: async (labels: Record<string, string>, options?: RequestOptions): Promise<number> =>
      (await this.call('DELETE /v1/inboxes', { ...options, query: labelQuery(labels) })).deleted,
  };

  async *#inboxes({
    labels,
    address,
    ...options
  }: RequestOptions & { labels?: Record<string, string>; address?: string } = {}): AsyncGenerator<Inbox> {
    let before: string | undefined;
    for (let hasMore = true; hasMore; ) {
      const query = { limit: 200, address, before, ...labelQuery(labels) };
      const page = (await this.transport.send('GET /v1/inboxes', { ...options, query })) as api.InboxList;
      for (const data of page.inboxes) yield new Inbox(this.transport, data);
      ({ hasMore } = page);
      before = page.inboxes.at(-1)?.id;
    }
  }

  /** An inbox of which only the id and the read token are known. Makes no request. */
  inbox(id: string, token?: string): Inbox {
    return new Inbox(token === undefined ? this.transport : this.transport.as(token), {
      id,
      ...(token && { token }),
    });
  }

  readonly addresses = {
    generate: (options: api.GenerateAddress & RequestOptions = {}): Promise<api.GeneratedAddress> => {
      const { domain, ...rest } = options;
      return this.call('POST /v1/addresses/generate', {
        ...rest,
        body: domain === undefined ? {} : { domain },
      });
    },
  };

  readonly webhooks = {
    create: (body: api.CreateWebhook, options?: RequestOptions) =>
      this.call('POST /v1/webhooks', { ...options, body }),
    list: (options?: RequestOptions) => this.call('GET /v1/webhooks', options),
    get: (id: string, options?: RequestOptions) =>
      this.call('GET /v1/webhooks/{id}', { ...options, path: { id } }),
    update: (id: string, body: api.UpdateWebhook, options?: RequestOptions) =>
      this.call('PATCH /v1/webhooks/{id}', { ...options, path: { id }, body }),
    delete: (id: string, options?: RequestOptions) =>
      this.call('DELETE /v1/webhooks/{id}', { ...options, path: { id } }),
    rotateSecret: (id: string, options?: RequestOptions) =>
      this.call('POST /v1/webhooks/{id}/rotate-secret', { ...options, path: { id } }),
    test: (id: string, options?: RequestOptions) =>
      this.call('POST /v1/webhooks/{id}/test', { ...options, path: { id } }),
    /** The newest first, in pages: `query` takes `state`, `limit` and `before`. */
    deliveries: (id: string, options?: Omit<CallInput<'GET /v1/webhooks/{id}/deliveries'>, 'path'>) =>
      this.call('GET /v1/webhooks/{id}/deliveries', { ...options, path: { id } }),
    /** Replays all deliveries in a state, such as `{state: 'failed'}`; tells how many. */
    replayMany: (id: string, body: api.ReplayDeliveries, options?: RequestOptions) =>
      this.call('POST /v1/webhooks/{id}/deliveries/replay', { ...options, path: { id }, body }),
    replay: (id: string, deliveryId: string, options?: RequestOptions) =>
      this.call('POST /v1/webhooks/{id}/deliveries/{deliveryId}/replay', {
        ...options,
        path: { id, deliveryId },
      }),
  };

  readonly keys = {
    create: (body: api.CreateKey, options?: RequestOptions) =>
      this.call('POST /v1/keys', { ...options, body }),
    list: async (options?: RequestOptions): Promise<api.Key[]> =>
      (await this.call('GET /v1/keys', options)).keys,
    delete: (id: string, options?: RequestOptions) =>
      this.call('DELETE /v1/keys/{id}', { ...options, path: { id } }),
  };

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
  report(labels: Record<string, string>, options?: RequestOptions): Promise<api.RunReport> {
    const input = { ...options, query: labelQuery(labels) };
    return this.transport.send('GET /v1/reports/runs', input) as Promise<api.RunReport>;
  }

  /** Every message of the account as it arrives, once each, over cuts and restarts. */
  async *events(options: FollowOptions = {}): AsyncGenerator<MessageEvent> {
    const { follow } = await import('./stream.ts');
    yield* follow(this.transport, '/v1/events', options);
  }
}
