import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { parseMail } from '../../../src/mail/parse.ts';
import { boundedBy, bytes, contentOf, multipart, servedBytes } from '../support/mails.ts';
import CASES from './files.json' with { type: 'json' };

const sha256 = (data: Uint8Array) => createHash('sha256').update(data).digest('hex');

/** A mail with one attachment, whose encoded bytes are these, between two delimiter lines. */
function mailWith(type: string, encoding: string, encoded: Buffer): Buffer {
  const header = [`Content-Type: ${type}`, `Content-Transfer-Encoding: ${encoding}`];
  const part = [...header, 'Content-Disposition: attachment', '', encoded.toString('latin1')];
  return bytes('Subject: x', ...multipart('mixed', ['', 'text'], part));
}

/** Every attachment as it is listed must be the sender's file: size, SHA-256 and the bytes that are served. */
function expectServed(raw: Buffer, file: Uint8Array): void {
  const { content, parseError } = parseMail(raw);
  expect(parseError).toBeNull();
  expect(content.attachments).toHaveLength(1);
  expect(content.attachments[0]).toMatchObject({ size: file.length, sha256: sha256(file) });
  expect(servedBytes(raw)).toEqual(Buffer.from(file));
}

describe('an attachment has the bytes of the file that was sent, line ends included', () => {
  it.each(CASES.files)('%s', (_, type, file) => {
    expectServed(mailWith(type, '8bit', Buffer.from(file, 'latin1')), Buffer.from(file, 'latin1'));
  });

  it('quoted-printable keeps its hard line breaks as sent and drops the soft ones', () => {
    const encoded = bytes('one=0D=0Atwo=20', 'thr=', 'ee=  ', '', 'f=C3=BCr =3D 4');
    const file = Buffer.from('one\r\ntwo \r\nthree\r\nfür = 4');
    expectServed(mailWith('text/csv', 'quoted-printable', encoded), file);
  });

  it('quoted-printable drops blanks at the end of a line, which transport adds (RFC 2045 section 6.7)', () => {
    const encoded = bytes('one \t', 'two ');
    expectServed(mailWith('text/csv', 'quoted-printable', encoded), Buffer.from('one\r\ntwo'));
  });

  it('quoted-printable keeps what is no escape', () => {
    const encoded = bytes('=zz =4 = =e4=', '==');
    expectServed(mailWith('text/csv', 'Quoted-Printable', encoded), Buffer.from('=zz =4 = \xe4=', 'latin1'));
  });

  it('base64 in lines, in one line, with noise and without padding', () => {
    const file = Buffer.from([0, 255, 13, 10, 10, 13, 1, 2]);
    const base64 = file.toString('base64');
    const noise = ` ${base64.replaceAll(/.{2}/g, '$& !\t\r\n')}`;
    for (const one of [base64, base64.replace('=', ''), base64.replaceAll(/.{4}/g, '$&\r\n'), noise])
      expectServed(mailWith('application/pdf', 'base64', Buffer.from(one)), file);
  });

  it('base64 that was put together from padded pieces', () => {
    const encoded = Buffer.from('QQ==\r\nQkI=\r\nQ0ND\r\n');
    expectServed(mailWith('application/pdf', 'base64', encoded), Buffer.from('ABBCCC'));
  });

  it.each(['x-uuencode', 'x-uue', 'uuencode', 'X-UUENCODE'])('%s', (encoding) => {
    // Written by uuencode(1).
    const encoded = bytes('begin 644 cat.txt', '#0V%T', '`', 'end');
    expectServed(mailWith('application/octet-stream', encoding, encoded), Buffer.from('Cat'));
    const line = "M5&AE('%U:6-K(&)R;W=N(&9O>\"!J=6UP<R!O=F5R('1H92!L87IY(&1O9RX@";
    const long = bytes('begin 644 fox', line, '$0GEE(0``', ' ', 'end');
    const fox = Buffer.from('The quick brown fox jumps over the lazy dog. Bye!');
    expectServed(mailWith('application/octet-stream', encoding, long), fox);
  });

  it('uuencode without its first line is kept as it is', () => {
    const encoded = bytes('not encoded at all');
    expectServed(mailWith('application/octet-stream', 'x-uuencode', encoded), encoded);
  });

  it('the line break before a delimiter belongs to the delimiter, also between parts within each other', () => {
    const inner = boundedBy('inner', 'mixed', ['Content-Type: application/x-one', '', 'one', '']);
    const raw = bytes(...multipart('mixed', inner, ['Content-Type: application/x-two', '', 'two']));
    expect(servedBytes(raw, 0)).toEqual(Buffer.from('one\r\n'));
    expect(servedBytes(raw, 1)).toEqual(Buffer.from('two'));
  });

  it('a served message can be sent again: its own parts and signatures are untouched', () => {
    const inner = bytes('Subject: inner', ...boundedBy('deep', 'mixed', ['', 'a '], ['', '', ' b']), '');
    const raw = mailWith('message/rfc822', '8bit', inner);
    expectServed(raw, inner);
  });
});

describe('text and html have line feeds as line ends', () => {
  it('however they were encoded, and end before the line break of the delimiter', () => {
    const text = ['Content-Transfer-Encoding: quoted-printable', '', 'one=', ' two', 'three', ''];
    const html = ['Content-Type: text/html', 'Content-Transfer-Encoding: base64', '', 'PGI+DQo8L2I+DQo='];
    const both = contentOf(...multipart('alternative', text, html));
    expect(both).toMatchObject({ text: 'one two\nthree\n', html: '<b>\n</b>\n' });
  });

  it('and flowed text is as sent (RFC 3676)', () => {
    const type = 'Content-Type: text/plain; format=flowed; delsp=yes';
    const { text } = contentOf(type, '', 'a long ', 'line ', ' > quoted', '-- ', 'sig', '');
    expect(text).toBe('a long \nline \n > quoted\n-- \nsig\n');
  });
});
