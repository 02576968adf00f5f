import { bytesOf } from '../given.ts';
import { refuse } from './errors.ts';

interface Field {
  /** In lower case. */
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
    ...{ name: name.toLowerCase(), source: source.endsWith('\r\n') ? source : `${source}\r\n` },
    value: value.replaceAll('\r\n', '').trim(),
  }));
  return { fields, body: end < 0 ? Buffer.from('\r\n') : mail.subarray(end + 2) };
}

function withCrLf(mail: Buffer): Buffer {
  const text = mail.toString('latin1');
  return /(?<!\r)\n/.test(text) ? Buffer.from(text.replace(/\r?\n/g, '\r\n'), 'latin1') : mail;
}

export const valuesOf = ({ fields }: Raw, name: string): string[] =>
  fields.filter((field) => field.name === name).map(({ value }) => value);

/** Fields that SES replaces or keeps to itself. */
const REPLACED = /^(?:bcc|message-id|date|x-ses-.*)$/;

/** The mail as SES sends it on. */
export function written({ fields, body }: Raw, messageId: string, now: number): Buffer {
  const date = new Date(now).toUTCString().replace('GMT', '+0000');
  const kept = fields.filter(({ name }) => !REPLACED.test(name)).map(({ source }) => source);
  return Buffer.concat([Buffer.from(`${kept.join('')}Date: ${date}\r\nMessage-ID: ${messageId}\r\n`), body]);
}
