/**
 * Twenty templates as applications have them, and sixty faults that a change of a template makes. Both were written
 * before the comparison that they judge. `{{name}}` is a field that the test knows; `<<kind>>` changes by nature.
 */

export interface Template {
  /** All of it, without the faults. */
  fields: string;
  name: string;
  subject: string;
  text?: string;
  html?: string;
  from?: string;
  attachment?: string;
  /** Each replaces the first by the second text, everywhere in the template. */
  faults: Array<[what: string, found: string, instead: string]>;
}

const page = (body: string, lang = 'en', dir = 'ltr') =>
  `<!doctype html><html lang="${lang}" dir="${dir}"><head><title>Mail</title></head><body>${body}</body></html>`;
const button = (href: string, text: string) => `<p><a href="${href}" style="padding:8px">${text}</a></p>`;
const footer =
  '<p>© <<year>> Shop Ltd, 1 Main Street</p><p><a href="https://shop.example/unsubscribe?u=<<token>>">Unsubscribe</a></p>';

const WRITTEN: Array<Omit<Template, 'fields'>> = [
  {
    name: 'confirm by link',
    subject: 'Please confirm your address, {{first}}',
    text: 'Hello {{first}} {{last}},\n\nplease confirm your address:\nhttps://shop.example/confirm?token=<<token>>\n\nThe link is valid until <<date>>.\n\nYour Shop',
    html: page(
      `<h1>Welcome, {{first}}!</h1><p>Hello {{first}} {{last}},</p><p>please confirm your address.</p>${button('https://shop.example/confirm?token=<<token>>', 'Confirm your address')}<p>The link is valid until <<date>>.</p>${footer}`,
    ),
    faults: [
      ['fields are swapped', '{{first}} {{last}}', '{{last}} {{first}}'],
      ['the link has no token', 'confirm?token=<<token>>', 'confirm?token='],
      ['a paragraph is lost', '<p>The link is valid until <<date>>.</p>', ''],
      ['the link leads elsewhere', 'shop.example/confirm?', 'shop.example/login?'],
    ],
  },
  {
    name: 'one-time code',
    subject: 'Your code is <<code>>',
    text: 'Your code is <<code>>.\n\nIt is valid for 10 minutes. Do not share it with anybody.',
    html: page(
      '<p>Your verification code:</p><h2><<code>></h2><p>It is valid for 10 minutes. Do not share it with anybody.</p>',
    ),
    faults: [
      ['the code is not filled', '<h2><<code>></h2>', '<h2>{code}</h2>'],
      [
        'another time',
        '10 minutes. Do not share it with anybody.</p>',
        '60 minutes. Do not share it with anybody.</p>',
      ],
      ['the warning is lost', ' Do not share it with anybody.', ''],
    ],
  },
  {
    name: 'code in two groups',
    subject: 'Sign in to Acme',
    text: 'Hi {{first}},\n\nuse the code <<code-spaced>> to sign in.',
    html: page(
      '<p>Hi {{first}},</p><p>use the code <b><<code-spaced>></b> to sign in.</p><p>Requested at <<time>> UTC from {{city}}.</p>',
    ),
    faults: [
      ['another code in the text', 'the code <<code-spaced>> to', 'the code 000 000 to'],
      ['the place is another field', 'from {{city}}', 'from {{first}}'],
      ['the name is not filled', '<p>Hi {{first}},</p>', '<p>Hi ,</p>'],
    ],
  },
  {
    name: 'password reset',
    subject: 'Reset your password',
    text: 'Somebody asked for a new password for {{email}}.\n\nhttps://acme.example/reset/<<uuid>>\n\nThe link expires on <<date>> at <<time>>.',
    html: page(
      `<p>Somebody asked for a new password for {{email}}.</p>${button('https://acme.example/reset/<<uuid>>', 'Choose a password')}<p>The link expires on <<date>> at <<time>>.</p>`,
    ),
    faults: [
      ['a link of the test system', 'https://acme.example/reset', 'http://localhost:3000/reset'],
      ['the text of the link', 'Choose a password', 'Click here'],
      ['undefined in the link', 'reset/<<uuid>>', 'reset/undefined'],
    ],
  },
  {
    name: 'receipt',
    subject: 'Your receipt for order {{order}}',
    text: 'Thank you, {{first}}.\n\nOrder {{order}} of <<date>>\nTea\t{{amount}}\nTotal\t{{amount}}',
    html: page(
      '<h1>Thank you, {{first}}</h1><p>Order {{order}} of <<date>></p><table><tr><th>Item</th><th>Price</th></tr><tr><td>Tea</td><td>{{amount}}</td></tr><tr><td>Total</td><td>{{amount}}</td></tr></table><p><img src="https://shop.example/logo.png" alt="Shop" width="80"></p>',
    ),
    attachment: 'receipt-{{order}}.pdf',
    faults: [
      ['the alt is lost', ' alt="Shop"', ''],
      [
        'the total is the order number',
        '<td>Total</td><td>{{amount}}</td>',
        '<td>Total</td><td>{{order}}</td>',
      ],
      ['the row is lost', '<tr><td>Tea</td><td>{{amount}}</td></tr>', ''],
      ['the attachment has another name', 'receipt-{{order}}.pdf', 'receipt.pdf'],
    ],
  },
  {
    name: 'shipped',
    subject: 'Order {{order}} is on its way',
    html: page(
      '<p>Hello {{first}},</p><p>your parcel {{parcel}} arrives on <<weekday-date>>.</p><p><a href="https://track.example/p/{{parcel}}">Track it</a></p><img src="https://shop.example/step-2.png" alt="Step 2 of 4" width="100">',
    ),
    faults: [
      ['another picture', 'step-2.png', 'step-3.png'],
      ['another alt', 'Step 2 of 4', 'Step 3 of 4'],
      ['the link has the order', 'track.example/p/{{parcel}}', 'track.example/p/{{order}}'],
    ],
  },
  {
    name: 'invitation',
    subject: '{{first}} {{last}} invites you to {{team}}',
    text: '{{first}} {{last}} ({{email}}) invites you to the team {{team}}.\n\nAccept: https://acme.example/invite?i=<<token>>&team={{team-slug}}',
    html: page(
      `<p><b>{{first}} {{last}}</b> ({{email}}) invites you to the team <i>{{team}}</i>.</p>${button('https://acme.example/invite?i=<<token>>&amp;team={{team-slug}}', 'Accept')}`,
    ),
    faults: [
      ['the team is the name', 'to {{team}}', 'to {{last}}'],
      ['the link lacks the team', '&amp;team={{team-slug}}', ''],
      ['the address is lost', ' ({{email}})', ''],
    ],
  },
  {
    name: 'German',
    subject: 'Ihre Bestellung {{order}}',
    text: 'Guten Tag {{first}} {{last}},\n\nvielen Dank für Ihre Bestellung vom <<date-de>>.\n\nBetrag: {{amount}}\n\nMit freundlichen Grüßen',
    html: page(
      '<p>Guten Tag {{first}} {{last}},</p><p>vielen Dank für Ihre Bestellung vom <<date-de>>.</p><p>Betrag: {{amount}}</p><p>Mit freundlichen Grüßen</p>',
      'de',
    ),
    faults: [
      ['the language is English', 'Guten Tag', 'Good day'],
      ['the encoding is broken', 'Grüßen</p>', 'GrÃ¼ÃŸen</p>'],
      ['the subject is English', 'Ihre Bestellung {{order}}', 'Your order {{order}}'],
    ],
  },
  {
    name: 'French',
    subject: 'Bienvenue {{first}}',
    html: page(
      `<p>Bonjour {{first}},</p><p>votre compte a été créé le <<date-fr>> à <<time>>.</p>${button('https://boutique.example/compte?cle=<<token>>', 'Activer mon compte')}`,
      'fr',
    ),
    faults: [
      ['a sentence in English', 'votre compte a été créé', 'your account was created'],
      ['the button in English', 'Activer mon compte', 'Activate my account'],
      ['the language attribute is lost', ' lang="fr"', ''],
    ],
  },
  {
    name: 'Japanese',
    subject: '{{first}}様 ご登録ありがとうございます',
    text: '{{first}}様\n\n認証コード: <<code>>\n\n有効期限: <<date-ja>>',
    faults: [
      ['the name is lost', '{{first}}様\n', '様\n'],
      ['the date is lost', '<<date-ja>>', ''],
      ['the label is English', '認証コード', 'Code'],
    ],
  },
  {
    name: 'Hebrew',
    subject: 'שלום {{first}}',
    html: page(
      '<p>שלום {{first}}</p><p><a href="https://shop.example/he?k=<<token>>">לאישור</a></p>',
      'he',
      'rtl',
    ),
    faults: [
      ['the direction is lost', ' dir="rtl"', ''],
      ['the link has no text', '>לאישור<', '><'],
    ],
  },
  {
    name: 'security alert',
    subject: 'New sign-in to your account',
    text: 'We noticed a sign-in.\n\nWhen: <<iso>>\nWhere: {{city}}\nAddress: {{ip}}\n\nNot you? https://acme.example/secure/<<hex>>',
    html: page(
      `<p>We noticed a sign-in.</p><ul><li>When: <<iso>></li><li>Where: {{city}}</li><li>Address: {{ip}}</li></ul>${button('https://acme.example/secure/<<hex>>', 'This was not me')}`,
    ),
    faults: [
      ['an entry of the list is lost', '<li>Address: {{ip}}</li>', ''],
      ['place and address are swapped', 'Where: {{city}}', 'Where: {{ip}}'],
      ['the link is that of the text', 'This was not me', 'https://acme.example/secure'],
      ['the date is not filled', 'When: <<iso>></li>', 'When: Invalid Date</li>'],
    ],
  },
  {
    name: 'newsletter',
    subject: 'News of the week, {{first}}',
    html: page(
      `<h1>News of the week</h1><h2>Tea is back</h2><p>Our green tea is back.</p><p><a href="https://click.example/ls/<<long>>">Read on</a></p><h2>New shop</h2><p>We open in {{city}}.</p><p><a href="https://click.example/ls/<<long>>">See where</a></p><img src="https://open.example/o/<<long>>.gif" alt="" width="1" height="1">${footer}`,
    ),
    faults: [
      ['a heading is lost', '<h2>New shop</h2>', ''],
      [
        'the link to unsubscribe is lost',
        '<a href="https://shop.example/unsubscribe?u=<<token>>">Unsubscribe</a>',
        '',
      ],
      ['two texts of links are swapped', 'Read on</a>', 'See where</a>'],
      ['the headings are out of order', '<h2>Tea is back</h2>', '<h4>Tea is back</h4>'],
    ],
  },
  {
    name: 'invoice',
    subject: 'Invoice {{invoice}}',
    text: 'Dear {{title}} {{last}},\n\nattached you find the invoice {{invoice}} of <<date-us>> over {{amount}}.\n\nIt is due within 14 days.',
    attachment: '{{invoice}}.pdf',
    faults: [
      ['the title is lost', 'Dear {{title}} {{last}}', 'Dear {{last}}'],
      ['another time to pay', '14 days', '30 days'],
      ['the date is in the wrong place', 'of <<date-us>> over {{amount}}', 'of {{amount}} over <<date-us>>'],
    ],
  },
  {
    name: 'comment',
    subject: 'Re: [{{team}}] {{title-of-issue}} (#{{number}})',
    text: '{{first}} commented:\n\n> {{comment}}\n\n-- \nReply to this mail, or see https://code.example/{{team-slug}}/issues/{{number}}#c-<<digits>>',
    html: page(
      '<p>{{first}} commented:</p><blockquote>{{comment}}</blockquote><p><a href="https://code.example/{{team-slug}}/issues/{{number}}#c-<<digits>>">View it</a></p>',
    ),
    faults: [
      ['the comment is escaped twice', '<blockquote>{{comment}}', '<blockquote>&amp;lt;p&amp;gt;{{comment}}'],
      ['the link lacks the number', 'issues/{{number}}#', 'issues/#'],
      ['the author is lost', '<p>{{first}} commented:</p>', '<p>commented:</p>'],
    ],
  },
  {
    name: 'appointment',
    subject: 'Your appointment on <<weekday-date>>',
    text: 'Dear {{first}} {{last}},\n\nwe expect you on <<weekday-date>> at <<time>> in {{city}}.\n\nTo cancel: https://clinic.example/a/<<token>>/cancel',
    faults: [
      ['the place is lost', ' in {{city}}', ''],
      ['it cancels by another link', '/cancel', '/confirm'],
    ],
  },
  {
    name: 'low balance',
    subject: 'Your balance is {{amount}}',
    html: page(
      '<p>Hi {{first}}!</p><p>Your balance of {{amount}} is below {{limit}}.</p><p>Open since 9:30.</p><p><a href="https://bank.example/top-up">Top up</a></p>',
    ),
    faults: [
      [
        'the amounts are swapped',
        'balance of {{amount}} is below {{limit}}',
        'balance of {{limit}} is below {{amount}}',
      ],
      ['the link is relative', 'https://bank.example/top-up', '/top-up'],
      [
        'the picture is new',
        '<p>Hi {{first}}!</p>',
        '<p>Hi {{first}}!</p><img src="https://bank.example/ad.png" alt="Ad">',
      ],
    ],
  },
  {
    name: 'picture in the mail',
    subject: 'Your ticket {{order}}',
    html: page(
      '<p>{{first}} {{last}}, your ticket {{order}}:</p><p><img src="cid:<<hex>>@shop.example" alt="Ticket" width="200"></p><p>Doors open at <<time>>.</p>',
    ),
    faults: [
      ['the picture is lost', '<p><img src="cid:<<hex>>@shop.example" alt="Ticket" width="200"></p>', ''],
      ['the last name is lost', '{{first}} {{last}}, your', '{{first}}, your'],
    ],
  },
  {
    name: 'from a person',
    subject: 'Quick question',
    from: '{{first}} from Acme <sales@acme.example>',
    text: 'Hi,\n\nI am {{first}}. Do you have ten minutes on <<weekday-date>>?\n\n{{first}} {{last}}\n{{phone}}',
    faults: [
      ['another sender', 'sales@acme.example', 'support@acme.example'],
      ['the telephone is lost', '\n{{phone}}', ''],
    ],
  },
  {
    name: 'text of several lines',
    subject: 'Terms',
    text: 'Dear {{first}},\n\nour terms change on <<date>>. What is\nnew for you and for {{team}} is on our pages, and you can\nread it there.\n\nYours\nShop',
    faults: [
      ['a word is another', 'our terms change', 'our prices change'],
      ['a line is lost', 'read it there.', ''],
      ['the team is the person', 'for {{team}} is', 'for {{first}} is'],
    ],
  },
];

