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

const field = (name: string, value: (bytes: number) => string): Bomb['mail'] => {
  return (bytes) => latin1(`${FROM_TO}${name}: ${value(bytes)}\r\n\r\nbody\r\n`);
};
const body = (header: string, text: (bytes: number) => string | Buffer): Bomb['mail'] => {
  return (bytes) => {
    const made = text(bytes);
    return Buffer.concat([
      latin1(`${FROM_TO}${header}\r\n\r\n`),
      typeof made === 'string' ? Buffer.from(made) : made,
    ]);
  };
};
const plain = (text: (bytes: number) => string | Buffer) =>
  body('Content-Type: text/plain; charset=utf-8', text);
const html = (text: (bytes: number) => string | Buffer) =>
  body('Content-Type: text/html; charset=utf-8', text);
const charset = (name: string, text: (bytes: number) => string | Buffer) =>
  body(`Content-Type: text/plain; charset=${name}`, text);
const encoded = (encoding: string, text: (bytes: number) => string | Buffer) =>
  body(`Content-Type: text/plain\r\nContent-Transfer-Encoding: ${encoding}`, text);
const multipart = (text: (bytes: number) => string) =>
  body('Content-Type: multipart/mixed; boundary=b', text);

const ADDRESSES: readonly Bomb[] = [
  { name: 'To of group names: a:a:a:', mail: field('To', (n) => fill('a:', n)) },
  { name: 'To of groups within groups, closed', mail: field('To', (n) => nested('g:', ';', n)) },
  { name: 'To of empty groups', mail: field('To', (n) => fill('g:;,', n)) },
  { name: 'To of commas', mail: field('To', (n) => fill(',', n)) },
  { name: 'To of opening angle brackets', mail: field('To', (n) => fill('<', n)) },
  { name: 'To of brackets that end at a comma', mail: field('To', (n) => fill('<a@b,', n)) },
  { name: 'To of brackets with comments', mail: field('To', (n) => fill('<a(', n)) },
  { name: 'To of nested comments', mail: field('To', (n) => nested('(', ')', n)) },
  { name: 'To of comments without an end', mail: field('To', (n) => fill('(a ', n)) },
  { name: 'To of one comment with escapes', mail: field('To', (n) => `(${fill('\\(', n)}`) },
  { name: 'To of quotes', mail: field('To', (n) => fill('"', n)) },
  { name: 'To of quoted strings without an address', mail: field('To', (n) => fill('"a" ', n)) },
  { name: 'To of address literals without an end', mail: field('To', (n) => fill('a@[', n)) },
  { name: 'To of words without an address', mail: field('To', (n) => fill('a ', n)) },
  { name: 'To of dots and at signs', mail: field('To', (n) => fill('a@.', n)) },
  { name: 'To of at signs', mail: field('To', (n) => fill('@', n)) },
  { name: 'To of source routes', mail: field('To', (n) => `<${fill('@a,', n)}`) },
  { name: 'To of mailboxes', mail: field('To', (n) => fill('"A B" <a@example.com>,\r\n ', n)) },
  { name: 'To of encoded words', mail: field('To', (n) => fill('=?utf-8?q?=C3=A9?= ', n)) },
  { name: 'To fields, each one mailbox', mail: (n) => latin1(`${fill('To: a@b.example\r\n', n)}\r\nbody`) },
];

