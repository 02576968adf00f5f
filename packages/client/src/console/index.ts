/**
 * `@mayfly/client/console`: the part of the client that the web console of this repository uses. It leaves
 * out waits and the classes for inboxes, messages and webhooks, which would be a tenth of the console's first
 * download. Not part of the published package.
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

  /** Messages as they arrive in an inbox, or in all inboxes if `inboxId` is undefined. */
  stream(inboxId: string | undefined, options: StreamOptions): AsyncGenerator<MessageEvent> {
    return follow(this.#transport, inboxId ? `/v1/inboxes/${inboxId}/events` : '/v1/events', options);
  }
}
