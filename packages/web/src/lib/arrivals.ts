import type { api } from '@mayfly/client';
import { signal } from '@preact/signals';

/** New mail, as those parts of the page get it that show it. The stream is in live.ts. */
export interface Arrival {
  inboxId: string;
  message: api.MessageSummary;
}

/** Grows with every opening of the stream: lists then ask for what they missed. */
export const openings = signal(0);

const listeners = new Set<(arrivals: Arrival[]) => void>();

/** Calls the listener with new mail. @returns a function that ends it */
export function onArrivals(listener: (arrivals: Arrival[]) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** @param more true if there were others, which are not shown */
type News = (arrivals: readonly Arrival[], more: boolean) => void;

const tellers = new Set<News>();

/** Calls the listener with new mail that the title and notes tell of, also while the page is hidden. */
export const onNews = (listener: News): unknown => tellers.add(listener);

/** Of mail that was told while the page was hidden, and comes by the stream later. */
const told = new Set<string>();
/** Beyond, the count is only “9+”. */
const MAX_TOLD = 100;

/** Tells of mail that lists do not have yet. */
export function tell(arrivals: readonly Arrival[], more: boolean): void {
  const fresh = arrivals.filter(({ message }) => !told.has(message.id));
  if (told.size > MAX_TOLD) told.clear();
  for (const { message } of fresh) told.add(message.id);
  for (const teller of tellers) teller(fresh, more);
}

export function publish(arrivals: Arrival[]): void {
  for (const listener of listeners) listener(arrivals);
  tell(arrivals, false);
}
