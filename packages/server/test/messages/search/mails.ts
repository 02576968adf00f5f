// The mails that every query of queries.ts is asked over, written before the search they judge.

/** A mail, the inbox that takes it, and what is done to it afterwards. */
export interface SearchedMail {
  name: string;
  inbox: 'ada' | 'shop' | 'ops';
  /** When it arrives. Mails of the table arrive in its order. */
  at: string;
  raw: string;
  /** Recipient of the envelope, if it is not the address of the inbox; `*` is the domain of the catch-all. */
  rcptTo?: string;
  read?: true;
  tags?: string[];
}

interface Parts {
  from?: string;
  to?: string;
  subject?: string | null;
  headers?: string[];
  /** Content-Type and the rest of the body's header, default plain UTF-8 text. */
  type?: string[];
  body?: string;
}

const UTF8 = ['Content-Type: text/plain; charset=utf-8', 'Content-Transfer-Encoding: 8bit'];
const HTML = ['Content-Type: text/html; charset=utf-8', 'Content-Transfer-Encoding: 8bit'];

function raw({
  from = 'Ops Robot <robot@machines.test>',
  to = 'someone@elsewhere.test',
  subject = 'Notice',
  headers = [],
  type = UTF8,
  body = 'Nothing to see.',
}: Parts) {
  return [
    `From: ${from}`,
    `To: ${to}`,
    ...(subject === null ? [] : [`Subject: ${subject}`]),
    'MIME-Version: 1.0',
    ...headers,
    ...type,
    '',
    body.replaceAll('\n', '\r\n'),
    '',
  ].join('\r\n');
}

function parts(kind: string, ...inner: string[]): Pick<Parts, 'type' | 'body'> {
  return {
    type: [`Content-Type: multipart/${kind}; boundary="b0"`],
    body: `${inner.map((part) => `--b0\n${part}\n`).join('')}--b0--`,
  };
}

const base64 = (text: string) => Buffer.from(text).toString('base64');
const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const filler = (bytes: number) => 'lorem ipsum dolor sit amet consectetur\n'.repeat(Math.ceil(bytes / 39));

const DAY1 = '2026-11-19T09:00:00.000Z';
const DAY2 = '2026-11-20T09:00:00.000Z';
const DAY3 = '2026-11-21T09:00:00.000Z';
const LAST_OF_DAY3 = '2026-11-21T23:59:59.999Z';
const FIRST_OF_DAY4 = '2026-11-22T00:00:00.000Z';
const DAY4 = '2026-11-22T09:00:00.000Z';