const HEADERS: readonly Bomb[] = [
  { name: 'header fields a:', mail: (n) => latin1(`${fill('a:\r\n', n)}\r\nbody`) },
  {
    name: 'header fields with other names',
    mail: (n) => latin1(`${series(n, (i) => `x${i}: y\r\n`)}\r\nbody`),
  },
  { name: 'header lines without a colon', mail: (n) => latin1(`${FROM_TO}${fill('abc\r\n', n)}\r\nbody`) },
  { name: 'one header name without a colon', mail: (n) => latin1(FROM_TO + fill('a', n)) },
  { name: 'a subject of folded blanks', mail: field('Subject', (n) => fill('\r\n \t', n)) },
  { name: 'a subject of control characters', mail: field('Subject', (n) => fill('\x01', n)) },
  { name: 'a subject of 8-bit bytes', mail: field('Subject', (n) => fill('\xff', n)) },
  { name: 'subject fields', mail: (n) => latin1(`${FROM_TO}${fill('Subject: hello\r\n', n)}\r\nbody`) },
  {
    name: 'Received fields',
    mail: (n) =>
      latin1(
        `${fill('Received: from a by b with ESMTP id 1; Sun, 22 Nov 2026 01:00:00 +0000\r\n', n)}${FROM_TO}\r\nbody`,
      ),
  },
  { name: 'References of ids', mail: field('References', (n) => fill('<a@b>\r\n ', n)) },
  { name: 'References of opening brackets', mail: field('References', (n) => fill('<', n)) },
  {
    name: 'a Date of blanks and comments',
    mail: field('Date', (n) => `Sun, 22 Nov 2026 ${fill('( ) ', n)} 01:00:00 +0000`),
  },
  { name: 'a Date of digits', mail: field('Date', (n) => fill('1', n)) },
  { name: 'List-Unsubscribe of brackets', mail: field('List-Unsubscribe', (n) => fill('< ', n)) },
  {
    name: 'List-Unsubscribe of links',
    mail: field('List-Unsubscribe', (n) => series(n, (i) => `<https://a.example/${i}>,\r\n `)),
  },
  { name: 'Message-ID of brackets', mail: field('Message-ID', (n) => fill('<a', n)) },
  { name: 'Content-Disposition and -ID of quotes', mail: field('Content-ID', (n) => fill('<"', n)) },
  { name: 'long field of one word', mail: field('X-Long', (n) => fill('a', n)) },
];

const ENCODED_WORDS: readonly Bomb[] = [
  {
    name: 'encoded words, quoted-printable',
    mail: field('Subject', (n) => fill('=?utf-8?q?=C3=A9a_?=\r\n ', n)),
  },
  { name: 'encoded words, base64', mail: field('Subject', (n) => fill('=?utf-8?b?w6k=?=\r\n ', n)) },
  {
    name: 'encoded words of unknown charsets',
    mail: field('Subject', (n) => series(n, (i) => `=?x-${i}?q?=E9?=\r\n `)),
  },
  {
    name: 'encoded words of many charsets',
    mail: field('Subject', (n) =>
      series(
        n,
        (i) =>
          `=?${['iso-2022-jp', 'utf-7', 'hz-gb-2312', 'koi8-r', 'cp437', 'iso-2022-kr'][i % 6]}?q?=E9?= `,
      ),
    ),
  },
  { name: 'encoded words without an end', mail: field('Subject', (n) => fill('=?utf-8?q?a', n)) },
  { name: 'starts of encoded words', mail: field('Subject', (n) => fill('=?', n)) },
  { name: 'question marks', mail: field('Subject', (n) => `=?${fill('?', n)}`) },
  {
    name: 'encoded words that continue one character',
    mail: field('Subject', (n) => fill('=?utf-8?q?=C3?= =?utf-8?q?=A9?= ', n)),
  },
  { name: 'one encoded word', mail: field('Subject', (n) => `=?utf-8?q?${fill('=C3=A9', n)}?=`) },
  {
    name: 'one encoded word, folded',
    mail: field('Subject', (n) => `=?utf-8?b?${folded(fill('w6k=', n))}?=`),
  },
  {
    name: 'encoded words in header fields',
    mail: (n) => latin1(`${FROM_TO}${fill('x: =?utf-8?q?a?=\r\n', n)}\r\nbody`),
  },
];

