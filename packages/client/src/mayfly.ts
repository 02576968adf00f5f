import { Keys, Webhooks } from './account.ts';
import type * as api from './generated/api.ts';
import { Inbox } from './inbox.ts';
import { MessageSummary } from './message.ts';
import { follow, type MessageEvent, type StreamOptions, toSince } from './stream.ts';
import {
  type CallArguments,
  type ListOptions,
  type MayflyOptions,
  type RequestOptions,
  splitOptions,
  Transport,
} from './transport.ts';

export interface CreateOptions extends api.CreateInbox, RequestOptions {
  /** Default: a random key, so that a retried request creates no second inbox. */
  idempotencyKey?: string;
}

type Labels = Record<string, string>;
type QueryOf<Name extends 'GET /v1/messages' | 'POST /v1/inboxes/import'> = NonNullable<
  api.Operations[Name]['query']
>;
type Since = { since?: string | Date | undefined };

export type InboxQuery = ListOptions & { labels?: Labels; address?: string };
export type ImportOptions = RequestOptions & QueryOf<'POST /v1/inboxes/import'>;
export type RefusalQuery = ListOptions & Since & { address?: string };
type Paging = 'q' | 'since' | 'before' | 'limit' | 'wait';
/** Filters of a search, besides its words. Without `limit`, the newest 50 messages. */
export type SearchQuery = ListOptions & Since & Omit<QueryOf<'GET /v1/messages'>, Paging>;

const DEFAULT_FOUND = 50;
/** The largest number that the server returns. */
const MAX_LABELS = 200;

const labelQuery = (labels: Labels = {}) =>
  Object.fromEntries(Object.entries(labels).map(([name, value]) => [`label.${name}`, value]));

/** Client of one server with one credential. */
export class Mayfly {
  /** For subclasses of {@link Inbox}. */
  readonly transport: Transport;
  readonly webhooks: Webhooks;
  readonly keys: Keys;

  /**
   * @throws MayflyError `no_credential` without an API key in the options and the environment, unless the
   * server is on this machine
   */
  constructor(options: MayflyOptions = {}) {
    this.transport = new Transport(options);
    this.webhooks = new Webhooks(this.transport);
    this.keys = new Keys(this.transport);
  }

  get url(): string {
    return this.transport.url;
  }

  async createInbox({ idempotencyKey, ...given }: CreateOptions = {}): Promise<Inbox> {
    const [options, body] = splitOptions(given);
    // Not randomUUID(), which pages without TLS and jsdom lack.
    const key = idempotencyKey ?? crypto.getRandomValues(new Uint32Array(4)).join('-');
    const headers = { ...options.headers, 'idempotency-key': key };
    return new Inbox(this.transport, await this.call('POST /v1/inboxes', { ...options, headers, body }));
  }

  async getInbox(id: string, options?: RequestOptions): Promise<Inbox> {
    return new Inbox(this.transport, await this.call('GET /v1/inboxes/{id}', { ...options, path: { id } }));
  }

  /** An inbox by its id and read token. Makes no request. */
  inbox(id: string, token?: string): Inbox {
    return new Inbox(token ? this.transport.as(token) : this.transport, { id, token });
  }

  /** The live inboxes, newest first. */
  async inboxes({ labels, ...query }: InboxQuery = {}): Promise<Inbox[]> {
    const wanted = { ...query, ...labelQuery(labels) };
    const items = await this.transport.list<api.Inbox>('GET /v1/inboxes', 'inboxes', wanted);
    return items.map((data) => new Inbox(this.transport, data));
  }

  /** Deletes all inboxes with these labels. @returns how many */
  async deleteInboxes(labels: Labels, options?: RequestOptions): Promise<number> {
    return (await this.call('DELETE /v1/inboxes', { ...options, query: labelQuery(labels) })).deleted;
  }

