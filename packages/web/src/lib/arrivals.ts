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

export function publish(arrivals: Arrival[]): void {
  for (const listener of listeners) listener(arrivals);
}
