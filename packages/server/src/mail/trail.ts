import type { TimelineEvent } from '@mayfly/client/contract';

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
  at: number;
  /** For `tls`: protocol and cipher. For `authenticated`: `inbox` if an inbox's credentials were used. */
  detail?: string | undefined;
}

export type Trail = readonly TrailStep[];

const MAX_DETAIL = 120;

/** JSON without property names, to save space in every mail. */
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
