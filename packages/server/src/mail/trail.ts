/* Every mail has a trail and few are read, so it is stored as a compact text. */

/** The letter of each event in the stored form; a released letter is never changed. */
const LETTERS = {
  connected: 'c',
  /** The detail names protocol and cipher. */
  tls: 't',
  /** The detail is `inbox` if all mail of the session goes to the inbox of the credentials. */
  authenticated: 'a',
  /** A fault rule of the inbox was applied; the detail says which. */
  fault: 'f',
  'mail-from': 'm',
  /** The last recipient was accepted. */
  'rcpt-to': 'r',
  data: 'd',
  /** The whole message was received, by SMTP or HTTP. */
  'end-of-data': 'e',
  /** A request to inject the mail began. */
  injected: 'i',
  /** A recorded mail was read from an archive. */
  imported: 'j',
  parsed: 'p',
  /** SPF, DKIM and DMARC were checked. */
  'sender-checked': 's',
} as const;

export type TrailEvent = keyof typeof LETTERS;

export interface TrailStep {
  event: TrailEvent;
  /** Epoch milliseconds of this server's clock. */
  at: number;
  detail?: string | undefined;
}

/** In the order of the steps; empty if unknown. */
export type Trail = readonly TrailStep[];

/** Longer details, such as the text of a reply, are cut. */
const MAX_DETAIL = 120;
const STEP = /^([a-z])(-?[0-9a-z]+)(?: (.*))?$/s;
const EVENTS = new Map<string, TrailEvent>(
  Object.entries(LETTERS).map(([event, letter]) => [letter, event as TrailEvent]),
);

/** Such as `cmia2x1k3|m2|r1|d0|e3|p1`: a letter for each event, and milliseconds since the last one in base 36. */
export function encodeTrail(trail: Trail): string {
  let before = 0;
  const steps = trail.map(({ event, at, detail }) => {
    const step = `${LETTERS[event]}${(at - before).toString(36)}`;
    before = at;
    return detail ? `${step} ${detail.slice(0, MAX_DETAIL).replaceAll('|', '/')}` : step;
  });
  return steps.join('|');
}

/** Steps that this version does not know are left out. */
export function decodeTrail(text: string): Trail {
  let at = 0;
  return text.split('|').flatMap((step): TrailStep[] => {
    const [, letter = '', difference = '', detail] = STEP.exec(step) ?? [];
    at += Number.parseInt(difference, 36) || 0;
    const event = EVENTS.get(letter);
    return event ? [{ event, at, ...(detail !== undefined && { detail }) }] : [];
  });
}
