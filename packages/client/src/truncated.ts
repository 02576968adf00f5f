/** Messages that were too large for the result of a wait. Loaded by the first wait that has one. */
import type * as api from './generated/api.ts';
import type { Transport } from './transport.ts';

/** Milliseconds to read one of them. */
const READ_MS = 30_000;

/** The same messages, all in full. @throws ApiError, ConnectionError */
export async function inFull(
  transport: Transport,
  inboxId: string,
  messages: api.Message[],
  signal: AbortSignal | undefined,
): Promise<api.Message[]> {
  const full: api.Message[] = [];
  for (const message of messages) {
    const input = { path: { id: inboxId, messageId: message.id }, signal, timeoutMs: READ_MS };
    const read = () => transport.send('GET /v1/inboxes/{id}/messages/{messageId}', input);
    full.push(message.truncated ? ((await read()) as api.Message) : message);
  }
  return full;
}
