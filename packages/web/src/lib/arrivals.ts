import type { api } from '@mayfly/client';
import { signal } from '@preact/signals';

/** Distributes new mail to the components that show it. The stream is in live.ts. */
export interface Arrival {
  inboxId: string;
  message: api.MessageSummary;
}

/** Incremented whenever the stream opens: lists then fetch what they missed. */
export const openings = signal(0);

const listeners = new Set<(arrivals: Arrival[]) => void>();

/** Calls the listener with new mail. @returns a function that unsubscribes */
export function onArrivals(listener: (arrivals: Arrival[]) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** @param more true if there are further mails, which are not in the list */
type News = (arrivals: readonly Arrival[], more: boolean) => void;

const tellers = new Set<News>();

/** Calls the listener with new mail for the title and notifications, even while the page is hidden. */
export const onNews = (listener: News): unknown => tellers.add(listener);

/** Ids of mails that were announced while the page was hidden, and that the stream delivers later. */
const told = new Set<string>();
/** Ids that are kept; above, the count is shown as “9+” anyway. */
const MAX_TOLD = 100;

/** Announces mail that lists do not have yet. */
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
