/*
 * Mails that are small to send and may be expensive to read. Each one is built in any size, so that tests
 * can compare 1 MB with 2 MB (the cost must be linear) and load 48 MB (memory and time must be bounded).
 * The list was written before the reader was looked at. Add a bomb here when a new way is found.
 */

export interface Bomb {
  /** Unique; in the titles of the tests. */
  name: string;
  /** @param bytes about the size of the result */
  mail(bytes: number): Buffer;
}

const FROM_TO = 'From: a@example.com\r\nTo: b@example.com\r\n';
const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');

/** `unit` repeated to about `bytes` characters. */
const fill = (unit: string, bytes: number): string =>
  unit.repeat(Math.max(1, Math.floor(bytes / unit.length)));

/** `make(0)`, `make(1)`, … joined to about `bytes` characters. */
function series(bytes: number, make: (index: number) => string): string {
  const pieces: string[] = [];
  for (let length = 0, index = 0; length < bytes; index++) {
    const piece = make(index);
    pieces.push(piece);
    length += piece.length;
  }
  return pieces.join('');
}

/** The same opening many times, then the same closing as often. */
const nested = (open: string, close: string, bytes: number): string => {
  const count = Math.floor(bytes / (open.length + close.length));
  return open.repeat(count) + close.repeat(count);
};

/** Unbroken text to lines of 76 characters, the way a field is folded. */
const folded = (text: string): string => text.replace(/.{76}/gs, '$&\r\n ');

type Text = (bytes: number) => string | Buffer;

/** All that follows From and To. */
const rest = (text: (bytes: number) => string) => (bytes: number) => latin1(FROM_TO + text(bytes));
const field = (name: string, value: (bytes: number) => string) =>
  rest((bytes) => `${name}: ${value(bytes)}\r\n\r\nbody\r\n`);
const type = (value: (bytes: number) => string) => field('Content-Type', value);

const body = (contentType: string, text: Text) => (bytes: number) => {
  const made = text(bytes);
  const head = latin1(`${FROM_TO}Content-Type: ${contentType}\r\n\r\n`);
  return Buffer.concat([head, typeof made === 'string' ? Buffer.from(made) : made]);
};
const charset = (name: string, text: Text) => body(`text/plain; charset=${name}`, text);
const plain = (text: Text) => charset('utf-8', text);
const html = (text: Text) => body('text/html; charset=utf-8', text);
const encoded = (encoding: string, text: Text) =>
  body(`text/plain\r\nContent-Transfer-Encoding: ${encoding}`, text);
const parts = (kind: string, text: Text) => body(`multipart/${kind}; boundary=b`, text);
const multipart = (text: Text) => parts('mixed', text);

/** The beginning of a multipart in another one. */
const inner = (boundary: string, parameter = boundary): string =>
  `Content-Type: multipart/mixed; boundary=${parameter}\r\n\r\n--${boundary}\r\n`;
/** One of sixty boundaries that begin alike. */
const alike = (i: number): string => `${'b'.repeat(1 + (i % 60))} `;

/** Bytes that look random, the same in each run (a linear congruential generator). */
export function noise(bytes: number): Buffer {
  const made = Buffer.alloc(bytes);
  let state = 12_345;
  for (let at = 0; at < bytes; at++) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    made[at] = state >>> 16;
  }
  return made;
}

/** A multipart in a multipart and so on, whose boundaries each begin with the one before. */
const PREFIXES = series(7_000, (i) => inner('b'.repeat(i + 1), `"${'b'.repeat(i + 1)}"`));

const CHARSETS = ['iso-2022-jp', 'utf-7', 'hz-gb-2312', 'koi8-r', 'cp437', 'iso-2022-kr'];

