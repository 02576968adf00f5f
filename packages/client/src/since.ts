import type { MessageSummary } from './generated/api.ts';

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

/** A position as the API takes it. */
export const toSince = (since: string | Date | undefined) =>
  since instanceof Date ? since.toISOString() : since;