const type = (value: (bytes: number) => string) => field('Content-Type', value);
const PARAMETERS: readonly Bomb[] = [
  { name: 'parameters', mail: type((n) => `text/plain${series(n, (i) => `; p${i}=v`)}`) },
  { name: 'the same parameter', mail: type((n) => `text/plain${fill('; p=v', n)}`) },
  { name: 'parameters of semicolons', mail: type((n) => `text/plain${fill(';', n)}`) },
  { name: 'parameters of equals signs', mail: type((n) => `text/plain;${fill('a=', n)}`) },
  { name: 'parameters with quotes without an end', mail: type((n) => `text/plain${fill('; a="', n)}`) },
  { name: 'parameters with comments without an end', mail: type((n) => `text/plain${fill('; (a', n)}`) },
  {
    name: 'parameter continuations in reverse order',
    mail: type((n) => {
      const count = Math.floor(n / 16);
      return `text/plain${series(n, (i) => `; name*${Math.max(0, count - i)}*=%41`)}`;
    }),
  },
  {
    name: 'parameter continuations with gaps',
    mail: type((n) => `text/plain${series(n, (i) => `; name*${(i * 7919) % 1000003}="a"`)}`),
  },
  { name: 'one parameter of percent signs', mail: type((n) => `text/plain; name*=utf-8''${fill('%', n)}`) },
  {
    name: 'one parameter of percent codes',
    mail: type((n) => `text/plain; name*=iso-2022-jp''${fill('%1B%24B', n)}`),
  },
  {
    name: 'a file name of encoded words',
    mail: type((n) => `application/pdf; name="${fill('=?utf-8?q?a?= ', n)}"`),
  },
  { name: 'a type of slashes', mail: type((n) => fill('a/', n)) },
  {
    name: 'a transfer encoding of words',
    mail: field('Content-Transfer-Encoding', (n) => fill('base6 ', n)),
  },
];

const MULTIPARTS: readonly Bomb[] = [
  { name: 'empty parts', mail: multipart((n) => fill('--b\r\n\r\n', n)) },
  { name: 'parts without a header', mail: multipart((n) => fill('--b\r\n\r\nx\r\n', n)) },
  {
    name: 'parts with attachments',
    mail: multipart((n) =>
      series(n, (i) => `--b\r\nContent-Disposition: attachment; filename=${i}\r\n\r\nx\r\n`),
    ),
  },
  {
    name: 'lines that nearly match the boundary',
    mail: body(`Content-Type: multipart/mixed; boundary=${fill('b', 60)}`, (n) =>
      fill(`--${fill('b', 59)}\r\n`, n),
    ),
  },
  { name: 'lines of hyphens', mail: multipart((n) => fill('--\r\n', n)) },
  { name: 'a line of hyphens', mail: multipart((n) => fill('-', n)) },
  { name: 'boundary lines with blanks', mail: multipart((n) => fill(`--b${' '.repeat(900)}\r\n`, n)) },
  {
    name: 'a boundary of blanks',
    mail: body(`Content-Type: multipart/mixed; boundary="b${' '.repeat(60)}"`, (n) => fill('--b  \r\n', n)),
  },
  {
    name: 'nested multiparts',
    mail: (n) =>
      latin1(FROM_TO + series(n, (i) => `Content-Type: multipart/mixed; boundary=b${i}\r\n\r\n--b${i}\r\n`)),
  },
  {
    name: 'nested multiparts with one boundary',
    mail: (n) => latin1(FROM_TO + fill('Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n', n)),
  },
  {
    name: 'nested multiparts and then lines of hyphens',
    mail: (n) =>
      latin1(
        FROM_TO +
          series(12_000, (i) => `Content-Type: multipart/mixed; boundary=b${i}\r\n\r\n--b${i}\r\n`) +
          fill('--b9999\r\n', n),
      ),
  },
  {
    name: 'nested multiparts whose boundaries begin alike',
    mail: (n) =>
      latin1(
        FROM_TO +
          series(
            n,
            (i) =>
              `Content-Type: multipart/mixed; boundary="${'b'.repeat(1 + (i % 60))} "\r\n\r\n--${'b'.repeat(1 + (i % 60))} \r\n`,
          ),
      ),
  },
  { name: 'a chain of message/rfc822', mail: (n) => latin1(fill('Content-Type: message/rfc822\r\n\r\n', n)) },
  {
    name: 'parts of message/rfc822',
    mail: multipart((n) => fill('--b\r\nContent-Type: message/rfc822\r\n\r\nSubject: a\r\n\r\nb\r\n', n)),
  },
  {
    name: 'parts of multipart/digest',
    mail: body('Content-Type: multipart/digest; boundary=b', (n) =>
      fill('--b\r\n\r\nSubject: a\r\n\r\nb\r\n', n),
    ),
  },
  {
    name: 'related parts with a start that none has',
    mail: body('Content-Type: multipart/related; boundary=b; start="<x>"', (n) =>
      series(n, (i) => `--b\r\nContent-ID: <${i}>\r\nContent-Type: text/html\r\n\r\nx\r\n`),
    ),
  },
  {
    name: 'text parts to be joined',
    mail: multipart((n) => fill('--b\r\nContent-Type: text/plain\r\n\r\nx\r\n', n)),
  },
  {
    name: 'html parts to be joined',
    mail: multipart((n) => fill('--b\r\nContent-Type: text/html\r\n\r\n<b\r\n', n)),
  },
  {
    name: 'alternatives',
    mail: body('Content-Type: multipart/alternative; boundary=b', (n) =>
      fill('--b\r\nContent-Type: text/html\r\n\r\n<p>x\r\n', n),
    ),
  },
  {
    name: 'parts with large headers',
    mail: multipart((n) => fill(`--b\r\n${fill('x: y\r\n', 4_000)}\r\n`, n)),
  },
];