  /** A new inbox with the messages of a recording. @param recording of `inbox.export()` */
  async importInbox(recording: Uint8Array, given: ImportOptions = {}): Promise<Inbox> {
    const [options, query] = splitOptions(given);
    const input = { ...options, query, body: recording };
    return new Inbox(this.transport, await this.call('POST /v1/inboxes/import', input));
  }

  /** Messages of all inboxes and the sink, newest first. @param q words, or the search language of docs/reading.md */
  async search(
    q?: string,
    { since, limit = DEFAULT_FOUND, ...query }: SearchQuery = {},
  ): Promise<MessageSummary[]> {
    const wanted = { ...query, q, limit, since: toSince(since) };
    const items = await this.transport.list<api.MessageSummary>('GET /v1/messages', 'messages', wanted);
    return items.map((fields) => new MessageSummary(this.transport, fields));
  }

  /**
   * Yields each message of the account once as it arrives. Reconnects after interruptions; never ends by
   * itself.
   */
  async *stream(options: StreamOptions = {}): AsyncGenerator<MessageEvent<MessageSummary>> {
    for await (const event of follow(this.transport, '/v1/events', options))
      yield { ...event, message: new MessageSummary(this.transport, event.message) };
  }

  /** Mail that was rejected over SMTP, newest first. */
  async refusals({ since, ...given }: RefusalQuery = {}): Promise<api.RefusedMail[]> {
    const [options, query] = splitOptions(given);
    const input = { ...options, query: { ...query, since: toSince(since) } };
    return ((await this.transport.send('GET /v1/refusals', input)) as api.RefusalList).refusals;
  }

  /**
   * The messages, waits and rejections of a test run: of all inboxes with these labels, up to 24 hours after
   * their end.
   * @param labels at least one
   */
  report(labels: Labels, options?: RequestOptions): Promise<api.RunReport> {
    return this.call('GET /v1/reports/runs', { ...options, query: labelQuery(labels) });
  }

  /**
   * The newest labels of live inboxes, with the number of inboxes that have each.
   * @param name only labels with this name
   */
  async labels(name?: string, { limit = MAX_LABELS, ...options }: ListOptions = {}): Promise<api.Label[]> {
    const query = { ...(name !== undefined && { name }), limit };
    return (await this.call('GET /v1/labels', { ...options, query })).labels;
  }

  /** A free address, reserved for ten minutes. */
  generateAddress(given: api.GenerateAddress & RequestOptions = {}): Promise<api.GeneratedAddress> {
    const [options, body] = splitOptions(given);
    return this.call('POST /v1/addresses/generate', { ...options, body });
  }

  /** Sets the URLs that receive the events and replies of a provider. A URL that is not given is removed. */
  setProvider(
    name: api.ProviderSettings['name'],
    given: api.SetProvider & RequestOptions,
  ): Promise<api.ProviderSettings> {
    const [options, body] = splitOptions(given);
    return this.call('PUT /v1/providers/{name}', { ...options, path: { name }, body });
  }

  provider(name: api.ProviderSettings['name'], options?: RequestOptions): Promise<api.ProviderSettings> {
    return this.call('GET /v1/providers/{name}', { ...options, path: { name } });
  }

  deleteProvider(name: api.ProviderSettings['name'], options?: RequestOptions): Promise<void> {
    return this.call('DELETE /v1/providers/{name}', { ...options, path: { name } });
  }

  usage(options?: RequestOptions): Promise<api.Usage> {
    return this.call('GET /v1/usage', options);
  }

  async domains(options?: RequestOptions): Promise<api.ServedDomain[]> {
    return (await this.call('GET /v1/domains', options)).domains;
  }

  /**
   * Calls any operation of the API except streams, by the method and path of the OpenAPI document:
   * `mayfly.call('GET /v1/webhooks/{id}', { path: { id } })`.
   * @throws ApiError, ConnectionError
   */
  call<Name extends keyof api.Operations>(
    operation: Name,
    ...[input]: CallArguments<Name>
  ): Promise<api.Operations[Name]['result']> {
    return this.transport.send(operation, input) as Promise<api.Operations[Name]['result']>;
  }
}
