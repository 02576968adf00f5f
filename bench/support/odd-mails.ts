import MailComposer from 'nodemailer/lib/mail-composer';

/*
 * Mails as programs write them, and as they should not be written: what the collections of other people
 * lack. One character a byte; CRLF line ends.
 */

const utf8 = (text: string) => Buffer.from(text).toString('latin1');
const HEAD = ['From: Ada <ada@sender.example>', 'To: test@mayfly.test', 'Subject: Hi', 'MIME-Version: 1.0'];
const text = (...header: string[]) => [
  'Content-Type: text/plain; charset=utf-8',
  ...header,
  '',
  'Your code is 482910.',
];
const page = (...header: string[]) => [
  'Content-Type: text/html; charset=utf-8',
  ...header,
  '',
  '<p>Your code is <b>482910</b>. <a href="https://app.example/verify?t=1&amp;u=2">Verify</a></p>',
];
const file = (type: string, ...header: string[]) => [`Content-Type: ${type}`, ...header, '', 'a,b', '1,2'];
const picture = (...header: string[]) => [
  'Content-Type: image/png',
  'Content-Transfer-Encoding: base64',
  ...header,
  '',
  'iVBORw0KGgo=',
];

function multipart(subtype: string, parameters: string, ...parts: string[][]): string[] {
  const boundary = `=_${subtype}_${parts.length}`;
  const inner = parts.flatMap((part) => [`--${boundary}`, ...part]);
  return [
    `Content-Type: multipart/${subtype}; boundary="${boundary}"${parameters}`,
    '',
    ...inner,
    `--${boundary}--`,
    '',
  ];
}

