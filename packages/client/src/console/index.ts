/**
 * `@mayfly/client/console`: what the web console of this repository uses of the client. Waits and the methods of
 * inboxes, mails and webhooks would be a tenth of its first screen; it is not part of the published package.
 */
import type * as api from '../generated/api.ts';
import { follow, type MessageEvent, type StreamOptions } from '../stream.ts';
import { type CallArguments, type MayflyOptions, Transport } from '../transport.ts';

export { ApiError, ConnectionError } from '../errors.ts';

export class Operations {
  readonly #transport: Transport;

  constructor(options: MayflyOptions) {
    this.#transport = new Transport(options);
  }

  /** As `mayfly.call()`. */
  call<Name extends keyof api.Operations>(
    operation: Name,
    ...[input]: CallArguments<Name>
  ): Promise<api.Operations[Name]['result']> {
    return this.#transport.send(operation, input) as Promise<api.Operations[Name]['result']>;
  }

  /** Messages as they arrive in an inbox, or in all without one. */
  stream(inboxId: string | undefined, options: StreamOptions): AsyncGenerator<MessageEvent> {
    return follow(this.#transport, inboxId ? `/v1/inboxes/${inboxId}/events` : '/v1/events', options);
  }
}
