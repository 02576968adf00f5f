import type { api } from '@mayfly/client';
import { idOf } from '../mailbox.ts';
import { headersIn } from '../source.ts';

// MailHog's JSON of a message: the source, split by its header and its parts, with nothing decoded.

/** Deeper parts stay in the body of the one around them. */
const MAX_DEPTH = 20;
/** So many parts of one message are split. */
const MAX_PARTS = 1_000;

interface Part {
  Headers: Record<string, string[]>;
  Body: string;
  Size: number;
  MIME: { Parts: Part[] } | null;
}

/** @param address of the envelope; '' of a bounce */
function pathOf(address: string) {
  const at = address.lastIndexOf('@');
  const [mailbox, domain] = at < 0 ? [address, ''] : [address.slice(0, at), address.slice(at + 1)];
  return { Relays: null, Mailbox: mailbox, Domain: domain, Params: '' };
}

/** The first field with a name in lower case; '' without one. */
export const fieldOf = (headers: Record<string, string[]>, name: string): string =>
  Object.entries(headers).find(([given]) => given.toLowerCase() === name)?.[1][0] ?? '';

/** Splits a source, and its parts where it is multipart (RFC 2046 section 5.1). @param left how many parts may still be split */
function split(source: string, left: { parts: number }, depth = 0): Part {
  const end = /\r?\n\r?\n/.exec(source);
  const body = end ? source.slice(end.index + end[0].length) : source;
  const headers = end ? headersIn(source) : {};
  const Size = Buffer.byteLength(source);
  const [, quoted, plain] = /boundary=(?:"([^"]*)"|([^\s;]+))/i.exec(fieldOf(headers, 'content-type')) ?? [];
  const boundary = quoted ?? plain;
  const isSplit = boundary && depth < MAX_DEPTH && /^multipart\//i.test(fieldOf(headers, 'content-type'));
  if (!isSplit) return { Headers: headers, Body: body, Size, MIME: null };
  // There, the "--" after the last part is a part, too.
  const [preamble = '', ...pieces] = `\r\n${body}`.split(`\n--${boundary}`);
  const parts: Part[] = [];
  for (const piece of preamble.trim() === '' ? pieces : [preamble, ...pieces]) {
    if (left.parts-- <= 0) break;
    parts.push(split(piece.replaceAll(/^[\r\n]+|[\r\n]+$/g, ''), left, depth + 1));
  }
  return { Headers: headers, Body: body, Size, MIME: { Parts: parts } };
}

/** A message as MailHog's API has it. @param raw its source */
export function mailHogMessage({ envelope, receivedAt, ...message }: api.Message, raw: Buffer) {
  // The line end before the final dot of SMTP belongs to the dot.
  const source = raw.toString('utf8').replace(/\r?\n$/, '');
  const { MIME, ...content } = split(source, { parts: MAX_PARTS });
  const ID = idOf(message as api.Message);
  // What that program adds when it receives a mail.
  content.Headers['Return-Path'] = [`<${envelope.mailFrom}>`];
  if (fieldOf(content.Headers, 'message-id') === '') content.Headers['Message-ID'] = [ID];
  return {
    ID,
    From: pathOf(envelope.mailFrom),
    To: envelope.rcptTo.map(pathOf),
    Content: { ...content, MIME: null },
    Created: receivedAt,
    MIME,
    Raw: { From: envelope.mailFrom, To: envelope.rcptTo, Data: source, Helo: envelope.helo },
  };
}

/** The parts in the order of the source, for their numbers. */
export const partsOf = ({ MIME }: ReturnType<typeof mailHogMessage>): readonly Part[] => MIME?.Parts ?? [];