const alternative = (...more: string[][]) => multipart('alternative', '', text(), ...more, page());
const shapes: Record<string, string[]> = {
  'text alone': [...text(), ''],
  'page alone': [...page(), ''],
  'text and page': alternative(),
  'text and page and calendar': multipart(
    'alternative',
    '',
    text(),
    page(),
    file('text/calendar; method=REQUEST; charset=UTF-8'),
  ),
  'text, AMP and page': alternative(file('text/x-amp-html')),
  'page with pictures': multipart(
    'related',
    '; type="text/html"',
    page(),
    picture('Content-ID: <p@x>', 'Content-Disposition: inline'),
  ),
  'pictures before the page': multipart(
    'related',
    '; start="<root@x>"',
    picture('Content-ID: <p@x>'),
    page('Content-ID: <root@x>'),
  ),
  'a file': multipart(
    'mixed',
    '',
    alternative(),
    file('text/csv; name="a.csv"', 'Content-Disposition: attachment; filename="a.csv"'),
  ),
  'a file without a disposition': multipart(
    'mixed',
    '',
    alternative(),
    file('application/pdf; name="a.pdf"'),
  ),
  'a text file without a disposition': multipart('mixed', '', text(), file('text/plain; name="notes.txt"')),
  'named bodies': multipart(
    'alternative',
    '',
    text('Content-Disposition: inline; filename="mail.txt"'),
    page('Content-Disposition: inline; filename="mail.html"'),
  ),
  'a text between files': multipart('mixed', '', text(), picture(), text()),
  'a page between texts, as Apple Mail writes': multipart(
    'mixed',
    '',
    text(),
    page(),
    picture('Content-Disposition: inline; filename=p.png'),
    page(),
  ),
  'a list with a footer': multipart('mixed', '', alternative(), [
    'Content-Type: text/plain',
    'Content-Disposition: inline',
    '',
    '-- ',
    'list',
  ]),
  'a signed mail': multipart(
    'signed',
    '; micalg=pgp-sha1; protocol="application/pgp-signature"',
    text(),
    file('application/pgp-signature; name=signature.asc'),
  ),
  'a bounce': multipart('report', '; report-type=delivery-status', text(), file('message/delivery-status'), [
    'Content-Type: message/rfc822',
    '',
    ...HEAD,
    ...text(),
  ]),
  'a bounce with headers only': multipart(
    'report',
    '; report-type=delivery-status',
    text(),
    file('message/delivery-status'),
    file('text/rfc822-headers'),
  ),
  'a forwarded mail': multipart('mixed', '', text(), [
    'Content-Type: message/rfc822',
    'Content-Disposition: inline',
    '',
    ...HEAD,
    ...alternative(),
  ]),
  'a digest': multipart('digest', '', ['', ...HEAD, ...text()], ['', ...HEAD, ...text()]),
  'flowed text': ['Content-Type: text/plain; format=flowed', '', 'Your code ', 'is 482910.', ''],
  markdown: ['Content-Type: text/markdown', '', '# Your code', '', '**482910**', ''],
  'enriched beside plain': alternative(['Content-Type: text/enriched', '', '<bold>482910</bold>']),
  'Latin-1 in 8bit': ['Content-Type: text/plain; charset=iso-8859-1', '', 'Gr\xfc\xdfe', ''],
  'Windows-1251 in base64': [
    'Content-Type: text/plain; charset=windows-1251',
    'Content-Transfer-Encoding: base64',
    '',
    'z/Do4uXy',
    '',
  ],
  'ISO-2022-JP': ['Content-Type: text/plain; charset=iso-2022-jp', '', '\x1b$B%3!<%I\x1b(B 482910', ''],
  'GB 2312 without a charset': ['Content-Type: text/plain', '', '\xd1\xe9\xd6\xa4\xc2\xeb 482910', ''],
  'UTF-8 without a charset': ['Content-Type: text/plain', '', utf8('Prüfcode 482910'), ''],
  'UTF-8 declared as ASCII': [
    'Content-Type: text/html; charset=us-ascii',
    '',
    utf8('<p>Prüfcode 482910</p>'),
    '',
  ],
  'a page that names its charset': [
    'Content-Type: text/html',
    '',
    '<meta charset=windows-1251>\xcf\xf0\xe8',
    '',
  ],
  'UTF-16 in base64': [
    'Content-Type: text/plain; charset=utf-16',
    'Content-Transfer-Encoding: base64',
    '',
    '/v8AYwBvAGQAZQ==',
    '',
  ],
  'UTF-7': ['Content-Type: text/plain; charset=utf-7', '', 'caf+AOk- 482910', ''],
  HZ: ['Content-Type: text/plain; charset=hz-gb-2312', '', '~{VPND~} 482910', ''],
  'code page 850': ['Content-Type: text/plain; charset=ibm850', '', 'Pr\x81fcode 482910', ''],
  'quoted-printable with blanks at line ends': [
    'Content-Type: text/plain',
    'Content-Transfer-Encoding: quoted-printable',
    '',
    'one =',
    'two  ',
    'three=20',
    '',
  ],
  'a broken quoted-printable': [
    'Content-Type: text/plain',
    'Content-Transfer-Encoding: quoted-printable',
    '',
    '100% = =zz =e4=',
    '',
  ],
  uuencode: [
    'Content-Type: text/plain',
    'Content-Transfer-Encoding: x-uuencode',
    '',
    'begin 644 cat.txt',
    '#0V%T',
    '`',
    'end',
    '',
  ],
  'uuencode within a text': [
    'Content-Type: text/plain',
    '',
    'See the file.',
    'begin 644 cat.txt',
    '#0V%T',
    '`',
    'end',
    '',
  ],
  'a content type without a subtype': ['Content-Type: text', '', 'Your code is 482910.', ''],
  'a content type of nonsense': multipart('mixed', '', text(), file('foo; name=a.bin')),
  'a boundary without its semicolon': [
    'Content-Type: multipart/mixed boundary=x',
    '',
    '--x',
    ...text(),
    '--x--',
    '',
  ],
  'nothing but a header': [''],
  'an empty body': ['', ''],
  'an empty multipart': ['Content-Type: multipart/mixed; boundary=x', '', ''],
};