export const TEMPLATES: Template[] = WRITTEN.map((template) => {
  const { faults: _, ...fields } = template;
  return { ...template, fields: JSON.stringify(fields) };
});

const NAMES = [
  'Ada',
  'Bob',
  'Will',
  'May',
  'Mark',
  'Al',
  'Grace',
  'Łukasz',
  'Zoë',
  "O'Neil",
  'Jean-Luc',
  'Jo Ann',
  '太郎',
  'Æthel',
  'Sun',
  'April',
  'Max',
  'Ng',
];
const SURNAMES = [
  'Lovelace',
  'Hope',
  'de la Cruz',
  'Müller-Lüdenscheidt',
  'King',
  'März',
  "D'Arcy",
  'Li',
  'Smith & Sons',
  'Rose',
  'Young',
  '山田',
  'Wei',
];
const TEAMS = ['Acme', 'R&D', 'Team 7', 'Ops (EU)', 'Élan', 'Nine to five'];
const CITIES = ['Berlin', 'São Paulo', 'Reading', 'Nice', 'Москва', 'New York, NY'];
const COMMENTS = [
  'Looks good.',
  'See $1 and \\d+ (again).',
  'I will, on 5 May 2026 at 10:00.',
  'a [link] {first}',
];
const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];
const MONTHS_DE = [
  'Januar',
  'Februar',
  'März',
  'April',
  'Mai',
  'Juni',
  'Juli',
  'August',
  'September',
  'Oktober',
  'November',
  'Dezember',
];
const MONTHS_FR = [
  'janvier',
  'février',
  'mars',
  'avril',
  'mai',
  'juin',
  'juillet',
  'août',
  'septembre',
  'octobre',
  'novembre',
  'décembre',
];
const CROCKFORD = '0123456789abcdefghjkmnpqrstvwxyz';
const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-';