const ENCODINGS: readonly Bomb[] = [
  { name: 'uuencoded lines', mail: encoded('uuencode', (n) => `begin 644 a\r\n${fill('!\r\n', n)}`) },
  { name: 'starts of uuencoded files', mail: plain((n) => fill('begin 644 a\r\n', n)) },
  { name: 'starts of yEnc files', mail: plain((n) => fill('=ybegin line=128 size=1 name=a\r\n', n)) },
  {
    name: 'a uuencoded first line without an end',
    mail: encoded('x-uue', (n) => `begin 644 ${fill('a', n)}`),
  },
  { name: 'base64 with noise', mail: encoded('base64', (n) => fill('-_A*\r\n', n)) },
  { name: 'base64 of padding', mail: encoded('base64', (n) => fill('=', n)) },
  { name: 'base64 with padding in each line', mail: encoded('base64', (n) => fill('QQ==\r\n', n)) },
  {
    name: 'base64 of html tags',
    mail: body('Content-Type: text/html\r\nContent-Transfer-Encoding: base64', (n) =>
      Buffer.from(fill('<b>', n * 0.74))
        .toString('base64')
        .replace(/.{76}/g, '$&\r\n'),
    ),
  },
  { name: 'quoted-printable soft breaks', mail: encoded('quoted-printable', (n) => fill('=\r\n', n)) },
  {
    name: 'quoted-printable blanks behind equals signs',
    mail: encoded('quoted-printable', (n) => fill(`=${' '.repeat(2_000)}x`, n)),
  },
  { name: 'quoted-printable equals signs', mail: encoded('quoted-printable', (n) => fill('=', n)) },
  { name: 'quoted-printable NULs', mail: encoded('quoted-printable', (n) => fill('=00', n)) },
];

const HTML: readonly Bomb[] = [
  { name: 'nested tags', mail: html((n) => nested('<div>', '</div>', n)) },
  { name: 'tags without an end tag', mail: html((n) => fill('<b>', n)) },
  { name: 'tags without a bracket', mail: html((n) => fill('<b ', n)) },
  { name: 'opening brackets', mail: html((n) => fill('<', n)) },
  { name: 'end tags', mail: html((n) => fill('</b>', n)) },
  { name: 'comments without an end', mail: html((n) => fill('<!--', n)) },
  { name: 'conditional comments', mail: html((n) => fill('<!--[if mso]><b><![endif]-->', n)) },
  { name: 'conditional comments without an end', mail: html((n) => fill('<![if mso]>', n)) },
  { name: 'declarations', mail: html((n) => fill('<!', n)) },
  { name: 'entities', mail: html((n) => fill('&amp;&eacute;&#x41;', n)) },
  { name: 'ampersands', mail: html((n) => fill('&', n)) },
  { name: 'entities without an end', mail: html((n) => `&${fill('a', n)}`) },
  { name: 'numeric entities of control characters', mail: html((n) => fill('&#1;', n)) },
  { name: 'attributes', mail: html((n) => `<a ${fill('a=b ', n)}>`) },
  { name: 'attributes without an end', mail: html((n) => fill('<a href="', n)) },
  { name: 'attributes of equals signs', mail: html((n) => `<a ${fill('=', n)}`) },
  { name: 'attributes with changing quotes', mail: html((n) => fill(`<a href='"`, n)) },
  { name: 'style elements', mail: html((n) => fill('<style>a{}</style>', n)) },
  { name: 'style elements without an end', mail: html((n) => fill('<style>', n)) },
  { name: 'css comments and rules', mail: html((n) => `<style>${fill('/*a{', n)}`) },
  { name: 'script elements without an end', mail: html((n) => fill('<script><!--', n)) },
  { name: 'title and textarea elements without an end', mail: html((n) => fill('<textarea><title>', n)) },
  { name: 'hidden elements', mail: html((n) => nested('<div style="display:none">', '</div>', n)) },
  { name: 'style attributes', mail: html((n) => fill(`<i style="${fill('a:b;', 300)}">`, n)) },
  { name: 'links', mail: html((n) => series(n, (i) => `<a href="https://a.example/${i}">verify</a>`)) },
  { name: 'nested links', mail: html((n) => fill('<a href="https://a.example/">x', n)) },
  { name: 'nested links with other targets', mail: html((n) => series(n, (i) => `<a href=h${i}>x`)) },
  { name: 'images', mail: html((n) => fill('<img src="cid:a" alt="b">', n)) },
  {
    name: 'table cells of one digit',
    mail: html((n) => `<table>${fill('<tr><td>4<td>8<td>2<td>9<td>1<td>0', n)}`),
  },
  { name: 'nested tables', mail: html((n) => fill('<table><tr><td>', n)) },
  { name: 'list items', mail: html((n) => fill('<ul><li>a', n)) },
  { name: 'blanks', mail: html((n) => fill(' \n\t', n)) },
  { name: 'line breaks', mail: html((n) => fill('<br>', n)) },
  { name: 'invisible characters in html', mail: html((n) => fill('&zwnj;&shy;\u200b', n)) },
];

