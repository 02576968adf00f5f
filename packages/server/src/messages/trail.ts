/*
 * The trail of a mail: when what happened to it on its way into this server. It is made while the mail comes in
 * and stored with it in a compact text, because every mail has one and few are looked at.
 */

/** The events of a trail, with the letter of each in the stored form; a released letter is never changed. */
const LETTERS = {
  /** The client's connection was accepted. */
  connected: 'c',
  /** A TLS handshake was completed; the detail names protocol and cipher. */
  tls: 't',
  /** AUTH was accepted; the detail is `inbox` where the session's mail goes to the inbox of the credentials. */
  authenticated: 'a',
  /** A fault that the inbox asks for was applied to the session; the detail says which. */
  fault: 'f',
  'mail-from': 'm',
  /** The last recipient was accepted. */
  'rcpt-to': 'r',
  data: 'd',
  /** The message was there as a whole, also one that came by HTTP. */
  'end-of-data': 'e',
  /** A request began that injects the mail. */
  injected: 'i',
  /** A recorded mail was read from an archive, and is stored again. */
  imported: 'j',
  parsed: 'p',
  /** SPF, DKIM and DMARC were checked. */
  'sender-checked': 's',
} as const;

export type TrailEvent = keyof typeof LETTERS;

/** One step of a mail on its way into this server. */
export interface TrailStep {
  event: TrailEvent;
  /** By this server's clock, epoch milliseconds. */
  at: number;
  detail?: string | undefined;
}

/** In the order in which the steps happened; empty for a mail that was stored before there were trails. */
export type Trail = readonly TrailStep[];

/** A fault names the text of a reply; longer details are cut. */
const MAX_DETAIL = 120;
const STEP = /^([a-z])(-?[0-9a-z]+)(?: (.*))?$/s;
const EVENTS = new Map<string, TrailEvent>(
  Object.entries(LETTERS).map(([event, letter]) => [letter, event as TrailEvent]),
);

/**
 * The stored form, such as `cmia2x1k3|m2|r1|d0|e3|p1`: a letter for each event and the milliseconds since the
 * step before, in base 36. About 35 bytes for a mail by SMTP.
 */
export function encodeTrail(trail: Trail): string {
  let before = 0;
  const steps = trail.map(({ event, at, detail }) => {
    const step = `${LETTERS[event]}${(at - before).toString(36)}`;
    before = at;
    return detail ? `${step} ${detail.slice(0, MAX_DETAIL).replaceAll('|', '/')}` : step;
  });
  return steps.join('|');
}

/** The trail of a stored form; steps that this version does not know are left out. */
export function decodeTrail(text: string): Trail {
  let at = 0;
  return text.split('|').flatMap((step): TrailStep[] => {
    const [, letter = '', difference = '', detail] = STEP.exec(step) ?? [];
    at += Number.parseInt(difference, 36) || 0;
    const event = EVENTS.get(letter);
    return event ? [{ event, at, ...(detail !== undefined && { detail }) }] : [];
  });
}
