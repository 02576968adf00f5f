import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findCodes } from '../../../src/mail/extract/codes.ts';
import { readHtml } from '../../../src/mail/extract/html.ts';
import { findLinks, MAX_LINKS } from '../../../src/mail/extract/links.ts';
import { parseMail } from '../../../src/mail/parse.ts';

const inText = (text: string) => findLinks(text, null, '').map(({ href }) => href);
const inPage = (html: string) => findLinks(null, readHtml(html), '');

/** What buttons say to a reader, one or two a language. */
const IMPERATIVES: [string, string][] = Object.entries<string[]>(
  JSON.parse(readFileSync(join(import.meta.dirname, 'buttons.json'), 'utf8')),
).flatMap(([kind, words]) => words.map((one): [string, string] => [one, kind]));

describe('links', () => {
  it('of a page are as sent, entities decoded once, with their words', () => {
    expect(inPage('<a href=" https://x.test/?a=1&amp;b=%26amp;amp;c ">Go <b>now</b></a>')).toEqual([
      { href: 'https://x.test/?a=1&b=%26amp;amp;c', text: 'Go now', kind: 'other' },
    ]);
  });

  it('of a picture have the words of its description', () => {
    expect(inPage('<a href="https://x.test/1"><img alt="Verify email"></a>')).toMatchObject([
      { text: 'Verify email', kind: 'verify' },
    ]);
  });

  it('come once, in order of appearance, the page first, then the text, then List-Unsubscribe', () => {
    const page = readHtml(
      '<a href="https://b.test"></a><a href="https://a.test">A</a><a href="https://b.test">B</a>',
    );
    const links = findLinks('https://c.test https://a.test', page, '<mailto:u@x.test>, <https://u.test>');
    expect(links.map(({ href, text }) => [href, text])).toEqual([
      ['https://b.test', 'B'],
      ['https://a.test', 'A'],
      ['https://c.test', ''],
      ['mailto:u@x.test', ''],
      ['https://u.test', ''],
    ]);
  });

  it('of a text end where the sentence goes on', () => {
    expect(inText('See <https://a.test/x>, (https://b.test/y), https://c.test/z. "https://d.test"!')).toEqual(
      ['https://a.test/x', 'https://b.test/y', 'https://c.test/z', 'https://d.test'],
    );
    expect(inText('https://en.test/wiki/Mayfly_(insect)')).toEqual(['https://en.test/wiki/Mayfly_(insect)']);
    expect(inText('请打开https://a.test/x。谢谢')).toEqual(['https://a.test/x']);
  });

  it('that were broken by quoted-printable are whole again', async () => {
    const raw =
      'Content-Transfer-Encoding: quoted-printable\r\n\r\nhttps://x.test/verify?tok=\r\nen=3Dabc\r\n';
    expect((await parseMail(Buffer.from(raw))).content.links).toEqual([
      { href: 'https://x.test/verify?token=abc', text: '', kind: 'verify' },
    ]);
  });

  it('that run instead of leading somewhere are none; an app has its own scheme', () => {
    const html =
      '<a href="javascript:x()">a</a><a href="data:text/html,x">b</a><a href="#top">c</a><a href="app://in">d</a>';
    expect(inPage(html).map(({ href }) => href)).toEqual(['app://in']);
  });

  it('have a greatest number', () => {
    expect(inText(Array.from({ length: 1_000 }, (_, i) => `https://x.test/${i}`).join(' '))).toHaveLength(
      MAX_LINKS,
    );
  });

  it.each([
    ['Passwort zurücksetzen', 'reset'],
    ['Réinitialiser le mot de passe', 'reset'],
    ['メールアドレスを確認する', 'verify'],
    ['Подтвердить адрес', 'verify'],
    ['Iniciar sesión', 'sign-in'],
    ['登录', 'sign-in'],
    ['配信停止', 'unsubscribe'],
    ['Se désabonner', 'unsubscribe'],
    ['Confirm your order', 'other'],
    ['Войти без пароля', 'sign-in'],
    ['登録を完了する', 'verify'],
    ['Stop receiving these emails', 'unsubscribe'],
    ['Read more', 'other'],
    ['Reset your expectations: passwords in 2030', 'other'],
  ])('%s is of kind %s', (words, kind) => {
    expect(inPage(`<a href="https://x.test/1">${words}</a>`)).toMatchObject([{ text: words, kind }]);
  });
});

