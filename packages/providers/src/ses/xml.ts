import { type Given, isGiven } from '../given.ts';
import type { Reply } from '../provider.ts';

const NAMESPACE = 'http://ses.amazonaws.com/doc/2010-12-01/';

const escapeXml = (text: string): string =>
  text
    .replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)
    // XML 1.0 does not allow other control characters, not even as references.
    .replace(/[^\t\n\r\x20-\u{10ffff}]/gu, '');

/** Entries of a map, which are encoded differently from members of a list. */
export class Entries extends Map<string, Given> {}

function writeXml(value: unknown): string {
  if (value instanceof Entries)
    return [...value].map(([key, inner]) => tag('entry', { key, value: inner })).join('');
  if (Array.isArray(value)) return value.map((member) => tag('member', member)).join('');
  if (!isGiven(value)) return escapeXml(String(value));
  return Object.entries(value)
    .filter(([, inner]) => inner !== undefined)
    .map(([name, inner]) => tag(name, inner))
    .join('');
}

const tag = (name: string, value: unknown): string => `<${name}>${writeXml(value)}</${name}>`;

export const xml = (root: string, value: Given, status = 200): Reply => ({
  status,
  type: 'text/xml',
  body: `<${root} xmlns="${NAMESPACE}">${writeXml(value)}</${root}>\n`,
});
