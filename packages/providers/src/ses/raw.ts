import { bytesOf } from '../given.ts';
import { refuse } from './errors.ts';

interface Field {
  name: string;
  /** Unfolded. */
  value: string;
  /** As it is in the mail. */
  source: string;
}

/** A mail that the application made: its header fields, and its body with the blank line. */
export interface Raw {
  fields: readonly Field[];
  body: Buffer;
}

const BLANK_LINE = '\r\n\r\n';
/** A field with its continuation lines. */
const FIELD = /^([!-9;-~]+)[ \t]*:(.*(?:\r\n[ \t].*)*)(?:\r\n|$)/gm;
/** Header fields are searched with expressions; more is no mail of an application. */
const MAX_HEADER_BYTES = 256 * 1024;

/** @throws NamedRefusal for what is not in base64, and for a header that is too large */
export function readRaw(base64: unknown): Raw {
  const given = typeof base64 === 'string' ? bytesOf(base64) : undefined;
  if (!given?.length) throw refuse('InvalidParameterValue', 'The raw message must be given in base64.');
  const mail = withCrLf(given);
  const end = mail.indexOf(BLANK_LINE);
  const header = end < 0 ? mail : mail.subarray(0, end);
  if (header.length > MAX_HEADER_BYTES)
    throw refuse('InvalidParameterValue', 'The header of the message is too large.');
  const fields = [...header.toString().matchAll(FIELD)].map(([source, name = '', value = '']) => ({
    ...{ name, source: source.endsWith('\r\n') ? source : `${source}\r\n` },
    value: value.replaceAll('\r\n', '').trim(),
  }));
  return { fields, body: end < 0 ? Buffer.from('\r\n') : mail.subarray(end + 2) };
}

const [LF, CR] = [0x0a, 0x0d];

/** Byte by byte, since replacing in a string takes seconds for a mail of 20 MB. */
function withCrLf(mail: Buffer): Buffer {
  const isBare = (at: number): boolean => mail[at] === LF && mail[at - 1] !== CR;
  let bare = 0;
  for (let at = 0; at < mail.length; at++) if (isBare(at)) bare++;
  if (bare === 0) return mail;
  const made = Buffer.alloc(mail.length + bare);
  for (let at = 0, to = 0; at < mail.length; at++) {
    if (isBare(at)) made[to++] = CR;
    made[to++] = mail[at] ?? 0;
  }
  return made;
}

/** @param name in lower case */
export const valuesOf = ({ fields }: Raw, name: string): string[] =>
  fields.filter((field) => field.name.toLowerCase() === name).map(({ value }) => value);

/** Fields that SES replaces or keeps to itself. */
const REPLACED = /^(?:bcc|message-id|date|x-ses-.*)$/i;

/** The mail as SES sends it on. */
export function written({ fields, body }: Raw, messageId: string, now: number): Buffer {
  const date = new Date(now).toUTCString().replace('GMT', '+0000');
  const kept = fields.filter(({ name }) => !REPLACED.test(name)).map(({ source }) => source);
  return Buffer.concat([Buffer.from(`${kept.join('')}Date: ${date}\r\nMessage-ID: ${messageId}\r\n`), body]);
}