describe('the kind of a link', () => {
  const kinds = (html: string) => inPage(html).map(({ kind }) => kind);

  it('is nothing that the words before say where the link is a picture without words', () => {
    const icon =
      '<table><tr><td><a href="https://social.test/1"><img src="x.png" alt=""></a></td></tr></table>';
    expect(kinds(`<p>You can sign in now.</p>${icon}`)).toEqual(['other']);
    expect(kinds(`<a href="https://x.test/home"><img src="logo.png"></a><p>Reset your password</p>`)).toEqual(
      ['other'],
    );
  });

  it('is what the title of a picture or of the link says, and the title is its text', () => {
    expect(inPage('<a href="https://x.test/1"><img src="x.png" title="Log in"></a>')).toMatchObject([
      { text: 'Log in', kind: 'sign-in' },
    ]);
    expect(inPage('<a href="https://x.test/1" title="Unsubscribe"><img src="x.png"></a>')).toMatchObject([
      { text: 'Unsubscribe', kind: 'unsubscribe' },
    ]);
  });

  it.each(IMPERATIVES)('is told by an imperative: %s is of kind %s', (words, kind) => {
    expect(kinds(`<p>Hi</p><a href="https://x.test/1">${words}</a>`)).toEqual([kind]);
  });

  it.each(['Melden Sie sich bei Fragen', 'Active offers', 'Vhodné pro vás', 'Actievoorwaarden', 'Entradas'])(
    'is other for words that only begin like those: %s',
    (words) => {
      expect(kinds(`<p>Hi</p><a href="https://x.test/1">${words}</a>`)).toEqual(['other']);
    },
  );

  it('is what the words of the link say, and not its path', () => {
    const path = 'https://id.test/realms/a/login-actions/action-token?key=1';
    expect(kinds(`<a href="${path}">Link to reset credentials</a>`)).toEqual(['reset']);
    expect(kinds(`<p>Verify your address:</p><a href="${path}">Click here</a>`)).toEqual(['verify']);
    expect(kinds('<a href="https://x.test/verify?t=1">Sign in</a>')).toEqual(['sign-in']);
    expect(findLinks('Sign in:\nhttps://x.test/verify?t=1', null, '')).toMatchObject([{ kind: 'sign-in' }]);
    expect(findLinks('Sign in (https://x.test/confirm/1)', null, '')).toMatchObject([{ kind: 'sign-in' }]);
  });

  it('is that of the heading for a button that says "Continue" in any language', () => {
    const page = (heading: string, button: string) =>
      `<a href="https://x.test/"><img src="logo.png"></a><h1>${heading}</h1><p>Somebody asked for this. What follows works for one hour, and only once.</p><a href="https://x.test/verify/1">${button}</a>`;
    expect(kinds(page('Reset your password', 'Continue'))).toEqual(['other', 'reset']);
    expect(kinds(page('Bestätigen Sie Ihre Adresse', 'Weiter'))).toEqual(['other', 'verify']);
    expect(kinds(page('ログインの確認', '次へ'))).toEqual(['other', 'verify']);
    expect(kinds(page('Sign in to Acme', 'Continuer'))).toEqual(['other', 'sign-in']);
  });

  it('is other for the file that a link leads to, whatever its path says', () => {
    expect(findLinks('Report: https://x.test/verify/2026.pdf', null, '')).toMatchObject([{ kind: 'other' }]);
  });
});

describe('a link in Markdown in a plain text', () => {
  it('ends before the brackets of its text and of its address', () => {
    expect(inText('[https://a.test/x](https://b.test/y)')).toEqual(['https://a.test/x', 'https://b.test/y']);
    expect(inText('[a](https://a.test/x_(1)),[b](https://b.test/y).')).toEqual([
      'https://a.test/x_(1)',
      'https://b.test/y',
    ]);
  });

  it('has the kind of its words', () => {
    const text = '# Reset your password\n\n[Continue](https://x.test/1) or [log in](https://x.test/verify)';
    expect(findLinks(text, null, '').map(({ kind }) => kind)).toEqual(['reset', 'sign-in']);
  });
});

