import {
  alternative,
  button,
  crlf,
  header,
  html,
  mjml,
  multipart,
  type NamedMail,
  ONE_CLICK,
  part,
  text,
  transactional,
} from './building.ts';

const SHOP = '"Ferngrove" <hello@mail.ferngrove.example>';
const APP = '"Lark" <no-reply@lark.example>';
/** Fills the preview of the list of mails. */
const FILLER = '&#847; &zwnj; &nbsp; &#8199; &shy; '.repeat(20);
const PREHEADER = `<div style="display:none;max-height:0px;overflow:hidden;mso-hide:all;">Your week in one minute.</div><div style="display:none;max-height:0px;overflow:hidden;">${FILLER}</div>`;
const BULLETPROOF = (href: string, label: string) =>
  `<!--[if mso]><v:roundrect xmlns:v="urn:schemas-microsoft-com:vml" xmlns:w="urn:schemas-microsoft-com:office:word" href="${href}" style="height:40px;v-text-anchor:middle;width:200px;" arcsize="10%" stroke="f" fillcolor="#1a73e8"><w:anchorlock/><center style="color:#ffffff;font-family:sans-serif;font-size:13px;font-weight:bold;">${label}</center></v:roundrect><![endif]--><!--[if !mso]><!--><a href="${href}" style="background-color:#1a73e8;border-radius:4px;color:#ffffff;display:inline-block;font-family:sans-serif;font-size:13px;font-weight:bold;line-height:40px;text-align:center;text-decoration:none;width:200px;-webkit-text-size-adjust:none;">${label}</a><!--<![endif]-->`;
const JSON_LD =
  '<script type="application/ld+json">{"@context":"http://schema.org","@type":"EmailMessage","potentialAction":{"@type":"ViewAction","target":"https://lark.example/v","name":"View"},"description":"View it"}</script>';

