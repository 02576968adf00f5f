/*
 * Mails modelled on current newsletters and transactional mails that do everything right. A rule that finds
 * something in one of them is wrong, or too eager.
 */

const crlf = (lines: readonly string[]) => Buffer.from(`${lines.join('\r\n')}\r\n`);

function header(subject: string, ...more: string[]): string[] {
  return [
    'Date: Sun, 22 Nov 2026 10:00:00 +0000',
    'From: "Acme Shop" <no-reply@shop.example>',
    'To: Ada <ada@mayfly.test>',
    `Subject: ${subject}`,
    'Message-ID: <20261122100000.1@shop.example>',
    'MIME-Version: 1.0',
    ...more,
  ];
}

const alternative = (text: string, html: string): string[] => [
  'Content-Type: multipart/alternative; boundary="b1"',
  '',
  '--b1',
  'Content-Type: text/plain; charset=utf-8',
  'Content-Transfer-Encoding: 8bit',
  '',
  text,
  '--b1',
  'Content-Type: text/html; charset=utf-8',
  'Content-Transfer-Encoding: 8bit',
  '',
  html,
  '--b1--',
];

/** What builders of mails produce: tables, conditional comments for Outlook, media queries, a preheader. */
const template = (content: string): string =>
  [
    '<!doctype html>',
    '<html lang="en" xmlns:v="urn:schemas-microsoft-com:vml"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width">',
    '<!--[if mso]><style>table{border-collapse:collapse}</style><![endif]-->',
    '<style>@media (max-width:600px){.c{width:100% !important}} @font-face{font-family:Inter;src:url(https://fonts.shop.example/i.woff2)} a:hover{color:#036;transition:color .2s} .b{border-radius:4px;box-shadow:0 1px 2px #ccc}</style>',
    '</head><body style="margin:0;background-color:#fff">',
    '<div style="display:none;max-height:0;overflow:hidden">A short preview&zwnj;&nbsp;</div>',
    '<table role="presentation" width="100%"><tr><td align="center"><table class="c" width="600"><tr><td>',
    '<img src="https://cdn.shop.example/logo.png" alt="Acme Shop" width="120" height="40" style="display:block">',
    content,
    '<img src="https://track.shop.example/o/1.gif" width="1" height="1" style="display:block">',
    '</td></tr></table></td></tr></table></body></html>',
  ].join('\r\n');

export function wellMade(): [string, Buffer][] {
  const unsubscribe = [
    'List-Unsubscribe: <https://shop.example/u/abc>, <mailto:unsubscribe@shop.example>',
    'List-Unsubscribe-Post: List-Unsubscribe=One-Click',
  ];
  const verifyText =
    'Hello Ada,\r\n\r\nplease confirm your address:\r\nhttps://shop.example/confirm?token=abc\r\n\r\nThe link is valid for one hour.';
  const verifyHtml = template(
    '<p>Hello Ada,</p><p>please confirm your address:</p><a class="b" style="display:inline-block;padding:12px" href="https://shop.example/confirm?token=abc">Confirm</a><p>The link is valid for one hour.</p>',
  );
  const newsText =
    'New this week\r\n\r\nWarm socks, 12 €\r\nRound table, 99 €\r\n\r\nUnsubscribe: https://shop.example/u/abc';
  const newsHtml = template(
    '<h1>New this week</h1><table><tr><td><img src="https://cdn.shop.example/1.jpg" alt="Warm socks" width="280" height="200"><br>Warm socks, 12 €</td><td><img src="https://cdn.shop.example/2.jpg" alt="" width="280" height="200"><br>Round table, 99 €</td></tr></table><p><a href="https://shop.example/u/abc">Unsubscribe</a></p>',
  );
  return [
    [
      'a verification mail',
      crlf([...header('Please confirm your address'), ...alternative(verifyText, verifyHtml)]),
    ],
    [
      'a newsletter',
      crlf([
        ...header('=?utf-8?q?New_this_week=3A_12_=E2=82=AC?=', ...unsubscribe),
        ...alternative(newsText, newsHtml),
      ]),
    ],
    [
      'a code in plain text',
      crlf([...header('Your code'), 'Content-Type: text/plain; charset=utf-8', '', 'Your code is 482913.']),
    ],
    [
      'a plain mail without any MIME field',
      crlf([...header('Hello').filter((line) => !line.startsWith('MIME')), '', 'Hello Ada, see you at ten.']),
    ],
    [
      'a link of a development server',
      crlf([
        ...header('Reset your password'),
        ...alternative(
          'Reset: http://localhost:3000/reset?token=abc',
          '<p>Reset: <a href="http://localhost:3000/reset?token=abc">here</a></p>',
        ),
      ]),
    ],
    [
      'an invoice with a PDF and an inline logo',
      crlf([
        ...header('Your invoice'),
        'Content-Type: multipart/mixed; boundary="m"',
        '',
        '--m',
        'Content-Type: multipart/related; boundary="r"',
        '',
        '--r',
        ...alternative(
          'Your invoice 4711 is attached.',
          '<p><img src="cid:logo@shop.example" alt="Acme" width="80">Your invoice 4711 is attached.</p>',
        ),
        '--r',
        'Content-Type: image/png; name="logo.png"',
        'Content-ID: <logo@shop.example>',
        'Content-Disposition: inline; filename="logo.png"',
        'Content-Transfer-Encoding: base64',
        '',
        'iVBORw0KGgo=',
        '--r--',
        '--m',
        'Content-Type: application/pdf; name="invoice.pdf"',
        'Content-Disposition: attachment; filename="invoice.pdf"',
        'Content-Transfer-Encoding: base64',
        '',
        'JVBERi0xLjQK',
        '--m--',
      ]),
    ],
    [
      'a mailing list to discuss on',
      crlf([
        ...header(
          'Re: [list] Release',
          'List-Id: <list.example.org>',
          'List-Unsubscribe: <mailto:leave@list.example.org>',
          'Precedence: list',
          'In-Reply-To: <0@list.example.org>',
          'References: <0@list.example.org>',
        ),
        'Content-Type: text/plain; charset=utf-8; format=flowed',
        '',
        '> When is the release?',
        'Tomorrow.',
      ]),
    ],
    [
      'a mail in Japanese',
      crlf([
        ...header('=?utf-8?b?56K66KqN44Kz44O844OJ?='),
        ...alternative(
          '確認コード：482913\r\n10分以内に入力してください。',
          '<p>確認コード：<b>482913</b></p><p>10分以内に入力してください。</p>',
        ),
      ]),
    ],
  ];
}