export const MAILS: SearchedMail[] = [
  // ── 19 November: words and phrases ──
  {
    name: 'welcome',
    inbox: 'ada',
    at: DAY1,
    raw: raw({
      from: 'Acme Store <hello@acme.test>',
      subject: 'Welcome to Acme',
      body: 'Hi there,\nthanks for joining. Your account is ready.',
    }),
    read: true,
  },
  {
    name: 'weekly-passed',
    inbox: 'ada',
    at: DAY1,
    raw: raw({
      from: 'ci@builds.test',
      subject: 'Weekly build 1041 passed',
      body: 'All 512 tests are green on main.',
    }),
    tags: ['ci'],
  },
  {
    name: 'weekly-failed',
    inbox: 'ada',
    at: DAY1,
    raw: raw({
      from: 'ci@builds.test',
      subject: 'Weekly build 1042 failed',
      body: '3 tests are red on main.',
    }),
    tags: ['ci', 'Needs Work'],
  },
  {
    name: 'weekly-in-text',
    inbox: 'ada',
    at: DAY1,
    raw: raw({
      from: 'Reports <reports@intranet.test>',
      subject: 'Build report',
      body: 'The weekly figures follow below.',
    }),
  },
  {
    name: 'weekly-in-name',
    inbox: 'ops',
    at: DAY1,
    raw: raw({
      from: 'The Weekly <editor@paper.test>',
      subject: 'Latest stories',
      body: 'How to build a shed.',
    }),
  },
  {
    name: 'digest-html',
    inbox: 'ada',
    at: DAY1,
    raw: raw({
      subject: 'Your digest',
      type: HTML,
      body: '<p>Your <b>wee</b>kly digest has three stories.</p>',
    }),
  },
  {
    name: 'shipped-wrapped',
    inbox: 'shop',
    at: DAY1,
    raw: raw({
      from: 'Parcels <dispatch@parcels.test>',
      subject: 'On its way',
      body: 'Good news: your order\nhas shipped today.',
    }),
  },
  {
    name: 'shipped-apart',
    inbox: 'shop',
    at: DAY1,
    raw: raw({
      from: 'Parcels <dispatch@parcels.test>',
      subject: 'A question',
      body: 'It has been a while: was the order shipped to the right door?',
    }),
  },
  {
    name: 'shipped-html',
    inbox: 'shop',
    at: DAY1,
    raw: raw({
      from: 'Parcels <dispatch@parcels.test>',
      subject: 'Under way',
      type: HTML,
      body: '<div>Your <i>order</i></div>\n<div>has <b>shipped</b> again.</div>',
    }),
  },
  { name: 'double-space', inbox: 'ops', at: DAY1, raw: raw({ subject: 'Double  blank   subject' }) },
  {
    name: 'folded-subject',
    inbox: 'ops',
    at: DAY1,
    raw: raw({ subject: 'A subject that is folded right\r\n across two lines' }),
  },
  {
    name: 'no-break-space',
    inbox: 'ops',
    at: DAY1,
    raw: raw({ subject: 'Receipt', body: 'Total 42,00\u00a0€ paid.' }),
  },
  {
    name: 'hyphens',
    inbox: 'ops',
    at: DAY1,
    raw: raw({ subject: 'Double-opt-in for your e-mail', body: 'Confirm it - please.' }),
  },
  { name: 'quotes', inbox: 'ops', at: DAY1, raw: raw({ subject: 'He said "yes" to the 24" screen' }) },
  {
    name: 'operators-in-text',
    inbox: 'ops',
    at: DAY1,
    raw: raw({
      subject: 'Search tips',
      body: 'Write is:read or from:ada to find things; form:ada is a typo.',
    }),
  },

  // ── 20 November: addresses ──
  {
    name: 'display-name',
    inbox: 'ada',
    at: DAY2,
    raw: raw({ from: 'Grace Hopper <noreply@navy.test>', subject: 'Compilers' }),
  },
  {
    name: 'hopper-in-text',
    inbox: 'ada',
    at: DAY2,
    raw: raw({ subject: 'History', body: 'Grace Hopper wrote the first compiler.' }),
  },
  {
    name: 'encoded-name',
    inbox: 'ada',
    at: DAY2,
    raw: raw({
      from: '=?UTF-8?Q?J=C3=BCrgen_M=C3=BCller?= <jm@firma.test>',
      subject: '=?UTF-8?B?R3LDvMOfZSBhdXMgS8O2bG4=?=',
    }),
  },
  {
    name: 'upper-case-address',
    inbox: 'ada',
    at: DAY2,
    raw: raw({ from: 'BILLING@LEDGERS.TEST', subject: 'STATEMENT OF NOVEMBER' }),
  },
  {
    name: 'cc-bob',
    inbox: 'ada',
    at: DAY2,
    raw: raw({
      to: 'Team <team@crew.test>',
      headers: ['Cc: Bob Marley <bob@reggae.test>'],
      subject: 'Minutes',
    }),
  },
  {
    name: 'to-bob',
    inbox: 'ops',
    at: DAY2,
    raw: raw({ to: 'Bob Marley <bob@reggae.test>', subject: 'Setlist' }),
  },
  {
    name: 'from-bob',
    inbox: 'ops',
    at: DAY2,
    raw: raw({ from: 'Bob Marley <bob@reggae.test>', subject: 'Encore' }),
  },
  {
    name: 'bob-in-text',
    inbox: 'ops',
    at: DAY2,
    raw: raw({ subject: 'Fan mail', body: 'Forward this to bob@reggae.test please.' }),
  },
  {
    name: 'blind-copy',
    inbox: 'ada',
    at: DAY2,
    raw: raw({ to: 'undisclosed-recipients:;', subject: 'Secret meeting' }),
    rcptTo: 'ada+secret@mayfly.test',
  },
  {
    name: 'plus-address',
    inbox: 'ada',
    at: DAY2,
    raw: raw({ to: 'ada+newsletter@mayfly.test', subject: 'Issue 12' }),
    rcptTo: 'ada+newsletter@mayfly.test',
  },
  {
    name: 'catch-all-1',
    inbox: 'shop',
    at: DAY2,
    raw: raw({ to: 'customer@shop.test', subject: 'Please confirm', body: 'Follow the link.' }),
    rcptTo: 'signup-1@*',
  },
  {
    name: 'catch-all-2',
    inbox: 'shop',
    at: DAY2,
    raw: raw({ to: 'customer@shop.test', subject: 'Please confirm', body: 'Follow the link.' }),
    rcptTo: 'signup-2@*',
  },
  {
    name: 'message-id',
    inbox: 'ops',
    at: DAY2,
    raw: raw({ headers: ['Message-ID: <CAF123.456-Xy@outbox.sender.test>'], subject: 'Numbered' }),
  },
  {
    name: 'message-id-quoted',
    inbox: 'ops',
    at: DAY2,
    raw: raw({
      headers: ['In-Reply-To: <CAF123.456-Xy@outbox.sender.test>', 'Message-ID: <other.1@replies.test>'],
      subject: 'Re: Numbered',
    }),
  },

  // ── 21 November: what a mail is made of ──
  {
    name: 'code-digits',
    inbox: 'ada',
    at: DAY3,
    raw: raw({
      from: 'Acme Login <login@acme.test>',
      subject: 'Your sign-in code',
      body: 'Your verification code is 482913. It expires in 10 minutes.',
    }),
  },
  {
    name: 'code-letters',
    inbox: 'ada',
    at: DAY3,
    raw: raw({
      from: 'Acme Login <login@acme.test>',
      subject: 'Confirm your device',
      body: 'Your verification code is 7F3K-92QD.',
    }),
  },
  {
    name: 'invoice-pdf',
    inbox: 'ada',
    at: DAY3,
    raw: raw({
      from: 'Acme Billing <billing@acme.test>',
      subject: 'Invoice 482913',
      ...parts(
        'mixed',
        'Content-Type: text/plain\n\nThe invoice 482913 of November is enclosed.',
        `Content-Type: application/pdf; name="papaya.pdf"\nContent-Disposition: attachment; filename="papaya.pdf"\nContent-Transfer-Encoding: base64\n\n${base64('%PDF-1.4')}`,
      ),
    }),
    tags: ['billing'],
  },
  {
    name: 'invoice-text',
    inbox: 'ada',
    at: DAY3,
    raw: raw({
      from: 'Acme Billing <billing@acme.test>',
      subject: 'A reminder',
      body: 'Your invoice is still open.',
    }),
    read: true,
    tags: ['Billing', 'café'],
  },
  {
    name: 'inline-image',
    inbox: 'ops',
    at: DAY3,
    raw: raw({
      subject: 'Picture postcard',
      ...parts(
        'related',
        'Content-Type: text/html\n\n<p>Look: <img src="cid:pic" alt="guava"></p>',
        `Content-Type: image/png\nContent-ID: <pic>\nContent-Disposition: inline\nContent-Transfer-Encoding: base64\n\n${PIXEL}`,
      ),
    }),
  },
  {
    name: 'text-attachment',
    inbox: 'ops',
    at: DAY3,
    raw: raw({
      subject: 'Recipe',
      ...parts(
        'mixed',
        'Content-Type: text/plain\n\nSee the file.',
        'Content-Type: text/plain\nContent-Disposition: attachment; filename="recipe.txt"\n\nmarzipan and almonds',
      ),
    }),
  },
  {
    name: 'forwarded',
    inbox: 'ops',
    at: DAY3,
    raw: raw({
      subject: 'Fwd: look',
      ...parts(
        'mixed',
        'Content-Type: text/plain\n\nSee the mail below.',
        'Content-Type: message/rfc822\nContent-Disposition: attachment\n\nFrom: x@kumquat.test\nSubject: kumquat\n\nkumquat',
      ),
    }),
  },
  {
    name: 'alternatives',
    inbox: 'ops',
    at: DAY3,
    raw: raw({
      subject: 'Two faces',
      ...parts(
        'alternative',
        'Content-Type: text/plain\n\nonlyinplain words',
        'Content-Type: text/html\n\n<p>onlyinhtml words</p>',
      ),
    }),
  },
  {
    name: 'style-and-comment',
    inbox: 'ops',
    at: DAY3,
    raw: raw({
      subject: 'Bread news',
      type: HTML,
      body: '<style>.pumpernickel { color: red }</style><!-- pumpernickel --><p>Sourdough is back.</p>',
    }),
  },
  {
    name: 'pumpernickel',
    inbox: 'ops',
    at: DAY3,
    raw: raw({ subject: 'Bread offers', type: HTML, body: '<p>Fresh pumpernickel today.</p>' }),
  },
  {
    name: 'link-target',
    inbox: 'ops',
    at: DAY3,
    raw: raw({
      subject: 'Open it',
      type: HTML,
      body: '<a href="https://go.test/?campaign=zanzibar">Open</a>',
    }),
  },
  {
    name: 'link-in-text',
    inbox: 'ops',
    at: DAY3,
    raw: raw({ subject: 'A page', body: 'Go to https://go.test/path?trip=zanzibar now.' }),
  },
  {
    name: 'quoted-printable',
    inbox: 'ops',
    at: DAY3,
    raw: raw({
      subject: 'Soft breaks',
      type: ['Content-Type: text/plain; charset=utf-8', 'Content-Transfer-Encoding: quoted-printable'],
      body: 'Your reser=\nvation for caf=C3=A9 Zeppelin is ready.',
    }),
  },
  {
    name: 'base64-text',
    inbox: 'ops',
    at: DAY3,
    raw: raw({
      subject: 'Packed',
      type: ['Content-Type: text/plain; charset=utf-8', 'Content-Transfer-Encoding: base64'],
      body: base64('The tangerine express leaves at 12:30 sharp.'),
    }),
  },
  {
    name: 'latin-1',
    inbox: 'ops',
    at: DAY3,
    raw: raw({
      subject: 'Reise',
      type: ['Content-Type: text/plain; charset=iso-8859-1', 'Content-Transfer-Encoding: quoted-printable'],
      body: 'Zug nach M=FCnchen.',
    }),
  },
  {
    name: 'decomposed',
    inbox: 'ops',
    at: DAY3,
    raw: raw({ subject: `=?UTF-8?B?${base64('Treffen im Bahnhofscafé Zürich'.normalize('NFD'))}?=` }),
  },
  {
    name: 'cyrillic',
    inbox: 'ops',
    at: DAY3,
    raw: raw({ subject: `=?UTF-8?B?${base64('Подтверждение Регистрации')}?=`, body: 'Добро пожаловать!' }),
  },
  {
    name: 'japanese',
    inbox: 'ops',
    at: DAY3,
    raw: raw({ subject: `=?UTF-8?B?${base64('注文の確認 4711')}?=`, body: 'ご注文ありがとうございます。' }),
  },
  {
    name: 'emoji',
    inbox: 'ops',
    at: DAY3,
    raw: raw({ subject: `=?UTF-8?B?${base64('🎉 Surprise inside')}?=` }),
  },
  {
    name: 'percent',
    inbox: 'ops',
    at: DAY3,
    raw: raw({ subject: '[PROJ-77] (urgent) 50% done_now', body: "It's at C:\\temp\\new." }),
  },
  {
    name: 'not-percent',
    inbox: 'ops',
    at: DAY3,
    raw: raw({ subject: 'PROJ77 urgent 500 doneXnow', body: 'Its at C:tempnew.' }),
  },
  { name: 'bare', inbox: 'ops', at: DAY3, raw: 'X-Only: header\r\n\r\n' },
  {
    name: 'no-subject',
    inbox: 'ops',
    at: DAY3,
    raw: raw({ subject: null, body: 'A body about mangosteen.' }),
  },
  { name: 'reply', inbox: 'ops', at: DAY3, raw: raw({ subject: 'Re: Lunch', body: 'Yes.' }) },
  { name: 'not-a-reply', inbox: 'ops', at: DAY3, raw: raw({ subject: 'Lunch', body: 'Shall we?' }) },
  {
    name: 'last-of-the-day',
    inbox: 'ops',
    at: LAST_OF_DAY3,
    raw: raw({ subject: 'Late shift' }),
    tags: ['shift'],
  },

  // ── 22 November: the day after, and sizes ──
  {
    name: 'first-of-the-day',
    inbox: 'ops',
    at: FIRST_OF_DAY4,
    raw: raw({ subject: 'Early shift' }),
    tags: ['shift'],
    read: true,
  },
  { name: 'medium', inbox: 'ops', at: DAY4, raw: raw({ subject: 'Medium', body: filler(30_000) }) },
  {
    name: 'large',
    inbox: 'ops',
    at: DAY4,
    raw: raw({ subject: 'Large', body: `${filler(200_000)}the needleofthelarge is here` }),
  },
  {
    name: 'huge',
    inbox: 'shop',
    at: DAY4,
    raw: raw({ subject: 'Huge', body: `${filler(3_000_000)}the needleofthehuge is here` }),
  },
  {
    name: 'huge-attachment',
    inbox: 'shop',
    at: DAY4,
    raw: raw({
      subject: 'Heavy file',
      ...parts(
        'mixed',
        'Content-Type: text/plain\n\nA small text about persimmon.',
        `Content-Type: application/octet-stream\nContent-Disposition: attachment; filename="big.bin"\nContent-Transfer-Encoding: base64\n\n${base64('x'.repeat(1_200_000)).replaceAll(/(.{76})/g, '$1\n')}`,
      ),
    }),
    read: true,
  },
  {
    name: 'hello-shop',
    inbox: 'shop',
    at: DAY4,
    raw: raw({
      from: 'Acme Store <hello@acme.test>',
      subject: 'Hello again',
      body: 'Welcome back to the store.',
    }),
  },
  {
    name: 'greek-and-ring',
    inbox: 'shop',
    at: DAY4,
    raw: raw({ subject: `=?UTF-8?B?${base64('ΑΘΗΝΑ και Ångström')}?=` }),
  },
];
