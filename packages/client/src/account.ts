import type * as api from './generated/api.ts';
import type { ListOptions, RequestOptions, Transport } from './transport.ts';
import { verify } from './webhook.ts';

/** `mayfly.keys` */
export class Keys {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The result contains `key`, which no later response shows. */
  create(body: api.CreateKey, options?: RequestOptions): Promise<api.CreatedKey> {
    return this.#transport.send('POST /v1/keys', { ...options, body }) as Promise<api.CreatedKey>;
  }

  async list(options?: RequestOptions): Promise<api.Key[]> {
    return ((await this.#transport.send('GET /v1/keys', options)) as api.KeyList).keys;
  }

  delete(id: string, options?: RequestOptions): Promise<void> {
    return this.#transport.send('DELETE /v1/keys/{id}', { ...options, path: { id } }) as Promise<void>;
  }
}

/** `mayfly.webhooks` */
export class Webhooks {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Verifies a received request; the same as `webhook.verify`. */
  readonly verify: typeof verify = verify;

  /** The result contains `secret`, which no later response shows. */
  create(body: api.CreateWebhook, options?: RequestOptions): Promise<api.WebhookWithSecret> {
    return this.#transport.send('POST /v1/webhooks', { ...options, body }) as Promise<api.WebhookWithSecret>;
  }

  /** Newest first. */
  list(options?: ListOptions): Promise<api.Webhook[]> {
    return this.#transport.list('GET /v1/webhooks', 'webhooks', options);
  }

  get(id: string, options?: RequestOptions): Promise<api.Webhook> {
    return this.#send('GET', id, '', options);
  }

  update(id: string, body: api.UpdateWebhook, options?: RequestOptions): Promise<api.Webhook> {
    return this.#send('PATCH', id, '', { ...options, body });
  }

  delete(id: string, options?: RequestOptions): Promise<void> {
    return this.#send('DELETE', id, '', options);
  }

  rotateSecret(id: string, options?: RequestOptions): Promise<api.WebhookWithSecret> {
    return this.#send('POST', id, '/rotate-secret', options);
  }

  /** Sends a test event. */
  test(id: string, options?: RequestOptions): Promise<api.WebhookDelivery> {
    return this.#send('POST', id, '/test', options);
  }

  /** Newest first. */
  deliveries(
    id: string,
    options?: ListOptions & { state?: api.WebhookDelivery['state'] },
  ): Promise<api.WebhookDelivery[]> {
    return this.#transport.list('GET /v1/webhooks/{id}/deliveries', 'deliveries', options, { id });
  }

  replay(id: string, deliveryId: string, options?: RequestOptions): Promise<api.WebhookDelivery> {
    return this.#send('POST', id, `/deliveries/${deliveryId}/replay`, options);
  }

  /** Replays all deliveries in a state, such as `{ state: 'failed' }`. @returns their number */
  async replayMany(id: string, body: api.ReplayDeliveries, options?: RequestOptions): Promise<number> {
    const input = { ...options, body };
    return (await this.#send<api.ReplayedDeliveries>('POST', id, '/deliveries/replay', input)).replayed;
  }

  #send<Result>(method: string, id: string, path: string, input?: object): Promise<Result> {
    const operation = `${method} /v1/webhooks/{id}${path}`;
    return this.#transport.send(operation, { ...input, path: { id } }) as Promise<Result>;
  }
}