const MAILS: Record<string, Bomb['mail']> = {
  'To of group names: a:a:a:': field('To', (n) => fill('a:', n)),
  'To of groups within groups, closed': field('To', (n) => nested('g:', ';', n)),
  'To of empty groups': field('To', (n) => fill('g:;,', n)),
  'To of commas': field('To', (n) => fill(',', n)),
  'To of opening angle brackets': field('To', (n) => fill('<', n)),
  'To of brackets that end at a comma': field('To', (n) => fill('<a@b,', n)),
  'To of brackets with comments': field('To', (n) => fill('<a(', n)),
  'To of nested comments': field('To', (n) => nested('(', ')', n)),
  'To of comments without an end': field('To', (n) => fill('(a ', n)),
  'To of one comment with escapes': field('To', (n) => `(${fill('\\(', n)}`),
  'To of quotes': field('To', (n) => fill('"', n)),
  'To of quoted strings without an address': field('To', (n) => fill('"a" ', n)),
  'To of address literals without an end': field('To', (n) => fill('a@[', n)),
  'To of words without an address': field('To', (n) => fill('a ', n)),
  'To of dots and at signs': field('To', (n) => fill('a@.', n)),
  'To of at signs': field('To', (n) => fill('@', n)),
  'To of source routes': field('To', (n) => `<${fill('@a,', n)}`),
  'To of mailboxes': field('To', (n) => fill('"A B" <a@example.com>,\r\n ', n)),
  'To of addresses without names': field('To', (n) => fill('a@b.test, ', n)),
  'To of opening parentheses': field('To', (n) => fill('(', n)),
  'To of opening quotes': field('To', (n) => fill('"a" "', n)),
  'To of quoted strings side by side': field('To', (n) => fill('"a"', n)),
  'To of dots and blanks': field('To', (n) => fill('a@b. ', n)),
  'To of encoded words': field('To', (n) => fill('=?utf-8?q?=C3=A9?= ', n)),
  'To fields, each one mailbox': (n) => latin1(`${fill('To: a@b.example\r\n', n)}\r\nbody`),

  'header fields a:': (n) => latin1(`${fill('a:\r\n', n)}\r\nbody`),
  'header fields with other names': (n) => latin1(`${series(n, (i) => `x${i}: y\r\n`)}\r\nbody`),
  'header lines without a colon': rest((n) => `${fill('abc\r\n', n)}\r\nbody`),
  'one header name without a colon': rest((n) => fill('a', n)),
  'a subject of folded blanks': field('Subject', (n) => fill('\r\n \t', n)),
  'a subject of control characters': field('Subject', (n) => fill('\x01', n)),
  'a field of folds': field('X', (n) => fill('a\r\n ', n)),
  'a field of carriage returns': field('X', (n) => fill('\r', n)),
  'a field of blanks': field('X', (n) => fill(' ', n)),
  'a subject of 8-bit bytes': field('Subject', (n) => fill('\xff', n)),
  'subject fields': rest((n) => `${fill('Subject: hello\r\n', n)}\r\nbody`),
  'Received fields': (n) =>
    latin1(
      `${fill('Received: from a by b with ESMTP id 1; Sun, 22 Nov 2026 01:00:00 +0000\r\n', n)}${FROM_TO}\r\nbody`,
    ),
  'References of ids': field('References', (n) => fill('<a@b>\r\n ', n)),
  'References of opening brackets': field('References', (n) => fill('<', n)),
  'a Date of blanks and comments': field('Date', (n) => `Sun, 22 Nov 2026 ${fill('( ) ', n)} 01:00:00 +0000`),
  'a Date of digits': field('Date', (n) => fill('1', n)),
  'List-Unsubscribe of brackets': field('List-Unsubscribe', (n) => fill('< ', n)),
  'List-Unsubscribe of links': field('List-Unsubscribe', (n) =>
    series(n, (i) => `<https://a.example/${i}>,\r\n `),
  ),
  'Message-ID of brackets': field('Message-ID', (n) => fill('<a', n)),
  'Content-Disposition and -ID of quotes': field('Content-ID', (n) => fill('<"', n)),
  'long field of one word': field('X-Long', (n) => fill('a', n)),

  'encoded words, quoted-printable': field('Subject', (n) => fill('=?utf-8?q?=C3=A9a_?=\r\n ', n)),
  'encoded words, base64': field('Subject', (n) => fill('=?utf-8?b?w6k=?=\r\n ', n)),
  'encoded words of unknown charsets': field('Subject', (n) => series(n, (i) => `=?x-${i}?q?=E9?=\r\n `)),
  'encoded words of many charsets': field('Subject', (n) =>
    series(n, (i) => `=?${CHARSETS[i % 6]}?q?=E9?= `),
  ),
  'encoded words without an end': field('Subject', (n) => fill('=?utf-8?q?a', n)),
  'encoded words of blanks without an end': field('X', (n) => fill('=?utf-8?q?a ', n)),
  'encoded words side by side': field('Subject', (n) => fill('=?utf-8?b?YWFh?=', n)),
  'encoded words of question marks': field('X', (n) => fill('=?utf-8?q??', n)),
  'starts of encoded words': field('Subject', (n) => fill('=?', n)),
  'question marks': field('Subject', (n) => `=?${fill('?', n)}`),
  'encoded words that continue one character': field('Subject', (n) =>
    fill('=?utf-8?q?=C3?= =?utf-8?q?=A9?= ', n),
  ),
  'one encoded word': field('Subject', (n) => `=?utf-8?q?${fill('=C3=A9', n)}?=`),
  'one encoded word, folded': field('Subject', (n) => `=?utf-8?b?${folded(fill('w6k=', n))}?=`),
  'encoded words in header fields': rest((n) => `${fill('x: =?utf-8?q?a?=\r\n', n)}\r\nbody`),

  parameters: type((n) => `text/plain${series(n, (i) => `; p${i}=v`)}`),
  'the same parameter': type((n) => `text/plain${fill('; p=v', n)}`),
  'parameters of semicolons': type((n) => `text/plain${fill(';', n)}`),
  'parameters of equals signs': type((n) => `text/plain;${fill('a=', n)}`),
  'parameters with quotes without an end': type((n) => `text/plain${fill('; a="', n)}`),
  'parameters with comments without an end': type((n) => `text/plain${fill('; (a', n)}`),
  'a type of comments without an end': type((n) => fill('a (', n)),
  'a type of blanks': type((n) => `${fill(' ', n)}x`),
  'a type of escapes in quotes': type((n) => `${fill('\\"', n)}"`),
  'parameter continuations': type((n) => `a/b${series(n, (i) => `; n*${i}*=%41`)}`),
  'parameter continuations in reverse order': type((n) => {
    const count = Math.floor(n / 16);
    return `text/plain${series(n, (i) => `; name*${Math.max(0, count - i)}*=%41`)}`;
  }),
  'parameter continuations with gaps': type(
    (n) => `text/plain${series(n, (i) => `; name*${(i * 7919) % 1000003}="a"`)}`,
  ),
  'one parameter of percent signs': type((n) => `text/plain; name*=utf-8''${fill('%', n)}`),
  'one parameter of percent codes': type((n) => `text/plain; name*=iso-2022-jp''${fill('%1B%24B', n)}`),
  'a file name of encoded words': type((n) => `application/pdf; name="${fill('=?utf-8?q?a?= ', n)}"`),
  'a type of slashes': type((n) => fill('a/', n)),
  'a transfer encoding of words': field('Content-Transfer-Encoding', (n) => fill('base6 ', n)),

  'empty parts': multipart((n) => fill('--b\r\n\r\n', n)),
  'parts without a header': multipart((n) => fill('--b\r\n\r\nx\r\n', n)),
  'parts with attachments': multipart((n) =>
    series(n, (i) => `--b\r\nContent-Disposition: attachment; filename=${i}\r\n\r\nx\r\n`),
  ),
  'lines that nearly match the boundary': body(`multipart/mixed; boundary=${fill('b', 60)}`, (n) =>
    fill(`--${fill('b', 59)}\r\n`, n),
  ),
  'lines of hyphens': multipart((n) => fill('--\r\n', n)),
  'nested multiparts and then nearly their boundaries': rest(
    (n) => `${PREFIXES}${fill(`--${'b'.repeat(61)}\r\n`, n)}`,
  ),
  'nested multiparts and then a line that is nearly a boundary': rest(
    (n) => `${PREFIXES}\r\n--b${fill(' ', n)}x\r\n`,
  ),
  'nested multiparts whose boundaries end outer ones': rest((n) => fill(PREFIXES, n)),
  'a line of hyphens': multipart((n) => fill('-', n)),
  'boundary lines with blanks': multipart((n) => fill(`--b${' '.repeat(900)}\r\n`, n)),
  'a boundary of blanks': body(`multipart/mixed; boundary="b${' '.repeat(60)}"`, (n) => fill('--b  \r\n', n)),
  'nested multiparts': rest((n) => series(n, (i) => inner(`b${i}`))),
  'nested multiparts with one boundary': rest((n) => fill(inner('b'), n)),
  'nested multiparts and then lines of hyphens': rest(
    (n) => series(12_000, (i) => inner(`b${i}`)) + fill('--b9999\r\n', n),
  ),
  'nested multiparts whose boundaries begin alike': rest((n) =>
    series(n, (i) => inner(alike(i), `"${alike(i)}"`)),
  ),
  'a chain of message/rfc822': (n) => latin1(fill('Content-Type: message/rfc822\r\n\r\n', n)),
  'parts of message/rfc822': multipart((n) =>
    fill('--b\r\nContent-Type: message/rfc822\r\n\r\nSubject: a\r\n\r\nb\r\n', n),
  ),
  'parts of multipart/digest': parts('digest', (n) => fill('--b\r\n\r\nSubject: a\r\n\r\nb\r\n', n)),
  'related parts with a start that none has': body('multipart/related; boundary=b; start="<x>"', (n) =>
    series(n, (i) => `--b\r\nContent-ID: <${i}>\r\nContent-Type: text/html\r\n\r\nx\r\n`),
  ),
  'text parts to be joined': multipart((n) => fill('--b\r\nContent-Type: text/plain\r\n\r\nx\r\n', n)),
  'html parts to be joined': multipart((n) => fill('--b\r\nContent-Type: text/html\r\n\r\n<b\r\n', n)),
  alternatives: parts('alternative', (n) => fill('--b\r\nContent-Type: text/html\r\n\r\n<p>x\r\n', n)),
  'parts with large headers': multipart((n) => fill(`--b\r\n${fill('x: y\r\n', 4_000)}\r\n`, n)),

  'uuencoded lines': encoded('uuencode', (n) => `begin 644 a\r\n${fill('!\r\n', n)}`),
  'starts of uuencoded files': plain((n) => fill('begin 644 a\r\n', n)),
  'starts of yEnc files': plain((n) => fill('=ybegin line=128 size=1 name=a\r\n', n)),
  'a uuencoded first line without an end': encoded('x-uue', (n) => `begin 644 ${fill('a', n)}`),
  'base64 with noise': encoded('base64', (n) => fill('-_A*\r\n', n)),
  'base64 of padding': encoded('base64', (n) => fill('=', n)),
  'base64 with padding behind each letter': encoded('base64', (n) => fill('Q=', n)),
  'base64 with padding in each line': encoded('base64', (n) => fill('QQ==\r\n', n)),
  'base64 of html tags': body('text/html\r\nContent-Transfer-Encoding: base64', (n) =>
    Buffer.from(fill('<b>', n * 0.74))
      .toString('base64')
      .replace(/.{76}/g, '$&\r\n'),
  ),
  'quoted-printable soft breaks': encoded('quoted-printable', (n) => fill('=\r\n', n)),
  'quoted-printable blanks behind equals signs': encoded('quoted-printable', (n) =>
    fill(`=${' '.repeat(2_000)}x`, n),
  ),
  'quoted-printable equals signs': encoded('quoted-printable', (n) => fill('=', n)),
  'quoted-printable equals signs and blanks': encoded('quoted-printable', (n) => fill('= ', n)),
  'quoted-printable blanks': encoded('quoted-printable', (n) => `${fill(' ', n)}=`),
  'quoted-printable NULs': encoded('quoted-printable', (n) => fill('=00', n)),

  'nested tags': html((n) => nested('<div>', '</div>', n)),
  'tags without an end tag': html((n) => fill('<b>', n)),
  'tags without a bracket': html((n) => fill('<b ', n)),
  'opening brackets': html((n) => fill('<', n)),
  'end tags': html((n) => fill('</b>', n)),
  'comments without an end': html((n) => fill('<!--', n)),
  'conditional comments': html((n) => fill('<!--[if mso]><b><![endif]-->', n)),
  'conditional comments without an end': html((n) => fill('<![if mso]>', n)),
  declarations: html((n) => fill('<!', n)),
  entities: html((n) => fill('&amp;&eacute;&#x41;', n)),
  ampersands: html((n) => fill('&', n)),
  'entities without an end': html((n) => `&${fill('a', n)}`),
  'numeric entities of control characters': html((n) => fill('&#1;', n)),
  attributes: html((n) => `<a ${fill('a=b ', n)}>`),
  'attributes without an end': html((n) => fill('<a href="', n)),
  'attributes of equals signs': html((n) => `<a ${fill('=', n)}`),
  'attributes with changing quotes': html((n) => fill(`<a href='"`, n)),
  'style elements': html((n) => fill('<style>a{}</style>', n)),
  'style elements without an end': html((n) => fill('<style>', n)),
  'css comments and rules': html((n) => `<style>${fill('/*a{', n)}`),
  'script elements without an end': html((n) => fill('<script><!--', n)),
  'title and textarea elements without an end': html((n) => fill('<textarea><title>', n)),
  'hidden elements': html((n) => nested('<div style="display:none">', '</div>', n)),
  'style attributes': html((n) => fill(`<i style="${fill('a:b;', 300)}">`, n)),
  links: html((n) => series(n, (i) => `<a href="https://a.example/${i}">verify</a>`)),
  'nested links': html((n) => fill('<a href="https://a.example/">x', n)),
  'nested links with other targets': html((n) => series(n, (i) => `<a href=h${i}>x`)),
  images: html((n) => fill('<img src="cid:a" alt="b">', n)),
  'table cells of one digit': html((n) => `<table>${fill('<tr><td>4<td>8<td>2<td>9<td>1<td>0', n)}`),
  'nested tables': html((n) => fill('<table><tr><td>', n)),
  'list items': html((n) => fill('<ul><li>a', n)),
  blanks: html((n) => fill(' \n\t', n)),
  'line breaks': html((n) => fill('<br>', n)),
  'style attributes without an end': html((n) => fill('<p style="url(//', n)),
  'imports in style elements without an end': html((n) => fill('<style>@import "', n)),
  'empty comments': html((n) => fill('<!---->', n)),
  'cid links in one attribute': html((n) => `<img src="${fill('cid:a ', n)}">`),
  'commas in a srcset': html((n) => `<img srcset="${fill(', ', n)}">`),
  'url( in a style sheet': html((n) => `<style>${fill('url(', n)}`),
  'url( and blanks': html((n) => `<style>${fill(`url(${' '.repeat(2_000)}`, n)}`),
  'blanks before the document': html((n) => `${fill(' ', n)}x`),
  'svg elements without an end': html((n) => fill('<svg>', n)),
  'elements within svg elements': html((n) => fill('<svg><p>', n)),
  'forms and buttons': html((n) => fill('<form><button><p>', n)),
  'end tags of other elements': html((n) => fill('<div>', n / 2) + fill('</p>', n / 2)),
  'invisible characters in html': html((n) => fill('&zwnj;&shy;\u200b', n)),

  'digits in one line': plain((n) => fill('1', n)),
  'groups of digits': plain((n) => fill('123 ', n)),
  codes: plain((n) => series(n, (i) => `Your code is ${100000 + (i % 900000)}. `)),
  'code words without a code': plain((n) => fill('code ', n)),
  'numbers among code words': plain((n) =>
    series(n, (i) => `enter code pin otp ${1000 + (i % 9000)} order `),
  ),
  'numbers in lines': plain((n) => series(n, (i) => `${1000 + ((i * 7) % 9000)}\n`)),
  'single characters with blanks': plain((n) => fill('4 ', n)),
  'single characters in lines': plain((n) => fill('A\n', n)),
  'single characters with tabs': plain((n) => fill('4\t', n)),
  'code-like words with hyphens': plain((n) => fill('AB12-', n)),
  'lower-case words with hyphens': plain((n) => fill('calm-', n)),
  'capital letters': plain((n) => fill('A', n)),
  'letters and digits': plain((n) => fill('a1', n)),
  'blanks before a line end': plain((n) => fill(`${' '.repeat(3_000)}x\n`, n)),
  'one line of blanks': plain((n) => `a${fill(' ', n)}`),
  'empty lines': plain((n) => fill('\n', n)),
  'lines of carriage returns': plain((n) => fill('\r', n)),
  'links in a text': plain((n) => series(n, (i) => `https://a.example/${i} `)),
  'starts of links': plain((n) => fill('https://', n)),
  'scheme separators': plain((n) => fill('://', n)),
  'schemes of letters': plain((n) => fill(`${'a'.repeat(40)}://`, n)),
  'a link without an end': plain((n) => `https://a.example/${fill('a', n)}`),
  'a link of closing brackets': plain((n) => `https://a.example/${fill(')', n)}`),
  'links of closing brackets': plain((n) => fill(`https://a.example/${fill(')]}', 10_000)} `, n)),
  'links of full stops': plain((n) => fill(`https://a.example/${fill('.', 10_000)} `, n)),
  'a link with parameters': plain((n) => fill(`https://a.example/?${fill('utm_a=b&', 15_000)} `, n)),
  'sentences of punctuation': plain((n) => fill('. ! ? ', n)),
  'Chinese without blanks': plain((n) => fill('您的验证码是一二三四五六七八九十', n / 3)),
  'Chinese with numbers': plain((n) => fill('您的验证码是482910请在十分钟内输入', n / 2.5)),
  'Thai without blanks': plain((n) => fill('รหัสยืนยันของคุณคือ', n / 3)),
  'combining characters': plain((n) => `e${fill('\u0301', n / 2)}`),
  'invisible characters': plain((n) => fill('\u200b1', n / 3)),
  'control characters': plain((n) => fill('\x01', n)),
  NULs: plain((n) => fill('\0', n)),
  'escapes and shifts': plain((n) => fill('\x1b\x0e', n)),
  'quotes and backslashes': plain((n) => fill('"\\', n)),
  'line separators': plain((n) => fill('\u2028', n / 3)),
  'a mail of no header': (n) => latin1(fill('\r\n', n)),
  'random bytes': (n) => noise(n),

  'broken utf-8': charset('utf-8', (n) => Buffer.alloc(n, 0xc3)),
  'surrogates in utf-8': charset('utf-8', (n) => Buffer.alloc(n, Buffer.from([0xed, 0xa0, 0x80]))),
  'surrogates in utf-16': charset('utf-16le', (n) => Buffer.alloc(n, Buffer.from([0x00, 0xd8]))),
  'iso-2022-jp escapes': charset('iso-2022-jp', (n) => fill('\x1b$B\x1b(B', n)),
  'iso-2022-kr shifts': charset('iso-2022-kr', (n) => `\x1b$)C${fill('\x0e!\x0f!', n)}`),
  'utf-7 shifts': charset('utf-7', (n) => fill('+AOk-', n)),
  'utf-7 without an end': charset('utf-7', (n) => `+${fill('AOkA', n)}`),
  'utf-7 plus signs': charset('utf-7', (n) => fill('+', n)),
  'hz shifts': charset('hz-gb-2312', (n) => fill('~{!!~}', n)),
  'hz tildes': charset('hz-gb-2312', (n) => fill('~', n)),
  'gb18030 broken': charset('gb18030', (n) => Buffer.alloc(n, Buffer.from([0x81, 0x30, 0x81]))),
  'big5 broken': charset('big5', (n) => Buffer.alloc(n, 0x81)),
  'euc-kr': charset('euc-kr', (n) => Buffer.alloc(n, Buffer.from([0xb0, 0xa1]))),
  cp437: charset('cp437', (n) => Buffer.alloc(n, 0xb0)),
  'utf-32': charset('utf-32', (n) => Buffer.alloc(n, 0xff)),
  'windows-1252 of 8-bit bytes': charset('windows-1252', (n) => Buffer.alloc(n, 0x80)),
  'a charset name without an end': type((n) => `text/plain; charset=${fill('x', n)}`),
};

export const BOMBS: readonly Bomb[] = Object.entries(MAILS).map(([name, mail]) => ({ name, mail }));

/** A mail of the bomb with this name. */
export function bombOf(name: string, bytes: number): Buffer {
  const bomb = BOMBS.find((one) => one.name === name);
  if (!bomb) throw new Error(`There is no bomb "${name}".`);
  return bomb.mail(bytes);
}
