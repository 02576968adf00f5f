import { describe, expect, it } from 'vitest';
import { contentOf, multipart, read } from '../support/mails.ts';
import CASES from './content-types.json' with { type: 'json' };

/** The attachment of a mail whose part has these header lines. */
function attachmentOf(...header: string[]) {
  const { attachments } = contentOf(...multipart('mixed', ['', 'text'], [...header, '', 'x']));
  expect(attachments).toHaveLength(1);
  return attachments[0];
}
const ATTACHED = 'Content-Disposition: attachment';
const typed = (value: string) => attachmentOf(`Content-Type: ${value}`, ATTACHED);

describe('the content type of an attachment is always type/subtype, in lower case', () => {
  it.each(CASES.types)('%j is %s', (value, type) => {
    expect(typed(value)?.contentType).toBe(type);
  });

  it('without the field it is text/plain (RFC 2045 section 5.2)', () => {
    expect(attachmentOf(ATTACHED)).toMatchObject({ contentType: 'text/plain', parameters: {} });
  });
});

describe('an odd content type costs no body', () => {
  it.each(CASES.text)('a mail of type %j is text', (type) => {
    const content = contentOf(`Content-Type: ${type}`, '', 'words', '');
    expect(content).toMatchObject({ text: 'words\n', attachments: [] });
  });

  it('a mail of type "html" is html', () => {
    expect(contentOf('Content-Type: html; charset=utf-8', '', '<p>x</p>', '').html).toBe('<p>x</p>\n');
  });

  it.each(CASES.multiparts)('the parts of %j are found', (type) => {
    const parts = ['', '--b', '', 'in', '--b', 'Content-Type: a/b', '', 'x', '--b--', ''];
    const { text, attachments } = contentOf(`Content-Type: ${type}`, ...parts);
    expect([text, attachments.map(({ contentType }) => contentType)]).toEqual(['in', ['a/b']]);
  });

  it.each(['(comment) base64', '"base64"', 'BASE64;', 'x-base64 ', 'base64 charset=x'])(
    'the encoding is found in %j',
    (encoding) => {
      expect(contentOf(`Content-Transfer-Encoding: ${encoding}`, '', 'SGk=', '').text).toBe('Hi');
    },
  );
});

describe('parameters of an attachment are kept', () => {
  it('as an object, names in lower case, values as sent', () => {
    const part = typed('text/calendar; METHOD=REQUEST; charset="UTF-8"; name=invite.ics; component=VEVENT');
    const parameters = { method: 'REQUEST', charset: 'UTF-8', name: 'invite.ics', component: 'VEVENT' };
    expect(part?.parameters).toEqual(parameters);
  });

  it.each(CASES.fileNames)('in pieces, in other charsets, and in the legacy forms: %s', (written, name) => {
    const part = typed(`application/pdf; ${written}`);
    expect([part?.filename, part?.parameters]).toEqual([name, { name }]);
  });

  it('the file name is that of the disposition, and else of the type', () => {
    const both = attachmentOf('Content-Type: a/b; name=type', `${ATTACHED}; filename=file`);
    expect([both?.filename, typed('a/b; name=type')?.filename]).toEqual(['file', 'type']);
  });

  it('of any name, without doing harm', () => {
    const part = typed('a/b; __proto__=x; constructor=y; toString=z');
    expect(JSON.stringify(part?.parameters)).toBe('{"__proto__":"x","constructor":"y","tostring":"z"}');
  });

  it('so many that they are noise are cut, and the mail says so', () => {
    const many = Array.from({ length: 100_000 }, (_, i) => `p${i}=v`).join('; ');
    const part = [`Content-Type: a/b; ${many}`, ATTACHED, '', 'x'];
    const { content, parseError } = read(...multipart('mixed', ['', 'text'], part));
    expect(Object.keys(content.attachments[0]?.parameters ?? {}).length).toBeLessThan(1_000);
    expect(content.text).toBe('text');
    expect(parseError).toMatch(/parameters/);
  });
});
