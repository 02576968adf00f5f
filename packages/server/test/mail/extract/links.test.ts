import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findCodes } from '../../../src/mail/extract/codes.ts';
import { readHtml } from '../../../src/mail/extract/html.ts';
import { findLinks, MAX_LINKS } from '../../../src/mail/extract/links.ts';
import { contentOf } from '../support/mails.ts';

const inText = (text: string) => findLinks(text, null, '').map(({ href }) => href);
const inPage = (html: string) => findLinks(null, readHtml(html), '');

/** What links say to a reader, in many languages; of kind other also words that only begin like those. */
const BUTTONS: [string, string][] = Object.entries<string[]>(
  JSON.parse(readFileSync(join(import.meta.dirname, 'buttons.json'), 'utf8')),
).flatMap(([kind, words]) => words.map((one): [string, string] => [one, kind]));

describe('links', () => {
  it('of a page are as sent, entities decoded once, with their words', () => {
    expect(inPage('<a href=" https://x.test/?a=1&amp;b=%26amp;amp;c ">Go <b>now</b></a>')).toEqual([
      { href: 'https://x.test/?a=1&b=%26amp;amp;c', text: 'Go now', kind: 'other' },
    ]);
  });

  it('come once, in order of appearance, the page first, then the text, then List-Unsubscribe', () => {
    const html = '<a href="https://b.test"></a><a href="https://a.test">A</a><a href="https://b.test">B</a>';
    const unsubscribe = '<mailto:u@x.test>, <https://u.test>';
    const links = findLinks('https://c.test https://a.test', readHtml(html), unsubscribe);
    expect(links.map(({ href, text }) => [href, text])).toEqual([
      ['https://b.test', 'B'],
      ['https://a.test', 'A'],
      ['https://c.test', ''],
      ['mailto:u@x.test', ''],
      ['https://u.test', ''],
    ]);
  });

  it('of a text end where the sentence goes on', () => {
    const four = ['https://a.test/x', 'https://b.test/y', 'https://c.test/z', 'https://d.test'];
    expect(inText(`See <${four[0]}>, (${four[1]}), ${four[2]}. "${four[3]}"!`)).toEqual(four);
    expect(inText('https://en.test/wiki/Mayfly_(insect)')).toEqual(['https://en.test/wiki/Mayfly_(insect)']);
    expect(inText('请打开https://a.test/x。谢谢')).toEqual(['https://a.test/x']);
  });

  it('of a text in Markdown end before the brackets of their words and of their address', () => {
    expect(inText('[https://a.test/x](https://b.test/y)')).toEqual(['https://a.test/x', 'https://b.test/y']);
    const two = ['https://a.test/x_(1)', 'https://b.test/y'];
    expect(inText(`[a](${two[0]}),[b](${two[1]}).`)).toEqual(two);
  });

  it('that were broken by quoted-printable are whole again', () => {
    const lines = [
      'Content-Transfer-Encoding: quoted-printable',
      '',
      'https://x.test/verify?tok=',
      'en=3Dabc',
    ];
    const link = { href: 'https://x.test/verify?token=abc', text: '', kind: 'verify' };
    expect(contentOf(...lines, '').links).toEqual([link]);
  });

  it('that run instead of leading somewhere are none; an app has its own scheme', () => {
    const html =
      '<a href="javascript:x()">a</a><a href="data:text/html,x">b</a><a href="#top">c</a><a href="app://in">d</a>';
    expect(inPage(html).map(({ href }) => href)).toEqual(['app://in']);
  });

  it('have a greatest number', () => {
    const many = Array.from({ length: 1_000 }, (_, i) => `https://x.test/${i}`);
    expect(inText(many.join(' '))).toHaveLength(MAX_LINKS);
  });
});

describe('the kind of a link', () => {
  const kinds = (html: string) => inPage(html).map(({ kind }) => kind);

  it('is nothing that the words before say where the link is a picture without words', () => {
    const icon = '<a href="https://social.test/1"><img src="x.png" alt=""></a>';
    expect(kinds(`<p>You can sign in now.</p>${icon}`)).toEqual(['other']);
    expect(kinds(`${icon}<p>Reset your password</p>`)).toEqual(['other']);
  });

  it.each([
    ['<a href="https://x.test/1"><img alt="Verify email"></a>', 'Verify email', 'verify'],
    ['<a href="https://x.test/1"><img src="x.png" title="Log in"></a>', 'Log in', 'sign-in'],
    ['<a href="https://x.test/1" title="Unsubscribe"><img src="x.png"></a>', 'Unsubscribe', 'unsubscribe'],
  ])('is what its picture or its title says, which is its text: %s', (html, text, kind) => {
    expect(inPage(html)).toMatchObject([{ text, kind }]);
  });

  it.each(BUTTONS)('is told by its words: %s is of kind %s', (words, kind) => {
    expect(inPage(`<p>Hi</p><a href="https://x.test/1">${words}</a>`)).toMatchObject([{ text: words, kind }]);
  });

  it('is that of the heading for a button that says "Continue" in any language', () => {
    const page = (heading: string, button: string) =>
      `<a href="https://x.test/"><img src="logo.png"></a><h1>${heading}</h1><p>Somebody asked for this. What follows works for one hour, and only once.</p><a href="https://x.test/verify/1">${button}</a>`;
    expect(kinds(page('Reset your password', 'Continue'))).toEqual(['other', 'reset']);
    expect(kinds(page('Bestätigen Sie Ihre Adresse', 'Weiter'))).toEqual(['other', 'verify']);
    expect(kinds(page('ログインの確認', '次へ'))).toEqual(['other', 'verify']);
    expect(kinds(page('Sign in to Acme', 'Continuer'))).toEqual(['other', 'sign-in']);
  });
});

describe('what a page says', () => {
  it('leaves out what is not shown', () => {
    const html =
      '<title>t</title><style>s</style><script>j</script><div style="display: none">h<div>h</div>h</div><p hidden>x</p>' +
      '<!-- c --><!--[if mso]>m<![endif]--><p>A&nbsp;&amp; B</p><br>C<table><tr><td>1<td>2</table>';
    expect(readHtml(html).words).toBe('A & B\nC\n1\t2');
  });

  it('includes the value of a field that shows it', () => {
    const html =
      '<p>Copy <input value="482910" readonly type="text"></p><input type="hidden" value="771204">';
    expect(readHtml(html).words).toBe('Copy 482910');
  });
});

describe('the value of a code', () => {
  it('is what a person types, with the words around it', () => {
    expect(findCodes('', 'Your code is 482 910, hurry', null)).toEqual([
      { value: '482910', context: 'Your code is 482 910, hurry' },
    ]);
    expect(findCodes('', 'Your code is G-482910', null)[0]?.value).toBe('G-482910');
    const long = `${'x '.repeat(200)}. Your code is 482910. ${'y '.repeat(200)}`;
    expect(findCodes('', long, null)[0]?.context.length).toBeLessThanOrEqual(90);
  });

  it('best first: what subject and body both say', () => {
    const codes = findCodes('771204 is your code', 'Your backup code is 551199.\nYour code is 771204.', null);
    expect(codes.map(({ value }) => value)).toEqual(['771204', '551199']);
  });
});