const TEXTS: readonly Bomb[] = [
  { name: 'digits in one line', mail: plain((n) => fill('1', n)) },
  { name: 'groups of digits', mail: plain((n) => fill('123 ', n)) },
  { name: 'codes', mail: plain((n) => series(n, (i) => `Your code is ${100000 + (i % 900000)}. `)) },
  { name: 'code words without a code', mail: plain((n) => fill('code ', n)) },
  {
    name: 'numbers among code words',
    mail: plain((n) => series(n, (i) => `enter code pin otp ${1000 + (i % 9000)} order `)),
  },
  { name: 'numbers in lines', mail: plain((n) => series(n, (i) => `${1000 + ((i * 7) % 9000)}\n`)) },
  { name: 'single characters with blanks', mail: plain((n) => fill('4 ', n)) },
  { name: 'single characters in lines', mail: plain((n) => fill('A\n', n)) },
  { name: 'single characters with tabs', mail: plain((n) => fill('4\t', n)) },
  { name: 'code-like words with hyphens', mail: plain((n) => fill('AB12-', n)) },
  { name: 'lower-case words with hyphens', mail: plain((n) => fill('calm-', n)) },
  { name: 'capital letters', mail: plain((n) => fill('A', n)) },
  { name: 'letters and digits', mail: plain((n) => fill('a1', n)) },
  { name: 'blanks before a line end', mail: plain((n) => fill(`${' '.repeat(3_000)}x\n`, n)) },
  { name: 'one line of blanks', mail: plain((n) => `a${fill(' ', n)}`) },
  { name: 'empty lines', mail: plain((n) => fill('\n', n)) },
  { name: 'lines of carriage returns', mail: plain((n) => fill('\r', n)) },
  { name: 'links in a text', mail: plain((n) => series(n, (i) => `https://a.example/${i} `)) },
  { name: 'starts of links', mail: plain((n) => fill('https://', n)) },
  { name: 'scheme separators', mail: plain((n) => fill('://', n)) },
  { name: 'schemes of letters', mail: plain((n) => fill(`${'a'.repeat(40)}://`, n)) },
  { name: 'a link without an end', mail: plain((n) => `https://a.example/${fill('a', n)}`) },
  { name: 'a link of closing brackets', mail: plain((n) => `https://a.example/${fill(')', n)}`) },
  {
    name: 'links of closing brackets',
    mail: plain((n) => fill(`https://a.example/${fill(')]}', 10_000)} `, n)),
  },
  { name: 'links of full stops', mail: plain((n) => fill(`https://a.example/${fill('.', 10_000)} `, n)) },
  {
    name: 'a link with parameters',
    mail: plain((n) => fill(`https://a.example/?${fill('utm_a=b&', 15_000)} `, n)),
  },
  { name: 'sentences of punctuation', mail: plain((n) => fill('. ! ? ', n)) },
  { name: 'Chinese without blanks', mail: plain((n) => fill('您的验证码是一二三四五六七八九十', n / 3)) },
  { name: 'Chinese with numbers', mail: plain((n) => fill('您的验证码是482910请在十分钟内输入', n / 2.5)) },
  { name: 'Thai without blanks', mail: plain((n) => fill('รหัสยืนยันของคุณคือ', n / 3)) },
  { name: 'combining characters', mail: plain((n) => `e${fill('\u0301', n / 2)}`) },
  { name: 'invisible characters', mail: plain((n) => fill('\u200b1', n / 3)) },
  { name: 'control characters', mail: plain((n) => fill('\x01', n)) },
  { name: 'NULs', mail: plain((n) => fill('\0', n)) },
  { name: 'escapes and shifts', mail: plain((n) => fill('\x1b\x0e', n)) },
  { name: 'quotes and backslashes', mail: plain((n) => fill('"\\', n)) },
  { name: 'line separators', mail: plain((n) => fill('\u2028', n / 3)) },
  { name: 'a mail of no header', mail: (n) => latin1(fill('\r\n', n)) },
  { name: 'random bytes', mail: (n) => noise(n) },
];

