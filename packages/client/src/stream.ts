import { ApiError } from './errors.ts';
import type { MessageSummary } from './generated/api.ts';
import { sleep } from './time.ts';
import { pauseBefore, type Transport } from './transport.ts';

/** A new message, from a stream. */
export interface MessageEvent {
  /** Position of the event: pass it as `since` to continue after it. */
  id: string;
  inboxId: string;
  message: MessageSummary;
}

export interface FollowOptions {
  /** A cursor, the id of an event, or a time. Default: the oldest message that exists. */
  since?: string | Date | undefined;
  signal?: AbortSignal | undefined;
  /** Called with true when the stream is open, and with false when it is cut and will be resumed. */
  onConnection?: ((isOpen: boolean) => void) | undefined;
}

/** The server writes a line every 15 seconds; a silence this long is a dead connection. */
const SILENCE_MS = 40_000;

export const toSince = (since: string | Date | undefined) =>
  since instanceof Date ? since.toISOString() : since;

/**
 * Every event once, over cuts and restarts: each new connection continues after the last complete event.
 * @param path of the stream, with its id filled in
 * @throws ApiError when the stream cannot continue (the inbox ended, the credential was revoked)
 */
export async function* follow(
  transport: Transport,
  path: string,
  options: FollowOptions,
): AsyncGenerator<MessageEvent> {
  const { signal, onConnection } = options;
  let last: string | undefined;
  for (let failures = 0; ; ) {
    const controller = new AbortController();
    const abort = () => controller.abort(signal?.reason);
    signal?.addEventListener('abort', abort, { once: true });
    let timer: ReturnType<typeof setTimeout> | undefined;
    const keepAlive = () => {
      clearTimeout(timer);
      timer = setTimeout(abort, SILENCE_MS);
    };
    try {
      signal?.throwIfAborted();
      keepAlive();
      const response = await transport.open(
        `GET ${path}`,
        { query: { since: toSince(options.since) }, ...(last && { headers: { 'last-event-id': last } }) },
        controller.signal,
      );
      onConnection?.(true);
      failures = 0;
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
      let text = '';
      for (;;) {
        const { value, done } = (await reader?.read()) ?? { done: true };
        if (done) break;
        keepAlive();
        const blocks = (text + value).split('\n\n');
        // An incomplete block; its id must not be used yet.
        text = blocks.pop() ?? '';
        for (const block of blocks) {
          last = /^id: (.*)$/m.exec(block)?.[1] ?? last;
          const data = /^data: (.*)$/m.exec(block)?.[1];
          if (data) yield { id: last ?? '', ...JSON.parse(data) };
        }
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof ApiError && pauseBefore(error, 1) === undefined) throw error;
    } finally {
      // Also when the caller leaves its loop.
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
      controller.abort();
    }
    onConnection?.(false);
    await sleep(pauseBefore(undefined, ++failures) ?? 0, signal);
  }
}
