import type { TimelineEvent } from '@mayfly/client/contract';

/** Timeline events that are stored with a mail; the API contract describes them. */
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
  /** For `tls`: protocol and cipher. For `authenticated`: `inbox` if the credentials are those of an inbox. */
  detail?: string | undefined;
}

export type Trail = readonly TrailStep[];

const MAX_DETAIL = 120;

/** Encodes a trail as JSON without property names, to save space in every mail. */
export const encodeTrail = (trail: Trail): string =>
  JSON.stringify(
    trail.map(({ event, at, detail }) => [event, at, ...(detail ? [detail.slice(0, MAX_DETAIL)] : [])]),
  );

export function decodeTrail(text: string): Trail {
  try {
    const steps: [TrailEvent, number, string?][] = JSON.parse(text);
    return steps.map(([event, at, detail]) => ({ event, at, ...(detail !== undefined && { detail }) }));
  } catch {
    return [];
  }
}