describe('a link in a text that is bare', () => {
  it.each([
    ['is for what the sentence above it says', 'Reset your password:\nhttps://x.test/1', 'reset'],
    [
      'is for what a sentence further up says of the link',
      'Use this link to sign in. It works once.\n\nhttps://x.test/1',
      'sign-in',
    ],
    [
      'is for nothing that another sentence says of something else',
      'You can sign in again. News are here.\n\nhttps://x.test/1',
      'other',
    ],
  ])('%s', (_, text, kind) => {
    expect(findLinks(text, null, '')).toMatchObject([{ kind }]);
  });

  it('is not for what was said of the link before it', () => {
    const links = findLinks('Follow this link to sign in: https://x.test/1 Bye. https://x.test/2', null, '');
    expect(links.map(({ kind }) => kind)).toEqual(['sign-in', 'other']);
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
    const [{ context } = { context: '' }] = findCodes(
      '',
      `${'x '.repeat(200)} code 482910 ${'y '.repeat(200)}`,
      null,
    );
    expect(context.length).toBeLessThanOrEqual(90);
  });

  it('best first: what subject and body both say', () => {
    const codes = findCodes('771204 is your code', 'Your backup code is 551199.\nYour code is 771204.', null);
    expect(codes.map(({ value }) => value)).toEqual(['771204', '551199']);
  });

  it('a list of codes holds none to type now', () => {
    expect(findCodes('Backup codes', 'Your codes:\n4821 7730\n9917 2046\n3350 8812', null)).toEqual([]);
    expect(findCodes('', 'Your code:\n4821 7730', null)).toHaveLength(1);
  });

  it('is known without the word "code" where it is to be entered, and the sentence says what for', () => {
    expect(findCodes('', 'Enter 482910 to confirm your address.', null)[0]?.value).toBe('482910');
    expect(findCodes('', 'Enter 482910 into the field of the form.', null)).toEqual([]);
  });

  it('is known where it is to be entered, and the sentence behind says that it is a code', () => {
    expect(findCodes('', 'Type 482910 in the window. It is your one-time password.', null)).toHaveLength(1);
    expect(findCodes('', 'Type 482910 in the window. It is your seat.', null)).toEqual([]);
  });

  it('is not hidden by the customer who is spoken to, but a number of that customer is none', () => {
    for (const text of ['Dear customer, code: 482910', 'Estimado cliente, código: 482910']) {
      expect(
        findCodes('', text, null).map(({ value }) => value),
        text,
      ).toEqual(['482910']);
    }
    expect(findCodes('', 'Código de cliente: 482910', null)).toEqual([]);
  });

  it('is no piece of a phone number', () => {
    expect(findCodes('', 'Dial +44 20 3910 5120 PIN: 553 201 774#', null)).toEqual([]);
  });

  it.each([
    ['קוד האימות שלך הוא 482910'],
    ['קוד אימות: 482910'],
    ['קוד חד פעמי 482910'],
    ['סיסמה חד-פעמית: 482910'],
    ['הסיסמה החד־פעמית שלך: 482910'],
    ['יש להזין את הקוד 482910 באתר'],
    ['482910 הוא קוד האימות שלך'],
  ])('is known in Hebrew: %s', (text) => {
    expect(findCodes('', text, null).map(({ value }) => value)).toEqual(['482910']);
  });

  it('is none in Hebrew where the word is another: earlier, of a coupon, of the post', () => {
    for (const text of ['הזמנה קודמת 482910', 'קוד קופון: SAVE2026', 'מיקוד 6100000']) {
      expect(findCodes('', text, null), text).toEqual([]);
    }
  });

  it('may be a chain of words, announced and in a line of its own', () => {
    expect(findCodes('', 'Your login code:\ncalm-otter-swims', null)[0]?.value).toBe('calm-otter-swims');
    expect(findCodes('', 'The code of calm-otter-swims was reviewed', null)).toEqual([]);
  });

  it('is none where an office, a shop or a carrier gives it once and for all', () => {
    for (const text of ['Код ЄДРПОУ 32855961', 'Kod pocztowy 482910', 'Código de rastreio: QB483920']) {
      expect(findCodes('', text, null), text).toEqual([]);
    }
    expect(findCodes('15% off', 'Your code: AKI2026', null)).toEqual([]);
  });
});