/** A second look at current mails, written before the rules were read: what senders added in the last years. */
export const CURRENT: NamedMail[] = [
  [
    'a code in boxes with a filled preheader',
    crlf([
      ...header('Lark code: 704-218', APP, 'Auto-Submitted: auto-generated'),
      alternative(
        'Confirm your email address\n\nYour confirmation code is 704-218.',
        transactional(
          `${PREHEADER}<h1>Confirm your email address</h1><p>Your confirmation code is</p><table role="presentation" cellspacing="8"><tr>${[...'704218'].map((digit) => `<td style="border:1px solid #cccccc;font-size:24px;padding:8px">${digit}</td>`).join('')}</tr></table>`,
        ),
      ),
    ]),
  ],
  [
    'a newsletter with dark mode by attribute and gradients with a plain colour behind',
    crlf([
      ...header('What is new in November', SHOP, ...ONE_CLICK, 'List-Id: <news.ferngrove.example>'),
      alternative(
        'What is new in November\n\nRead it: https://ferngrove.example/n/11\n\nUnsubscribe: https://news.example/u/9f8e7d',
        mjml(
          `<h1 style="background-color:#14532d;background-image:linear-gradient(#14532d,#166534);color:#ffffff">What is new in November</h1><p><a href="https://ferngrove.example/n/11">Read it</a></p><p><a href="https://news.example/u/9f8e7d">Unsubscribe</a></p>`,
          '<style>[data-ogsc] h1 { color: #ffffff !important; } [data-ogsb] h1 { background-color: #14532d !important; } @media (prefers-color-scheme: dark) { .dark { background: #111111 !important; } }</style>',
        ),
      ),
    ]),
  ],
  [
    'a button for Outlook in VML',
    crlf([
      ...header('Your report is ready', APP),
      alternative(
        'Your report is ready: https://lark.example/r/8812',
        transactional(
          `<p>Your report is ready.</p><p>${BULLETPROOF('https://lark.example/r/8812', 'Open the report')}</p>`,
        ),
      ),
    ]),
  ],
  [
    'an order with markup for assistants',
    crlf([
      ...header('Order 7741 received', SHOP),
      alternative(
        'Thanks! Order 7741: 2 x Fern, 36.00 EUR.',
        transactional(
          `${JSON_LD}<div itemscope itemtype="http://schema.org/Order"><meta itemprop="orderNumber" content="7741"><p>Thanks! Order 7741: 2 x Fern, 36.00 EUR.</p></div>`,
        ),
      ),
    ]),
  ],
  [
    'pictures for screens of any density, with a width and a height of auto',
    crlf([
      ...header('New arrivals', SHOP, ...ONE_CLICK),
      alternative(
        'New arrivals: https://ferngrove.example/new\n\nUnsubscribe: https://news.example/u/9f8e7d',
        mjml(
          '<a href="https://ferngrove.example/new"><img src="https://img.ferngrove.example/a@2x.jpg" width="552" alt="Ferns on a shelf" style="display:block;width:100%;max-width:552px;height:auto;border:0;"></a><img src="https://img.ferngrove.example/line.png" alt="" width="552" height="1" style="display:block"><p><a href="https://news.example/u/9f8e7d">Unsubscribe</a></p>',
        ),
      ),
    ]),
  ],
  [
    'a tracking pixel at the end',
    crlf([
      ...header('Your invoice 2044', APP),
      alternative(
        'Your invoice 2044 over $36.00 is paid.',
        transactional(
          '<p>Your invoice 2044 over $36.00 is paid.</p><img src="https://t.lark.example/o.gif?m=8812" width="1" height="1" alt="" border="0" style="height:1px!important;width:1px!important;border-width:0!important;margin:0!important;padding:0!important">',
        ),
      ),
    ]),
  ],
  [
    'an answer written in Outlook with the original below',
    crlf([
      ...header(
        'RE: Offer',
        '"Grace Hopper" <grace@navy.example>',
        'In-Reply-To: <a1@x.example>',
        'References: <a1@x.example>',
        'Thread-Topic: Offer',
      ),
      alternative(
        'Hi Ada,\n\nagreed.\n\nGrace\n\nFrom: Ada Lovelace\nSent: Friday\nSubject: Offer\n\nIs this fine?',
        '<html xmlns:v="urn:schemas-microsoft-com:vml" xmlns:o="urn:schemas-microsoft-com:office:office" xmlns:w="urn:schemas-microsoft-com:office:word" xmlns:m="http://schemas.microsoft.com/office/2004/12/omml" xmlns="http://www.w3.org/TR/REC-html40"><head><meta http-equiv="Content-Type" content="text/html; charset=utf-8"><meta name="Generator" content="Microsoft Word 15 (filtered medium)"><style><!--\n@font-face {font-family:Aptos; panose-1:2 11 0 4 2 2 2 2 2 4;}\np.MsoNormal, li.MsoNormal {margin:0cm; font-size:12.0pt; font-family:"Aptos",sans-serif; mso-ligatures:standardcontextual; mso-fareast-language:EN-US;}\n@page WordSection1 {size:612.0pt 792.0pt; margin:70.85pt 70.85pt 2.0cm 70.85pt;}\ndiv.WordSection1 {page:WordSection1;}\n--></style></head><body lang="EN-GB" link="#467886" vlink="#96607D" style="word-wrap:break-word"><div class="WordSection1"><p class="MsoNormal">Hi Ada,<o:p></o:p></p><p class="MsoNormal">agreed.<o:p></o:p></p><p class="MsoNormal">Grace</p><div style="border:none;border-top:solid #E1E1E1 1.0pt;padding:3.0pt 0cm 0cm 0cm"><p class="MsoNormal"><b>From:</b> Ada Lovelace<br><b>Sent:</b> Friday<br><b>Subject:</b> Offer</p></div><p class="MsoNormal">Is this fine?</p></div></body></html>',
      ),
    ]),
  ],
  [
    'a note from a telephone with a picture within',
    crlf([
      ...header('Photo', 'Ada <ada@home.example>', 'X-Mailer: iPhone Mail (22B91)'),
      multipart('mixed', [
        part(['Content-Type: text/plain; charset=us-ascii', 'Content-Transfer-Encoding: 7bit'], 'Look:\n'),
        part(
          [
            'Content-Type: image/jpeg; name=IMG_0412.jpg; x-apple-part-url=1F',
            'Content-Disposition: inline; filename=IMG_0412.jpg',
            'Content-Transfer-Encoding: base64',
          ],
          '/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAEBAQEBAQEBAQEBAQEBAQEBAQEBAQ==',
        ),
        part(
          ['Content-Type: text/plain; charset=us-ascii', 'Content-Transfer-Encoding: 7bit'],
          '\n\nSent from my iPhone',
        ),
      ]),
    ]),
  ],
  [
    'a message of a web mailer that quotes a newsletter',
    crlf([
      ...header('Fwd: What is new', 'Ada <ada@web.example>'),
      alternative(
        'FYI\n\n---------- Forwarded message ---------\nFrom: Ferngrove <hello@mail.ferngrove.example>\nSubject: What is new\n\nUnsubscribe: https://news.example/u/1',
        '<div dir="ltr">FYI<br><br><div class="gmail_quote gmail_quote_container"><div dir="ltr" class="gmail_attr">---------- Forwarded message ---------<br>From: <strong class="gmail_sendername" dir="auto">Ferngrove</strong> <span dir="auto">&lt;<a href="mailto:hello@mail.ferngrove.example">hello@mail.ferngrove.example</a>&gt;</span><br>Subject: What is new<br></div><u></u><a href="https://news.example/u/1" target="_blank">Unsubscribe</a></div></div>',
      ),
    ]),
  ],
  [
    'an invitation of a calendar with a file and a part for programs',
    crlf([
      ...header(
        'Invitation: Weekly sync @ Wed 25 Nov 2026 10:00 (CET)',
        '"Grace Hopper" <grace@cal.example>',
      ),
      multipart('mixed', [
        multipart(
          'alternative',
          [
            text('Weekly sync\nWednesday 25 Nov 2026, 10:00 CET'),
            html('<p><b>Weekly sync</b><br>Wednesday 25 Nov 2026, 10:00 CET</p>'),
            part(
              [
                'Content-Type: text/calendar; charset="UTF-8"; method=REQUEST',
                'Content-Transfer-Encoding: 7bit',
              ],
              'BEGIN:VCALENDAR\nMETHOD:REQUEST\nEND:VCALENDAR',
            ),
          ],
          'inner-7741',
        ),
        part(
          [
            'Content-Type: application/ics; name="invite.ics"',
            'Content-Disposition: attachment; filename="invite.ics"',
            'Content-Transfer-Encoding: 7bit',
          ],
          'BEGIN:VCALENDAR\nMETHOD:REQUEST\nEND:VCALENDAR',
        ),
      ]),
    ]),
  ],
  [
    'a digest of a forum with one click and a mark of the list',
    crlf([
      ...header(
        '[Meadow] Summary',
        '"Meadow" <forum@meadow.example>',
        ...ONE_CLICK,
        'List-Id: "Meadow" <meadow.meadow.example>',
        'Precedence: list',
        'X-Auto-Response-Suppress: All',
      ),
      alternative(
        '# Popular\n\nHow do you water ferns? https://meadow.example/t/41\n\nUnsubscribe: https://news.example/u/9f8e7d',
        '<table class="summary-email with-dir" border="0" cellspacing="0" cellpadding="0" bgcolor="#f3f3f3" style="border-collapse:collapse;border-spacing:0;width:100%" width="100%"><tr><td style="word-break:break-word"><h2>Popular</h2><p><a href="https://meadow.example/t/41">How do you water ferns?</a></p><p><a href="https://news.example/u/9f8e7d">Unsubscribe</a></p></td></tr></table>',
      ),
    ]),
  ],
  [
    'a comment of a code host, with reply address and list of the repository',
    crlf([
      ...header(
        'Re: [acme/shop] Fix rounding (PR #412)',
        '"grace" <notifications@codeberry.example>',
        'Reply-To: acme/shop <reply+ABC@reply.codeberry.example>',
        'In-Reply-To: <acme/shop/pull/412@codeberry.example>',
        'List-Id: shop <shop.acme.codeberry.example>',
        'List-Unsubscribe: <https://codeberry.example/notifications/unsubscribe-auth/ABC>',
        'List-Unsubscribe-Post: List-Unsubscribe=One-Click',
        'Precedence: list',
      ),
      alternative(
        '@grace approved this pull request.\n\n-- \nReply to this email directly or view it: https://codeberry.example/acme/shop/pull/412',
        '<p></p>\n<p dir="auto"><b>@grace</b> approved this pull request.</p>\n<p style="font-size:small;-webkit-text-size-adjust:none;color:#666;">&mdash;<br />Reply to this email directly or <a href="https://codeberry.example/acme/shop/pull/412">view it</a>.<img src="https://codeberry.example/notifications/beacon/ABC.gif" height="1" width="1" alt="" /></p>',
      ),
    ]),
  ],
  [
    'a bank in Arabic with both directions',
    crlf([
      ...header(
        '=?UTF-8?B?2LHZhdiyINin2YTYqtit2YLZgg==?=',
        '=?UTF-8?B?2KjZhtmD?= <no-reply@bank.example>',
        'Content-Language: ar',
      ),
      alternative(
        'رمز التحقق: 482913\nلا تشاركه مع أحد.',
        '<html dir="rtl" lang="ar"><head><title>رمز التحقق</title></head><body><p>رمز التحقق: <bdi>482913</bdi></p><p>لا تشاركه مع أحد.</p></body></html>',
      ),
    ]),
  ],
  [
    'a receipt with a table of amounts and a PDF',
    crlf([
      ...header('Receipt #2044-8817', '"Cloudspace" <receipts@cloudspace.example>'),
      multipart('mixed', [
        multipart(
          'alternative',
          [
            text('Receipt 2044-8817\nPro plan  36.00 USD\nTotal  36.00 USD'),
            html(
              transactional(
                '<h2>Receipt 2044-8817</h2><table width="100%"><tr><td>Pro plan</td><td align="right">36.00 USD</td></tr><tr><td><b>Total</b></td><td align="right"><b>36.00 USD</b></td></tr></table>',
              ),
            ),
          ],
          'inner-2044',
        ),
        part(
          [
            'Content-Type: application/pdf; name="Receipt-2044-8817.pdf"',
            'Content-Disposition: attachment; filename="Receipt-2044-8817.pdf"',
            'Content-Transfer-Encoding: base64',
          ],
          'JVBERi0xLjcKJeLjz9MKMSAwIG9iago8PD4+CmVuZG9iago=',
        ),
      ]),
    ]),
  ],
  [
    'a sale with a timer, a carousel for programs that know one, and a fallback',
    crlf([
      ...header('=?UTF-8?Q?=E2=8F=B0_Last_day:_20_%_off?=', SHOP, ...ONE_CLICK),
      alternative(
        'Last day: 20 % off with the code FERN20.\nhttps://ferngrove.example/sale\n\nUnsubscribe: https://news.example/u/9f8e7d',
        mjml(
          '<p>Last day: 20 % off with the code <b>FERN20</b>.</p><img src="https://timer.example/t.gif" alt="Ends tonight" width="300" height="80" style="display:block;margin:0 auto"><p><a href="https://ferngrove.example/sale">To the sale</a></p><p><a href="https://news.example/u/9f8e7d">Unsubscribe</a></p>',
          '<style>@media screen and (-webkit-min-device-pixel-ratio:0) { .only-webkit:hover { opacity: 0.9; } } a:hover { text-decoration: underline !important; }</style>',
        ),
      ),
    ]),
  ],
  [
    'a message with a part for AMP',
    crlf([
      ...header('Rate your order', SHOP),
      multipart('alternative', [
        text('How was order 7741? https://ferngrove.example/rate/7741'),
        part(
          ['Content-Type: text/x-amp-html; charset=utf-8', 'Content-Transfer-Encoding: 7bit'],
          '<!doctype html><html ⚡4email data-css-strict><head><meta charset="utf-8"></head><body>How was it?</body></html>'.replace(
            '⚡',
            'amp',
          ),
        ),
        html('<p>How was order 7741?</p><p><a href="https://ferngrove.example/rate/7741">Rate it</a></p>'),
      ]),
    ]),
  ],
  [
    'a report of a scheduled job',
    crlf([
      ...header(
        'Cron <deploy@web-1> /usr/local/bin/backup',
        'root@web-1.acme.example (Cron Daemon)',
        'Auto-Submitted: auto-generated',
        'Precedence: bulk',
        'X-Cron-Env: <SHELL=/bin/sh>',
      ),
      'Content-Type: text/plain; charset=UTF-8',
      'Content-Transfer-Encoding: 8bit',
      '',
      'backup: 412 files, 1.2 GB, 0 errors\n',
    ]),
  ],
  [
    'a letter in German with umlauts in every name',
    crlf([
      ...header(
        '=?utf-8?Q?Ihre_Bestellung_f=C3=BCr_M=C3=BCnchen?=',
        '=?utf-8?Q?B=C3=BCcherei_M=C3=BCller?= <info@xn--mller-kva.example>',
        'To: =?utf-8?Q?J=C3=B6rg_Wei=C3=9F?= <joerg@mayfly.test>',
      ),
      alternative(
        'Guten Tag Herr Weiß,\n\nIhre Bestellung ist da.',
        transactional('<p>Guten Tag Herr Weiß,</p><p>Ihre Bestellung ist da.</p>'),
      ),
    ]),
  ],
  [
    'an invitation to sign a document',
    crlf([
      ...header(
        'Complete with Signwell: Lease.pdf',
        '"Bright Homes via Signwell" <dse@eu.signwell.example>',
        'Reply-To: Bright Homes <lease@brighthomes.example>',
        'Sender: <dse@eu.signwell.example>',
      ),
      alternative(
        'Bright Homes sent you a document to review and sign.\n\nhttps://eu.signwell.example/s?a=5f1c\n\nDo not share this email.',
        `<!DOCTYPE html><html><head><meta charset="utf-8"></head><body style="margin:0;background:#eaeaea">${transactional(`<p>Bright Homes sent you a document to review and sign.</p>${button('https://eu.signwell.example/s?a=5f1c', 'Review document')}<p>Do not share this email.</p>`).replace(/^.*?<body>|<\/body>.*$/gs, '')}</body></html>`,
      ),
    ]),
  ],
  [
    'a signed message of a person',
    crlf([
      ...header(
        'Minutes',
        '"Grace Hopper" <grace@navy.example>',
        'Autocrypt: addr=grace@navy.example; keydata=xjMEZ',
      ),
      `Content-Type: multipart/signed; micalg=pgp-sha512; protocol="application/pgp-signature"; boundary="sig"\n\n--sig\nContent-Type: text/plain; charset=UTF-8; format=flowed\nContent-Transfer-Encoding: base64\n\nU2VlIHlvdSBvbiBXZWRuZXNkYXkuCg==\n\n--sig\nContent-Type: application/pgp-signature; name="OpenPGP_signature.asc"\nContent-Description: OpenPGP digital signature\nContent-Disposition: attachment; filename="OpenPGP_signature.asc"\n\n-----BEGIN PGP SIGNATURE-----\n\nwsB5\n-----END PGP SIGNATURE-----\n\n--sig--`,
    ]),
  ],
];
