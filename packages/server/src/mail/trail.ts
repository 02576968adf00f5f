import type { TimelineEvent } from '@mayfly/client/contract';

/** The events of a timeline that are stored with the mail; the contract says what they mean. */
export type TrailEvent = Exclude<
  TimelineEvent['event'],
  | 'date-header'
  | 'received-header'
  | 'earlier-attempt'
  | 'committed'
  | 'replied'
  | 'webhook-attempt'
  | 'sent-back'
>;

export interface TrailStep {
  event: TrailEvent;
  /** Epoch milliseconds of this server's clock. */
  at: number;
  /** Of `tls`: protocol and cipher; of `authenticated`: `inbox` if all mail of the session goes to that of the credentials. */
  detail?: string | undefined;
}

/** In the order of the steps; empty if unknown. */
export type Trail = readonly TrailStep[];

/** Longer details, such as the text of a reply, are cut. */
const MAX_DETAIL = 120;

/** As JSON without names, because every mail has a trail. */
export const encodeTrail = (trail: Trail): string =>
  JSON.stringify(
    trail.map(({ event, at, detail }) => [event, at, ...(detail ? [detail.slice(0, MAX_DETAIL)] : [])]),
  );

/** Of a damaged text, none. */
export function decodeTrail(text: string): Trail {
  try {
    const steps: [TrailEvent, number, string?][] = JSON.parse(text);
    return steps.map(([event, at, detail]) => ({ event, at, ...(detail !== undefined && { detail }) }));
  } catch {
    return [];
  }
}
