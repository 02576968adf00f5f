import { describe, expect, it } from 'vitest';
import { findCodes } from '../../../src/mail/extract/codes.ts';
import { readHtml } from '../../../src/mail/extract/html.ts';
import { findLinks } from '../../../src/mail/extract/links.ts';

/*
 * One sentence a rule: words that once hid a code or made one of another number, and addresses of every form.
 * Whole mails are in labelled/.
 */

type Part = 'text' | 'html';

/** Where the body is, the subject, the body, and the code that a person would type. */
const CODES: [Part, string, string, string | null][] = [
  ['text', 'Invoice 1204', 'Your code is 482913.', '482913'],
  ['text', 'Rechnung 2026-77', 'Ihr Code lautet 482913.', '482913'],
  ['text', 'Your receipt', 'Authorization code: 482913', null],
  [
    'text',
    'Hi',
    'Your one-time password for the payment of EUR 120.00 with card XX4412 is 482913.',
    '482913',
  ],
  ['text', 'Hi', 'Your code for today: open the box. The number of your card is 4829.', null],
  ['text', 'Hi', 'Your promo code for the weekend in May is 4829.', null],
  ['html', 'Sign in', '<p>Enter this code on the sign-in page: <b>482910</b></p>', '482910'],
  ['text', 'Hi', 'Enter 482910 on the page to verify your account.', '482910'],
  ['text', 'Hi', 'To confirm your order, enter the code 482910.', '482910'],
  ['text', 'Hi', 'Use code 482910 to confirm your booking request on your phone.', '482910'],
  ['text', 'Hi', 'Your SMS code is 482910.', '482910'],
  ['text', 'Hi', 'Your phone verification code: 482910', '482910'],
  ['text', 'Hi', 'Your client portal access code is 482910', '482910'],
  ['text', 'Hi', "Your Apple ID code is 482910. Don't share it.", '482910'],
  ['text', 'Hi', 'Enter the code 482910 to complete your invitation to Acme.', '482910'],
  ['text', 'Hi', 'Enter code 482910 to add your card.', '482910'],
  ['text', 'Hi', 'Enter 4821 at checkout to verify your identity. This one-time code expires soon.', '4821'],
  ['text', 'Hi', 'Ihr SMS-Code lautet 482910', '482910'],
  ['text', 'Hi', 'Geben Sie diesen Code auf der Seite ein: 482910', '482910'],
  ['text', 'Hi', 'Geben Sie zur Bestätigung Ihrer Bestellung den Code 482910 ein.', '482910'],
  ['text', 'Hi', 'Saisissez ce code sur la page de commande : 482910', '482910'],
  ['text', 'Hi', 'Introduce este código en la página de tu pedido: 482910', '482910'],
  ['text', 'Hi', 'Ihr neuer Code ist 771043. Der alte Code 240918 ist abgelaufen.', '771043'],
  ['text', 'Hi', 'Votre nouveau code est 771043. Le code précédent 240918 a expiré.', '771043'],
  ['text', 'Hi', 'Your old code was 240918.\nYour new code: 771043', '771043'],
  ['text', 'Hi', 'Previous code: 240918\nNew code: 771043', '771043'],
  [
    'html',
    'Code',
    '<table><tr><td>A</td><td>7</td><td>K</td><td>2</td><td>P</td><td>9</td></tr></table>',
    'A7K2P9',
  ],
  ['html', 'Your code', '<table><tr><td>482</td><td>-</td><td>910</td></tr></table>', '482910'],
  ['html', 'Your code', '<table><tr><td>48</td><td>29</td><td>10</td></tr></table>', '482910'],
  ['html', 'Your code', '<table><tr><td>AB7</td><td>K2P</td></tr></table>', 'AB7K2P'],
  ['text', 'Sign in', 'Your sign-in code: 8841–2075', '88412075'],
  ['text', 'Sign in', 'Use code AB3D–9KLM to verify', 'AB3D-9KLM'],
  ['text', 'Report', 'The plan for 2024–2026 is a code of conduct.', null],
  ['html', 'Sign in', '<p>Your one-time code</p><input value="482910" readonly>', '482910'],
  [
    'text',
    'Payment',
    'Authorization code: 482910\nNever tell this code to anyone, not even to our staff.',
    '482910',
  ],
  [
    'text',
    'Zahlung',
    'Autorisierungscode: 482910\nVerraten Sie ihn niemandem, auch nicht unseren Leuten.',
    '482910',
  ],
  [
    'text',
    'Invoice 20391 is ready to view',
    'Your verification code is 482910. Invoice total: 12.00',
    '482910',
  ],
  [
    'text',
    'Rechnung 20391',
    'Ihr Bestätigungscode lautet 482910. Der Betrag steht in der Rechnung.',
    '482910',
  ],
  ['text', 'লগইন', 'আপনার পাসকোড 482910। পাঁচ মিনিটের মধ্যে ব্যবহার করুন।', '482910'],
  [
    'text',
    'Welcome to the house',
    'You open the cabinet with PIN 4093. It is the third on the left.',
    '4093',
  ],
  [
    'text',
    'Workshop in May',
    'Registration code: K7QX-2M9P\nSee you on Monday in the large hall.',
    'K7QX-2M9P',
  ],
  ['text', 'Sign in', 'Your key: K7QX-2M9P\nSee you on Monday in the large hall.', 'K7QX-2M9P'],
  ['text', 'Your parcel', 'Pickup code: K7QX4\nIt waits for you at the corner shop.', 'K7QX4'],
  ['text', 'Ihr Paket', 'Abholcode: K7QX4\nEs wartet im Laden an der Ecke auf Sie.', 'K7QX4'],
  ['text', '包裹', '取件码：4821，请在今天下午六点之前到小区门口的柜子取走您的包裹。谢谢您的支持。', '4821'],
  ['text', 'Atelier', 'Code d’inscription : K7QX-2M9P\nRendez-vous lundi dans la grande salle.', 'K7QX-2M9P'],
  ['text', 'Zásilka', 'Kód pro vyzvednutí: 482910\nČeká na vás v obchodě na rohu.', '482910'],
  ['text', 'Etkinlik', 'Kayıt kodu: K7QX-2M9P\nPazartesi günü büyük salonda görüşürüz.', 'K7QX-2M9P'],
  ['text', 'Hi', 'Six digits: 482910. They work for ten minutes and not longer.', '482910'],
  ['text', 'Hi', 'Hier sind deine sechs Ziffern:\n\n482 910\n\nSie gelten zehn Minuten.', '482910'],
  ['text', 'Hi', 'Type 48291 on the page you have open and you are done.', '48291'],
  ['text', 'Log in', 'Here you go: 482910\n\nThat is all you need today, have fun with it.', '482910'],
  ['text', 'Log in', 'The number to enter is 4829, as you can see on the other screen.', '4829'],
  ['text', 'Hi', 'Gib einfach 4829 auf der Anmeldeseite ein, dann geht es weiter.', '4829'],
  ['text', 'Hi', 'Na přihlašovací stránce zadejte 482910 a je hotovo, nic dalšího netřeba.', '482910'],
  ['text', 'あと少し', 'ログイン画面に 482910 を入力してください。それで終わりです。', '482910'],
  ['text', 'Last week', 'Here you go: 48210 visits, and 96 people came again.', null],
  ['text', 'Hi', 'Enter zone 4471 in the app to park.', null],
  ['text', 'Verify your domain', 'The name server responded with code NXDOMAIN. Please verify it.', null],
  ['text', 'Status of your request', 'Your account was found. Response code: ACCEPTED', null],
  ['text', 'Sign in', 'Your code EXPIRES in ten minutes, and no longer works then.', null],
  ['text', 'Verify your setup', 'Choose Input > 1549 in the code list.', null],
  ['text', '[ABC-1234] code review', 'See ABC-1234 for the code.', null],
  ['text', 'Hi', 'Section 1204 of the code applies.', null],
  ['text', 'Hi', 'According to section 4821 of the verification code act, ...', null],
  ['text', 'Your DHL parcel', 'Shipper code: 482910\nTracking code: 1Z9482910', null],
  ['text', 'Hi', 'const code = "482910";\nverify(code, "123456");', null],
  ['text', 'Hi', "if (otp === 123456) return true;\nreturn verifyCode('654321');", null],
  ['text', 'Your order 48291', 'Thank you for your order 48291. Use code SAVE20 for 20% off.', null],
  ['text', 'Hi', 'Enter coupon code 482910 at checkout for 10% off.', null],
  ['text', 'Hi', 'Your booking code is 482910.', null],
  ['text', 'Hi', 'Your order code is 482910.', null],
  ['text', 'Hi', 'Call us at 5551234 for a code.', null],
  ['text', 'Hi', 'Country code 4821. Error code 60202.', null],
  ['text', 'PROJ-4821: verification code bug', 'PROJ-4821 was updated. Enter a comment.', null],
  ['text', 'Verify', 'Your code is 482910. Do not use your previous code.', '482910'],
  ['text', 'Verify', 'Use 482910 instead of the previous code.', '482910'],
  ['text', 'Verify', '482910 is your code. If it has expired, request a new one.', '482910'],
  ['text', 'Verify', 'Your code 482910 has not expired yet, hurry.', '482910'],
  ['html', 'Your code', '<p>Your code</p><p>G-482910</p><p>All rights reserved.</p>', 'G-482910'],
  ['text', 'Your stay code', 'Enter the code 482910 to unlock.', '482910'],
  ['text', 'Your receipt', 'Enter code 482910 to view your receipt.', '482910'],
  ['text', 'Join our meeting app: verification code', 'Your verification code is 482910', '482910'],
  ['text', 'Hi', 'Please enter your order number 48213377 and the code you got.', null],
  ['text', 'Hi', 'Order 4821: your verification code is 771043.', '771043'],
  ['text', 'Hi', 'Ticket 48213: please use the code 771043 to sign in.', '771043'],
  ['text', 'Hi', 'Your card ending in 4471 needs approval. Code: 771043', '771043'],
  ['text', 'Hi', '771043 is your checkout code', '771043'],
  ['text', 'Hi', 'Twój kod SMS: 771043', '771043'],
  ['text', 'Hi', 'Код из SMS: 771043', '771043'],
  ['text', 'Hi', '認証コード: 771043 をページに入力してください', '771043'],
];

