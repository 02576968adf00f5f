import {
  alternative,
  base64,
  crlf,
  header,
  html,
  mjml,
  multipart,
  type NamedMail,
  part,
  text,
  transactional,
} from './building.ts';

const APP = '"Acme" <no-reply@acme.example>';

/** Lines whose Latin-1 letters are bytes: how a body in another charset travels. */
const raw = (lines: readonly string[], ...bytes: Buffer[]): Buffer => {
  const pieces = crlf(lines).toString('latin1').split('@BYTES@');
  return Buffer.concat(
    pieces.flatMap((piece, n) => [Buffer.from(piece, 'latin1'), bytes[n] ?? Buffer.alloc(0)]),
  );
};

/** "こんにちは。確認コードは482913です。" in ISO-2022-JP (RFC 1468). */
const JAPANESE = Buffer.from("\x1b$B$3$s$K$A$O!#3NG'%3!<%I$O\x1b(B482913\x1b$B$G$9!#\x1b(B", 'latin1');
/** "Ваш код: 482913" in KOI8-R. */
const RUSSIAN = Buffer.from('f7c1db20cbcfc43a20343832393133', 'hex');
/** "Bestätigen Sie Ihre Adresse – 12 €" in windows-1252. */
const GERMAN = Buffer.from(
  '426573 74e4 746967656e20536965204968726520416472657373652096203132 2080'.replaceAll(' ', ''),
  'hex',
);
/** "您的验证码是 482913。" in GB18030. */
const CHINESE = Buffer.from('c4fab5c4d1e9d6a4c2ebcac720343832393133a1a3', 'hex');