export interface Rendering {
  source: string;
  /** What the test knows. */
  names: Record<string, string>;
}

/** @param random in [0, 1) */
export function render(template: Template, random: () => number): Rendering {
  const number = (below: number) => Math.floor(random() * below);
  const pick = <T>(list: readonly T[]): T => list[number(list.length)] as T;
  const letters = (length: number, alphabet: string) =>
    Array.from({ length }, () => pick([...alphabet])).join('');
  const two = (value: number) => String(value).padStart(2, '0');
  const day = new Date(
    Date.UTC(2024 + number(4), number(12), 1 + number(28), number(24), number(60), number(60)),
  );
  const [year, month, date] = [day.getUTCFullYear(), day.getUTCMonth(), day.getUTCDate()];
  const time = `${two(day.getUTCHours())}:${two(day.getUTCMinutes())}`;
  const code = letters(6, '0123456789');
  const names: Record<string, string> = {
    first: pick(NAMES),
    last: pick(SURNAMES),
    email: `${letters(8, CROCKFORD)}@mayfly.test`,
    order: String(100_000 + number(900_000)),
    invoice: `R-${year}-${1000 + number(9000)}`,
    amount: pick([
      `${1 + number(99)}.${two(number(100))} €`,
      `$${number(9)},${100 + number(900)}.00`,
      `€ ${number(100)}`,
    ]),
    limit: `${100 + number(900)} €`,
    parcel: letters(12, '0123456789'),
    team: pick(TEAMS),
    'team-slug': pick(['acme', 'r-and-d', 'team7']),
    city: pick(CITIES),
    ip: `${number(256)}.${number(256)}.${number(256)}.${number(256)}`,
    title: pick(['Dr.', 'Ms', 'Mr']),
    'title-of-issue': pick(['It fails', 'Crash at 10:00', 'Add (x) + [y]']),
    number: String(1 + number(5000)),
    comment: pick(COMMENTS),
    phone: `+49 30 ${1000000 + number(8999999)}`,
  };
  const natural: Record<string, () => string> = {
    token: () => letters(22, BASE64),
    uuid: () => [8, 4, 4, 4, 12].map((length) => letters(length, '0123456789abcdef')).join('-'),
    hex: () => letters(32, '0123456789abcdef'),
    long: () => letters(60, BASE64),
    digits: () => letters(7, '0123456789'),
    code: () => code,
    'code-spaced': () => `${code.slice(0, 3)} ${code.slice(3)}`,
    date: () => pick([`${date} ${MONTHS[month]} ${year}`, `${date} ${MONTHS[month]} ${year}`]),
    'date-us': () => `${MONTHS[month]} ${date}, ${year}`,
    'date-de': () => pick([`${date}. ${MONTHS_DE[month]} ${year}`, `${two(date)}.${two(month + 1)}.${year}`]),
    'date-fr': () => `${date} ${MONTHS_FR[month]} ${year}`,
    'date-ja': () => `${year}年${month + 1}月${date}日`,
    'weekday-date': () => `${DAYS[day.getUTCDay()]}, ${date} ${MONTHS[month]}`,
    iso: () => day.toISOString(),
    time: () => time,
    year: () => String(year),
  };
  const cache = new Map<string, string>();
  const filled = (text: string, isHtml = false) =>
    text
      .replace(/\{\{([\w-]+)\}\}/g, (_, name: string) => {
        const value = names[name] ?? '';
        return isHtml ? value.replaceAll('&', '&amp;').replaceAll('<', '&lt;') : value;
      })
      .replace(/<<([\w-]+)>>/g, (_, kind: string) => {
        // Tokens of several links differ; everything else is the same all over the mail.
        if (kind === 'token' || kind === 'long') return natural[kind]?.() ?? '';
        const value = cache.get(kind) ?? natural[kind]?.() ?? '';
        cache.set(kind, value);
        return value;
      });
  const source = mime(template, filled, names.email ?? '', letters(20, CROCKFORD));
  // A test names what it puts into this mail, whatever a fault makes of the template.
  const isUsed = (name: string) => name === 'email' || template.fields.includes(`{{${name}}}`);
  return { source, names: Object.fromEntries(Object.entries(names).filter(([name]) => isUsed(name))) };
}