/** Where the body is, the body, and each link with its kind. */
const LINKS: [Part, string, string][] = [
  ['text', 'Open acme://login?token=abc to sign in.', 'acme://login?token=abc sign-in'],
  ['text', 'Tap acme://verify/abc.', 'acme://verify/abc verify'],
  ['text', 'DB at postgres://u:p@h/db and jdbc:mysql://h/x', ''],
  ['text', '点击https://a.test/x1验证邮箱', 'https://a.test/x1 verify'],
  ['text', 'https://ja.wikipedia.org/wiki/日本', 'https://ja.wikipedia.org/wiki/日本 other'],
  ['text', '(https://a.test/x_(y))', 'https://a.test/x_(y) other'],
  ['text', 'URLhttps://a.test/x', 'https://a.test/x other'],
  ['text', 'HTTPS://A.test/x', 'HTTPS://A.test/x other'],
  [
    'html',
    '<a href="https://a.test/p?utm_source=verify">Read</a>',
    'https://a.test/p?utm_source=verify other',
  ],
  [
    'html',
    '<a href="https://c.test/click?url=https%3A%2F%2Fa.test%2Fverify%3Ft%3D1">Continue</a>',
    'https://c.test/click?url=https%3A%2F%2Fa.test%2Fverify%3Ft%3D1 verify',
  ],
  [
    'html',
    '<a href="https://a.test/x?gclid=reset&action=verify">Go</a>',
    'https://a.test/x?gclid=reset&action=verify verify',
  ],
  ['html', '<map><AREA HREF="https://a.test/c" ALT="Confirm your email"></map>', 'https://a.test/c verify'],
  ['html', '<map><area nohref alt="x"><area href=javascript:x() alt=y></map>', ''],
  [
    'html',
    '<a href="https://a.test/reset">Set up a new password for my account</a>',
    'https://a.test/reset reset',
  ],
  [
    'html',
    '<a href="https://a.test/verify/1">Get started with your new Acme account now</a>',
    'https://a.test/verify/1 verify',
  ],
  ['html', '<a href="https://a.test/blog/reset">Read</a>', 'https://a.test/blog/reset other'],
  ['html', '<a href="https://a.test/1">example.com/login</a>', 'https://a.test/1 sign-in'],
  ['html', '<a href="https://a.test/1">How to reset your password</a>', 'https://a.test/1 other'],
  ['html', '<a href="https://a.test/1">What? Not you? Reset password</a>', 'https://a.test/1 reset'],
];

describe('the code of a mail', () => {
  it.each(CODES)('in %s, subject %j, body %j: %s', (part, subject, body, code) => {
    const words = part === 'html' ? readHtml(body).words : null;
    const [found] = findCodes(subject, part === 'text' ? body : null, words);
    expect(found?.value ?? null).toBe(code);
  });
});

describe('the links of a mail', () => {
  it.each(LINKS)('in %s, body %j: %s', (part, body, links) => {
    const found = findLinks(part === 'text' ? body : null, part === 'html' ? readHtml(body) : null, '');
    expect(found.map(({ href, kind }) => `${href} ${kind}`).join(' | ')).toBe(links);
  });
});
