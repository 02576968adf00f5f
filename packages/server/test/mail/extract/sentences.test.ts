import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findCodes } from '../../../src/mail/extract/codes.ts';
import { readHtml, wordsOnlyInPage } from '../../../src/mail/extract/html.ts';
import { findLinks } from '../../../src/mail/extract/links.ts';
import { parseMail } from '../../../src/mail/parse.ts';
import { bytes, multipart } from '../support/mails.ts';

/*
 * One sentence a rule: words that once hid a code or made one of another number, and addresses of every form.
 * They are in sentences.json; whole mails are in labelled/.
 */

type Part = 'text' | 'html';
const SENTENCES = JSON.parse(readFileSync(join(import.meta.dirname, 'sentences.json'), 'utf8'));
/** Where the body is, the subject, the body, and the code that a person would type. */
const CODES: [Part, string, string, string | null][] = SENTENCES.codes;
/** Where the body is, the body, and each link with its kind. */
const LINKS: [Part, string, string][] = SENTENCES.links;

describe('the code of a mail', () => {
  it.each(CODES)('in %s, subject %j, body %j: %s', (part, subject, body, code) => {
    const words = part === 'html' ? readHtml(body).words : null;
    const [found] = findCodes(subject, part === 'text' ? body : null, words);
    expect(found?.value ?? null).toBe(code);
  });
});

describe('the links of a mail', () => {
  it.each(LINKS)('in %s, body %j: %s', (part, body, links) => {
    const found = findLinks(part === 'text' ? body : null, part === 'html' ? readHtml(body) : null, '');
    expect(found.map(({ href, kind }) => `${href} ${kind}`).join(' | ')).toBe(links);
  });
});

describe('the words of a page that the plain text lacks', () => {
  it('are none where both say the same, whatever the case, the line breaks and the spaces', () => {
    const text = 'WELCOME\n\nPlease confirm your\naddress.\n\nThanks,\n  Ada\n';
    expect(wordsOnlyInPage(text, 'Welcome\nPlease confirm your address.\nThanks,\nAda')).toBeNull();
  });

  it('are whole lines, so that a phrase of the page stays one', () => {
    const page = 'Hello\nYour code is 482913.\nBye';
    expect(wordsOnlyInPage('Hello\nYour code is below.\nBye\n', page)).toBe('Your code is 482913.');
    expect(wordsOnlyInPage('Open this mail in a browser.', page)).toBe(page);
  });

  it('are stored with the mail', () => {
    const html = ['Content-Type: text/html', '', '<p>Order 7</p><p>Pick it up in <b>Leeds</b></p>'];
    const { content } = parseMail(bytes(...multipart('alternative', ['', 'Order 7'], html)));
    expect(content).toMatchObject({ text: 'Order 7', htmlWords: 'Pick it up in Leeds' });
  });
});