type Fill = (text: string, isHtml?: boolean) => string;
const encoded = (text: string) => Buffer.from(text).toString('base64').replace(/.{76}/g, '$&\r\n');

function mime(template: Template, filled: Fill, to: string, id: string): string {
  const part = (type: string, body: string, extra = '') =>
    `Content-Type: ${type}; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n${extra}\r\n${encoded(body)}\r\n`;
  const bodies = [
    ...(template.text === undefined
      ? []
      : [part('text/plain', filled(template.text).replaceAll('\n', '\r\n'))]),
    ...(template.html === undefined ? [] : [part('text/html', filled(template.html, true))]),
  ];
  const joined = (kind: string, parts: string[], boundary: string) =>
    parts.length === 1
      ? (parts[0] ?? '')
      : `Content-Type: multipart/${kind}; boundary="${boundary}"\r\n\r\n${parts.map((one) => `--${boundary}\r\n${one}`).join('')}--${boundary}--\r\n`;
  const content = joined('alternative', bodies, `a-${id}`);
  const file = template.attachment && filled(template.attachment);
  const pdf = `Content-Type: application/pdf; name="${file}"\r\nContent-Disposition: attachment; filename="${file}"\r\n\r\n%PDF ${id}\r\n`;
  const word = (text: string) => `=?utf-8?B?${Buffer.from(text).toString('base64')}?=`;
  const [, name = '', address = ''] =
    /^(.*) <(.*)>$/.exec(template.from ?? 'Shop <no-reply@shop.example>') ?? [];
  return [
    `From: ${word(filled(name))} <${address}>`,
    `To: ${to}`,
    `Subject: ${word(filled(template.subject))}`,
    'Date: Mon, 23 Nov 2026 10:00:00 +0000',
    `Message-ID: <${id}@shop.example>`,
    'MIME-Version: 1.0',
    file === undefined ? content : joined('mixed', [content, pdf], `m-${id}`),
  ].join('\r\n');
}
