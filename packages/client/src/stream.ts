import { ApiError } from './errors.ts';
import type { MessageSummary } from './generated/api.ts';
import { clearTimeout, setTimeout, sleep } from './time.ts';
import { type AnyInput, pauseBefore, type Transport } from './transport.ts';

/** After this long without data the connection is dead: the server sends a line every 15 seconds. */
const SILENCE_MS = 40_000;

/** A new message of the account. */
export interface MessageEvent<Item = MessageSummary> {
  /** Position of the event: pass it as `since` to continue after it. */
  id: string;
  inboxId: string;
  message: Item;
}

export interface StreamOptions {
  /** A cursor, the id of an event, or a time. Default: the oldest message that exists. */
  since?: string | Date | undefined;
  signal?: AbortSignal | undefined;
  /** Called with true when the stream opens, and with false when it is interrupted and will be resumed. */
  onConnection?: ((isOpen: boolean) => void) | undefined;
}

/** A position in the format of the API. */
export const toSince = (since: string | Date | undefined) =>
  since instanceof Date ? since.toISOString() : since;

/** A server-sent event, with the fields that this library uses. */
interface Block {
  id: string | undefined;
  data: string | undefined;
}

/** Parses the events of one response. An incomplete event at its end is dropped, with its id. */
async function* blocksOf(response: Response, onChunk: () => void): AsyncGenerator<Block> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = ''; ; ) {
    const { value, done } = (await reader?.read()) ?? { done: true };
    if (done) return;
    onChunk();
    const blocks = (text + value).split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      yield { id: /^id: (.*)$/m.exec(block)?.[1], data: /^data: (.*)$/m.exec(block)?.[1] };
    }
  }
}

/**
 * Reads one connection until the server closes it, it is silent for too long, or the caller leaves the loop.
 */
async function* connect(
  transport: Transport,
  path: string,
  input: AnyInput,
  onOpen: () => void,
): AsyncGenerator<Block> {
  const { signal } = input;
  const controller = new AbortController();
  const abort = () => controller.abort(signal?.reason);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const keepAlive = () => {
    clearTimeout(timer);
    timer = setTimeout(abort, SILENCE_MS);
  };
  signal?.addEventListener('abort', abort, { once: true });
  try {
    signal?.throwIfAborted();
    keepAlive();
    const response = await transport.open(`GET ${path}`, input, controller.signal);
    onOpen();
    yield* blocksOf(response, keepAlive);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
    controller.abort();
  }
}

/** An error that a retry would repeat. */
const isRefusal = (error: unknown) =>
  error instanceof ApiError && pauseBefore(error, 1) === Number.POSITIVE_INFINITY;

/**
 * Yields every event once and reconnects after interruptions, continuing after the last complete event.
 * @param path path of the stream, with its id filled in
 * @throws ApiError when the stream cannot continue (the inbox ended, the credential was revoked)
 */
export async function* follow(
  transport: Transport,
  path: string,
  { since, signal, onConnection }: StreamOptions,
): AsyncGenerator<MessageEvent> {
  let last: string | undefined;
  for (let failures = 0; ; ) {
    const input = {
      query: { since: toSince(since) },
      ...(last && { headers: { 'last-event-id': last } }),
      signal,
    };
    const onOpen = () => {
      failures = 0;
      onConnection?.(true);
    };
    try {
      for await (const { id, data } of connect(transport, path, input, onOpen)) {
        last = id ?? last;
        if (data) yield { id: last ?? '', ...JSON.parse(data) };
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (isRefusal(error)) throw error;
    }
    onConnection?.(false);
    await sleep(pauseBefore(undefined, ++failures), signal);
  }
}