const CHARSETS: readonly Bomb[] = [
  { name: 'broken utf-8', mail: charset('utf-8', (n) => Buffer.alloc(n, 0xc3)) },
  {
    name: 'surrogates in utf-8',
    mail: charset('utf-8', (n) => Buffer.alloc(n, Buffer.from([0xed, 0xa0, 0x80]))),
  },
  {
    name: 'surrogates in utf-16',
    mail: charset('utf-16le', (n) => Buffer.alloc(n, Buffer.from([0x00, 0xd8]))),
  },
  { name: 'iso-2022-jp escapes', mail: charset('iso-2022-jp', (n) => fill('\x1b$B\x1b(B', n)) },
  { name: 'iso-2022-kr shifts', mail: charset('iso-2022-kr', (n) => `\x1b$)C${fill('\x0e!\x0f!', n)}`) },
  { name: 'utf-7 shifts', mail: charset('utf-7', (n) => fill('+AOk-', n)) },
  { name: 'utf-7 without an end', mail: charset('utf-7', (n) => `+${fill('AOkA', n)}`) },
  { name: 'utf-7 plus signs', mail: charset('utf-7', (n) => fill('+', n)) },
  { name: 'hz shifts', mail: charset('hz-gb-2312', (n) => fill('~{!!~}', n)) },
  { name: 'hz tildes', mail: charset('hz-gb-2312', (n) => fill('~', n)) },
  {
    name: 'gb18030 broken',
    mail: charset('gb18030', (n) => Buffer.alloc(n, Buffer.from([0x81, 0x30, 0x81]))),
  },
  { name: 'big5 broken', mail: charset('big5', (n) => Buffer.alloc(n, 0x81)) },
  { name: 'euc-kr', mail: charset('euc-kr', (n) => Buffer.alloc(n, Buffer.from([0xb0, 0xa1]))) },
  { name: 'cp437', mail: charset('cp437', (n) => Buffer.alloc(n, 0xb0)) },
  { name: 'utf-32', mail: charset('utf-32', (n) => Buffer.alloc(n, 0xff)) },
  { name: 'windows-1252 of 8-bit bytes', mail: charset('windows-1252', (n) => Buffer.alloc(n, 0x80)) },
  { name: 'a charset name without an end', mail: type((n) => `text/plain; charset=${fill('x', n)}`) },
];

/** Bytes that look random, the same in each run (a linear congruential generator). */
function noise(bytes: number): Buffer {
  const made = Buffer.alloc(bytes);
  let state = 12_345;
  for (let at = 0; at < bytes; at++) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    made[at] = state >>> 16;
  }
  return made;
}

export const BOMBS: readonly Bomb[] = [
  ...ADDRESSES,
  ...HEADERS,
  ...ENCODED_WORDS,
  ...PARAMETERS,
  ...MULTIPARTS,
  ...ENCODINGS,
  ...HTML,
  ...TEXTS,
  ...CHARSETS,
];
