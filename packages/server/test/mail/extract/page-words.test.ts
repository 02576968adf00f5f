import { describe, expect, it } from 'vitest';
import { wordsOnlyInPage } from '../../../src/mail/extract/html.ts';
import { parseMail } from '../../../src/mail/parse.ts';

describe('the words of a page that the plain text lacks', () => {
  it('are none where both say the same, whatever the case, the line breaks and the spaces', () => {
    const text = 'WELCOME\n\nPlease confirm your\naddress.\n\nThanks,\n  Ada\n';
    expect(wordsOnlyInPage(text, 'Welcome\nPlease confirm your address.\nThanks,\nAda')).toBeNull();
  });

  it('are whole lines, so that a phrase of the page stays one', () => {
    const page = 'Hello\nYour code is 482913.\nBye';
    expect(wordsOnlyInPage('Hello\nYour code is below.\nBye\n', page)).toBe('Your code is 482913.');
    expect(wordsOnlyInPage('Open this mail in a browser.', page)).toBe(page);
    expect(wordsOnlyInPage('', page)).toBe(page);
  });

  it('are stored with the mail', async () => {
    const raw = [
      'Content-Type: multipart/alternative; boundary=b',
      '',
      '--b',
      '',
      'Order 7',
      '--b',
      'Content-Type: text/html',
      '',
      '<p>Order 7</p><p>Pick it up in <b>Leeds</b></p>',
      '--b--',
      '',
    ].join('\r\n');
    const { content } = await parseMail(Buffer.from(raw));
    expect(content).toMatchObject({ text: 'Order 7', htmlWords: 'Pick it up in Leeds' });
  });
});
