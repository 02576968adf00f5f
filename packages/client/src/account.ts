/** What belongs to the account and not to one inbox. Loaded by the first call of it; tests rarely use it. */
import type * as api from './generated/api.ts';
import { Inbox } from './inbox.ts';
import type { ListOptions, Mayfly } from './mayfly.ts';
import { pages } from './pages.ts';
import type { FollowOptions, MessageEvent } from './since.ts';
import { follow } from './stream.ts';
import type { CallInput, RequestOptions } from './transport.ts';

const labelQuery = (labels: Record<string, string> = {}) =>
  Object.fromEntries(Object.entries(labels).map(([name, value]) => [`label.${name}`, value]));

/** See {@link Mayfly.events}. */
export const events = ({ transport }: Mayfly, options: FollowOptions): AsyncGenerator<MessageEvent> =>
  follow(transport, '/v1/events', options);

/** See `mayfly.inboxes.list`. */
export async function* listInboxes(
  { transport }: Mayfly,
  { labels, address, ...options }: ListOptions = {},
): AsyncGenerator<Inbox> {
  const query = { address, ...labelQuery(labels) };
  for await (const data of pages<api.Inbox>(transport, 'GET /v1/inboxes', 'inboxes', options, query))
    yield new Inbox(transport, data);
}

/** See `mayfly.inboxes.deleteByLabels`. */
export const deleteByLabels = async (
  mayfly: Mayfly,
  labels: Record<string, string>,
  options?: RequestOptions,
): Promise<number> =>
  (await mayfly.call('DELETE /v1/inboxes', { ...options, query: labelQuery(labels) })).deleted;

/** See {@link Mayfly.report}. */
export const report = async (
  { transport }: Mayfly,
  labels: Record<string, string>,
  options?: RequestOptions,
): Promise<api.RunReport> =>
  (await transport.send('GET /v1/reports/runs', { ...options, query: labelQuery(labels) })) as api.RunReport;

export class Addresses {
  readonly #mayfly: Mayfly;

  constructor(mayfly: Mayfly) {
    this.#mayfly = mayfly;
  }

  generate({ domain, ...options }: api.GenerateAddress & RequestOptions = {}): Promise<api.GeneratedAddress> {
    const body = domain === undefined ? {} : { domain };
    return this.#mayfly.call('POST /v1/addresses/generate', { ...options, body });
  }
}

export class Keys {
  readonly #mayfly: Mayfly;

  constructor(mayfly: Mayfly) {
    this.#mayfly = mayfly;
  }

  create(body: api.CreateKey, options?: RequestOptions): Promise<api.CreatedKey> {
    return this.#mayfly.call('POST /v1/keys', { ...options, body });
  }

  async list(options?: RequestOptions): Promise<api.Key[]> {
    return (await this.#mayfly.call('GET /v1/keys', options)).keys;
  }

  delete(id: string, options?: RequestOptions): Promise<undefined> {
    return this.#mayfly.call('DELETE /v1/keys/{id}', { ...options, path: { id } });
  }
}

export class Webhooks {
  readonly #mayfly: Mayfly;

  constructor(mayfly: Mayfly) {
    this.#mayfly = mayfly;
  }

  create(body: api.CreateWebhook, options?: RequestOptions) {
    return this.#mayfly.call('POST /v1/webhooks', { ...options, body });
  }

  list(options?: RequestOptions) {
    return this.#mayfly.call('GET /v1/webhooks', options);
  }

  get(id: string, options?: RequestOptions) {
    return this.#mayfly.call('GET /v1/webhooks/{id}', { ...options, path: { id } });
  }

  update(id: string, body: api.UpdateWebhook, options?: RequestOptions) {
    return this.#mayfly.call('PATCH /v1/webhooks/{id}', { ...options, path: { id }, body });
  }

  delete(id: string, options?: RequestOptions) {
    return this.#mayfly.call('DELETE /v1/webhooks/{id}', { ...options, path: { id } });
  }

  rotateSecret(id: string, options?: RequestOptions) {
    return this.#mayfly.call('POST /v1/webhooks/{id}/rotate-secret', { ...options, path: { id } });
  }

  test(id: string, options?: RequestOptions) {
    return this.#mayfly.call('POST /v1/webhooks/{id}/test', { ...options, path: { id } });
  }

  /** The newest first, in pages: `query` takes `state`, `limit` and `before`. */
  deliveries(id: string, options?: Omit<CallInput<'GET /v1/webhooks/{id}/deliveries'>, 'path'>) {
    return this.#mayfly.call('GET /v1/webhooks/{id}/deliveries', { ...options, path: { id } });
  }

  /** Replays all deliveries in a state, such as `{state: 'failed'}`; tells how many. */
  replayMany(id: string, body: api.ReplayDeliveries, options?: RequestOptions) {
    const input = { ...options, path: { id }, body };
    return this.#mayfly.call('POST /v1/webhooks/{id}/deliveries/replay', input);
  }

  replay(id: string, deliveryId: string, options?: RequestOptions) {
    const input = { ...options, path: { id, deliveryId } };
    return this.#mayfly.call('POST /v1/webhooks/{id}/deliveries/{deliveryId}/replay', input);
  }
}