const fields: Record<string, string[]> = {
  'a mailbox line': ['From ada@sender.example Sat Nov 21 10:51:34 2026', 'Subject: Hi'],
  'a mailbox line without a date': ['From ada@sender.example', 'Subject: Hi'],
  'a line without a colon': ['From: a@b.example', 'oh no', 'Subject: Hi'],
  'a fold without its blank': ['Subject: Hi', 'there and back', 'From: a@b.example'],
  'no empty line': ['From: a@b.example', 'Your code is 482910'],
  'encoded words': [
    'Subject: =?utf-8?q?Pr=C3=BCf?= =?utf-8?q?code_482910?=',
    'From: =?iso-8859-1?Q?Andr=E9?= <a@b.example>',
  ],
  'encoded words cut within a character': [
    'Subject: =?utf-8?b?w6?= =?utf-8?b?k=?= =?utf-8?q?=C3?= =?utf-8?q?=A9?=',
  ],
  'raw bytes in an encoded word': ['Subject: =?iso-8859-1?Q?caf\xe9?='],
  'an encoded word with blanks and question marks': ['Subject: =?utf-8?Q?Are you there??= yes'],
  'a name that is an address': ['From: "a@b.example" <a@b.example>'],
  'comments in an address': ['From: Pete(A nice \\) chap) <pete(his account)@silly.test(his host)>'],
  'a quoted local part': ['To: "john doe"@b.example, J <"a b"@c.example>'],
  'a local sender': ['From: root', 'To: undisclosed-recipients:;'],
  'a comment as name': ['From: a@b.example (Ada Lovelace)', 'To: Cron <root>'],
  'two addresses in one': ['To: a@b.example c@d.example'],
  'an unquoted comma': ['To: Lovelace, Ada <a@b.example>'],
  'an unquoted @': ['From: ada@home <a@b.example>'],
  'an encoded mailbox': ['From: =?utf-8?q?Ada_=3Ca=40b.example=3E?='],
  'a route': ['To: Mary <@node.test:mary@example.net>, , jdoe@test  . example'],
  'raw UTF-8': [`Subject: ${utf8('Prüfcode')}`, `From: ${utf8('André')} <a@b.example>`],
  dates: [
    'Date: Sat, 21 Nov 2026 10:00:00 +0100 (CET)',
    'Message-ID: <1@b.example>',
    'References: <0@b.example> <x@y>',
  ],
};

const libraryMails = [
  { text: 'plain', html: '<p>page</p>' },
  { text: 'Grüße', attachments: [{ filename: 'Rechnung für Ada.pdf', content: 'PDF' }] },
  {
    html: '<img src="cid:p">',
    attachments: [{ filename: 'p.png', content: Buffer.from([0, 1, 13, 10]), cid: 'p' }],
  },
  {
    text: 'x',
    attachments: [
      { filename: 'a.txt', content: 'one\r\ntwo\r\n' },
      { filename: 'a.eml', contentType: 'message/rfc822', content: 'Subject: x\r\n\r\ny\r\n' },
    ],
  },
  { text: 'x', icalEvent: { method: 'REQUEST', content: 'BEGIN:VCALENDAR\r\nEND:VCALENDAR' } },
  { text: 'x', amp: '<html amp4email></html>', html: '<p>x</p>' },
];

/** Mails by what is odd about them. */
export async function oddMails(): Promise<Map<string, Buffer>> {
  const mails = new Map<string, Buffer>();
  const add = (name: string, lines: string[]) => mails.set(name, Buffer.from(lines.join('\r\n'), 'latin1'));
  for (const [name, lines] of Object.entries(shapes)) add(`shape: ${name}`, [...HEAD, ...lines]);
  for (const [name, lines] of Object.entries(fields))
    add(`header: ${name}`, [...lines, '', 'Your code is 482910.', '']);
  for (const [index, content] of libraryMails.entries()) {
    const options = { from: 'Ada <ada@sender.example>', to: 'test@mayfly.test', subject: 'Hi', ...content };
    mails.set(`library: ${index + 1}`, await new MailComposer(options).compile().build());
  }
  return mails;
}
