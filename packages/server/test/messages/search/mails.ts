import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A mail, the inbox that takes it, and what is done to it afterwards. */
export interface SearchedMail {
  name: string;
  inbox: 'ada' | 'shop' | 'ops';
  /** When it arrives. Mails of the table arrive in its order; without a time, directly after the one before. */
  at?: string;
  raw: string;
  /** Recipient of the envelope, if it is not the address of the inbox; `*` is the domain of the catch-all. */
  rcptTo?: string;
  read?: true;
  tags?: string[];
}

interface Parts {
  from?: string;
  to?: string;
  subject?: string | null;
  /** As an encoded word. */
  encodedSubject?: string;
  headers?: string[];
  /** Content-Type and the rest of the body's header, default plain UTF-8 text. */
  type?: string[];
  body?: string;
  html?: string;
  /** Bytes of text in front of the body. */
  filler?: number;
  /** The kind of multipart, and the parts. */
  parts?: [kind: string, ...parts: string[]];
  /** Bytes of the file that is the last of the parts. */
  attached?: number;
}

const utf8 = (type: string) => [`Content-Type: ${type}; charset=utf-8`, 'Content-Transfer-Encoding: 8bit'];
const base64 = (text: string) => Buffer.from(text).toString('base64');

function contentOf({ type, html, parts, filler = 0, attached = 0, body = 'Nothing to see.' }: Parts) {
  if (html !== undefined) return { type: utf8('text/html'), body: html };
  if (parts === undefined) {
    const line = 'lorem ipsum dolor sit amet consectetur\n';
    return { type: type ?? utf8('text/plain'), body: line.repeat(Math.ceil(filler / line.length)) + body };
  }
  const [kind, ...inner] = parts;
  inner.push(inner.pop() + base64('x'.repeat(attached)).replaceAll(/(.{76})/g, '$1\n'));
  return {
    type: [`Content-Type: multipart/${kind}; boundary="b0"`],
    body: `${inner.map((part) => `--b0\n${part}\n`).join('')}--b0--`,
  };
}

function rawOf(mail: Parts): string {
  const { from = 'Ops Robot <robot@machines.test>', to = 'someone@elsewhere.test', headers = [] } = mail;
  const { encodedSubject, subject = encodedSubject ? `=?UTF-8?B?${base64(encodedSubject)}?=` : 'Notice' } =
    mail;
  const { type, body } = contentOf(mail);
  return [
    `From: ${from}`,
    `To: ${to}`,
    ...(subject === null ? [] : [`Subject: ${subject}`]),
    'MIME-Version: 1.0',
    ...headers,
    ...type,
    '',
    body.replaceAll('\n', '\r\n'),
    '',
  ].join('\r\n');
}

const read: (Omit<SearchedMail, 'raw' | 'inbox'> & Parts & { raw?: string; inbox?: 'ada' | 'shop' })[] =
  JSON.parse(readFileSync(join(import.meta.dirname, 'mails.json'), 'utf8'));

/** The mails that every query of `queries.json` is asked over, written before the search they judge. */
export const MAILS: SearchedMail[] = read.map((mail) => ({
  inbox: 'ada',
  ...mail,
  raw: mail.raw ?? rawOf(mail),
}));
