import { describe, expect, it } from 'vitest';
import { contentOf, multipart, read } from '../support/mails.ts';

/** The attachment of a mail whose part has these header lines. */
function attachmentOf(...header: string[]) {
  const { attachments } = contentOf(...multipart('mixed', ['', 'text'], [...header, '', 'x']));
  expect(attachments).toHaveLength(1);
  return attachments[0];
}
const ATTACHED = 'Content-Disposition: attachment';
const typed = (value: string) => attachmentOf(`Content-Type: ${value}`, ATTACHED);

describe('parameters of an attachment are kept', () => {
  it('of any name, without doing harm', () => {
    const part = typed('a/b; __proto__=x; constructor=y; toString=z');
    expect(Object.entries(part?.parameters ?? {})).toEqual([
      ['__proto__', 'x'],
      ['constructor', 'y'],
      ['tostring', 'z'],
    ]);
    expect(JSON.stringify(part?.parameters)).toBe('{"__proto__":"x","constructor":"y","tostring":"z"}');
  });

  it('so many that they are noise are cut, and the mail says so', () => {
    const many = Array.from({ length: 100_000 }, (_, i) => `p${i}=v`).join('; ');
    const { content, parseError } = read(
      ...multipart('mixed', ['', 'text'], [`Content-Type: a/b; ${many}`, ATTACHED, '', 'x']),
    );
    expect(Object.keys(content.attachments[0]?.parameters ?? {}).length).toBeLessThan(1_000);
    expect(content.text).toBe('text');
    expect(parseError).toMatch(/parameters/);
  });
});