/** Languages, directions, charsets. */
export const INTERNATIONAL: NamedMail[] = [
  [
    'a mail in Hebrew, from right to left',
    crlf([
      ...header('=?UTF-8?B?15DXmdep15XXqCDXm9eq15XXkdeq?=', APP),
      alternative(
        'שלום עדה,\n\nלאישור הכתובת: https://acme.example/confirm?t=1',
        '<!doctype html><html lang="he" dir="rtl"><head><meta charset="utf-8"></head><body><table dir="rtl" width="100%"><tr><td align="right" style="direction:rtl;text-align:right"><p>שלום עדה,</p><p><a href="https://acme.example/confirm?t=1">לאישור הכתובת</a></p></td></tr></table></body></html>',
      ),
    ]),
  ],
  [
    'a newsletter in Arabic',
    crlf([
      ...header(
        '=?UTF-8?B?2LnYsdmI2LYg2KfZhNij2LPYqNmI2Lk=?=',
        '=?UTF-8?B?2KPZg9mF?= <news@acme.example>',
        'List-Unsubscribe: <https://acme.example/u/1>',
        'List-Unsubscribe-Post: List-Unsubscribe=One-Click',
      ),
      alternative(
        'عروض الأسبوع\n\nhttps://acme.example/offers\n\nإلغاء الاشتراك: https://acme.example/u/1',
        mjml(
          '<div dir="rtl"><p>عروض الأسبوع</p><p><a href="https://acme.example/offers">https://acme.example/offers</a></p><p><a href="https://acme.example/u/1">إلغاء الاشتراك</a></p></div>',
        ),
      ),
    ]),
  ],
  [
    'a code in ISO-2022-JP as Japanese phones have it',
    raw(
      [
        ...header(
          '=?ISO-2022-JP?B?GyRCM05HJyUzITwlSRsoQg==?=',
          '=?ISO-2022-JP?B?GyRCJSIlLyVfGyhC?= <no-reply@acme.example>',
        ),
        'Content-Type: text/plain; charset=ISO-2022-JP',
        'Content-Transfer-Encoding: 7bit',
        '',
        '@BYTES@',
      ],
      JAPANESE,
    ),
  ],
  [
    'a code in KOI8-R',
    raw(
      [
        ...header('=?KOI8-R?B?98HbIMvPxA==?=', APP),
        'Content-Type: text/plain; charset=koi8-r',
        'Content-Transfer-Encoding: 8bit',
        '',
        '@BYTES@',
      ],
      RUSSIAN,
    ),
  ],
  [
    'a confirmation in windows-1252',
    raw(
      [
        ...header('=?windows-1252?Q?Best=E4tigen_Sie_Ihre_Adresse?=', APP),
        'Content-Type: text/plain; charset="Windows-1252"',
        'Content-Transfer-Encoding: 8bit',
        '',
        '@BYTES@',
      ],
      GERMAN,
    ),
  ],
  [
    'a code in GB18030',
    raw(
      [
        ...header('=?gb18030?B?0enWpMLr?=', APP),
        'Content-Type: text/plain; charset=gb18030',
        'Content-Transfer-Encoding: 8bit',
        '',
        '@BYTES@',
      ],
      CHINESE,
    ),
  ],
  [
    'a mail in German, quoted-printable, with a long subject in two encoded words',
    crlf([
      ...header(
        '=?utf-8?q?Best=C3=A4tigen_Sie_bitte_Ihre_E-Mail-Adresse_f=C3=BCr_das_neue_K?=\n =?utf-8?q?undenkonto_bei_M=C3=BCller_=26_S=C3=B6hne?=',
        '=?utf-8?q?M=C3=BCller_=26_S=C3=B6hne?= <service@mueller.example>',
      ),
      multipart('alternative', [
        part(
          ['Content-Type: text/plain; charset="utf-8"', 'Content-Transfer-Encoding: quoted-printable'],
          'Gr=C3=BC=C3=9F Gott,\n\nbitte best=C3=A4tigen Sie Ihre Adresse: https://mueller.example/b?t=3D4711\n\nMit freundlichen Gr=C3=BC=C3=9Fen\nM=C3=BCller & S=C3=B6hne',
        ),
        part(
          ['Content-Type: text/html; charset="utf-8"', 'Content-Transfer-Encoding: quoted-printable'],
          '<p>Gr=C3=BC=C3=9F Gott,</p><p>bitte best=C3=A4tigen Sie Ihre Adresse: <a hr=\nef=3D"https://mueller.example/b?t=3D4711">https://mueller.example/b?t=3D4711</a></=\np><p>Mit freundlichen Gr=C3=BC=C3=9Fen<br>M=C3=BCller &amp; S=C3=B6hne</p>',
        ),
      ]),
    ]),
  ],
  [
    'a mail with an internationalised address (RFC 6532)',
    crlf([
      ...header('Willkommen, Jürgen', 'Jürgen <jürgen@müller.example>', 'To: <用户@例子.example>'),
      text('Willkommen!'),
    ]),
  ],
  [
    'a mail of emoji in base64',
    crlf([
      ...header('=?UTF-8?B?8J+OiSBZb3UgZGlkIGl0IQ==?=', APP),
      multipart('alternative', [
        part(
          ['Content-Type: text/plain; charset=UTF-8', 'Content-Transfer-Encoding: base64'],
          base64('🎉 You did it! Your store is open: https://acme.example/store'),
        ),
        part(
          ['Content-Type: text/html; charset=UTF-8', 'Content-Transfer-Encoding: base64'],
          base64(
            transactional(
              '<p>🎉 You did it! Your store is open: <a href="https://acme.example/store">https://acme.example/store</a></p>',
            ),
          ),
        ),
      ]),
    ]),
  ],
  [
    'a greeting in Thai without a plain text, single part',
    crlf([
      ...header('=?UTF-8?B?4Liq4Lin4Lix4Liq4LiU4Li1?=', APP),
      html(
        '<!doctype html><html lang="th"><head><meta charset="utf-8"></head><body><p>สวัสดี ยินดีต้อนรับ</p></body></html>',
      ),
    ]),
  ],
];
