import { describe, expect, it } from 'vitest';
import CASES from './dates.json' with { type: 'json' };
import { contentOf, multipart } from './support/mails.ts';

describe('text and html are as sent', () => {
  it('html without text has no text, and its words are kept for the text filter', () => {
    const content = contentOf('Content-Type: text/html', '', '<p>Hi <b>there</b></p><style>x</style>', '');
    const html = '<p>Hi <b>there</b></p><style>x</style>\n';
    expect(content).toMatchObject({ text: null, html, htmlWords: 'Hi there' });
  });

  it('text and html of one mail stay apart, in any multipart', () => {
    for (const subtype of ['alternative', 'mixed', 'related']) {
      const text = ['Content-Type: text/plain', '', 'plain'];
      const html = ['Content-Type: text/html', '', '<p>page</p>'];
      const content = contentOf(...multipart(subtype, text, html));
      expect(content, subtype).toMatchObject({ text: 'plain', html: '<p>page</p>' });
    }
  });
});

describe('headers', () => {
  it('are all there, in order, unfolded and decoded', () => {
    const lines = ['Received: one', 'X-A: =?utf-8?q?caf=C3=A9?=', 'Received: two', ' folded', 'x-a: again'];
    expect(contentOf(...lines, '', '').headers).toEqual([
      { name: 'Received', value: 'one' },
      { name: 'X-A', value: 'café' },
      { name: 'Received', value: 'two folded' },
      { name: 'x-a', value: 'again' },
    ]);
  });

  it.each(CASES.dates)('Date: %s is %s, never invented', (value, date) => {
    expect(contentOf(`Date: ${value}`, '', '').date).toBe(date);
  });

  it('date is null without a Date field', () => {
    expect(contentOf('Subject: x', '', '').date).toBeNull();
  });
});

describe('file names', () => {
  const named = (disposition: string) => {
    const part = ['Content-Type: application/pdf', `Content-Disposition: ${disposition}`, '', 'x'];
    return contentOf(...multipart('mixed', part)).attachments[0]?.filename;
  };

  it('are as sent without control characters, and paths in them have no effect', () => {
    expect(named('attachment; filename="../../x"')).toBe('../../x');
    expect(named('attachment; filename="=?utf-8?q?a=0D=0ASet-Cookie:_x?="')).toBe('a Set-Cookie: x');
    expect(named('attachment; filename="=?utf-8?q?a=07b?="')).toBe('ab');
    expect(named(`attachment; filename="${'n'.repeat(10_000)}"`)).toHaveLength(1_024);
    expect(named('attachment')).toBeNull();
  });
});
