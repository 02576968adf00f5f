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
  /**
   * For `tls`: protocol and cipher. For `authenticated`: `inbox` if all mail of the session goes to the inbox
   * of the credentials.
   */
  detail?: string | undefined;
}

/** In the order of the steps; empty if unknown. */
export type Trail = readonly TrailStep[];

/** Longer details, such as the text of a reply, are cut; characters. */
const MAX_DETAIL = 120;

/** Encodes a trail as JSON without property names, to save space in every mail. */
export const encodeTrail = (trail: Trail): string =>
  JSON.stringify(
    trail.map(({ event, at, detail }) => [event, at, ...(detail ? [detail.slice(0, MAX_DETAIL)] : [])]),
  );

/** Decodes a trail; empty for damaged text. */
export function decodeTrail(text: string): Trail {
  try {
    const steps: [TrailEvent, number, string?][] = JSON.parse(text);
    return steps.map(([event, at, detail]) => ({ event, at, ...(detail !== undefined && { detail }) }));
  } catch {
    return [];
  }
}
