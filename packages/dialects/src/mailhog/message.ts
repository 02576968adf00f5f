import type { api } from '@mayfly/client';
import { idOf } from '../mailbox.ts';
import { headersIn } from '../source.ts';

// MailHog's JSON of a message: the source, split into headers and parts, without decoding.

/** Nesting level up to which parts are split; deeper parts stay in the body of their parent. */
const MAX_DEPTH = 20;
/** Limit of parts that are split in one message. */
const MAX_PARTS = 1_000;

interface Part {
  Headers: Record<string, string[]>;
  Body: string;
  Size: number;
  MIME: { Parts: Part[] } | null;
}

/** @param address of the envelope; '' for the null reverse-path */
function pathOf(address: string) {
  const at = address.lastIndexOf('@');
  const [mailbox, domain] = at < 0 ? [address, ''] : [address.slice(0, at), address.slice(at + 1)];
  return { Relays: null, Mailbox: mailbox, Domain: domain, Params: '' };
}

/** The first field with a name in lower case; '' without one. */
export const fieldOf = (headers: Record<string, string[]>, name: string): string =>
  Object.entries(headers).find(([given]) => given.toLowerCase() === name)?.[1][0] ?? '';

/**
 * Splits a source into its header and body, and a multipart body into its parts (RFC 2046 section 5.1).
 * @param left how many more parts may be split
 */
function split(source: string, left: { parts: number }, depth = 0): Part {
  const end = /\r?\n\r?\n/.exec(source);
  const body = end ? source.slice(end.index + end[0].length) : source;
  const headers = end ? headersIn(source) : {};
  const Size = Buffer.byteLength(source);
  const [, quoted, plain] = /boundary=(?:"([^"]*)"|([^\s;]+))/i.exec(fieldOf(headers, 'content-type')) ?? [];
  const boundary = quoted ?? plain;
  const isSplit = boundary && depth < MAX_DEPTH && /^multipart\//i.test(fieldOf(headers, 'content-type'));
  if (!isSplit) return { Headers: headers, Body: body, Size, MIME: null };
  // MailHog shows the "--" after the last part as another part.
  const [preamble = '', ...pieces] = `\r\n${body}`.split(`\n--${boundary}`);
  const parts: Part[] = [];
  for (const piece of preamble.trim() === '' ? pieces : [preamble, ...pieces]) {
    if (left.parts-- <= 0) break;
    parts.push(split(piece.replaceAll(/^[\r\n]+|[\r\n]+$/g, ''), left, depth + 1));
  }
  return { Headers: headers, Body: body, Size, MIME: { Parts: parts } };
}

/** A message in the format of MailHog's API. @param raw its source */
export function mailHogMessage({ envelope, receivedAt, ...message }: api.Message, raw: Buffer) {
  // The last line ending belongs to the final dot of SMTP.
  const source = raw.toString('utf8').replace(/\r?\n$/, '');
  const { MIME, ...content } = split(source, { parts: MAX_PARTS });
  const ID = idOf(message as api.Message);
  // MailHog adds these fields when it receives a mail.
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

/** All parts in the order of the source, which numbers them. */
export const partsOf = ({ MIME }: ReturnType<typeof mailHogMessage>): readonly Part[] => MIME?.Parts ?? [];
