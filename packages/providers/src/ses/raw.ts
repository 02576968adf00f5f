import { bytesOf } from '../given.ts';
import { readSource, type Source } from '../source.ts';
import { refuse } from './errors.ts';

/** @throws NamedRefusal for invalid base64, and for a header that is too large */
export function readRaw(base64: unknown): Source {
  const given = typeof base64 === 'string' ? bytesOf(base64) : undefined;
  if (!given?.length) throw refuse('InvalidParameterValue', 'The raw message must be given in base64.');
  const source = readSource(given);
  if (!source) throw refuse('InvalidParameterValue', 'The header of the message is too large.');
  return source;
}

/** Header fields that SES replaces or removes. */
const REPLACED = /^(?:bcc|message-id|date|x-ses-.*)$/i;

/** The mail as SES would send it. */
export function written({ fields, body }: Source, messageId: string, now: number): Buffer {
  const date = new Date(now).toUTCString().replace('GMT', '+0000');
  const kept = fields.filter(({ name }) => !REPLACED.test(name)).map(({ source }) => source);
  return Buffer.concat([Buffer.from(`${kept.join('')}Date: ${date}\r\nMessage-ID: ${messageId}\r\n`), body]);
}
