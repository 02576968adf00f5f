import type { LabelledMail } from './labelled.ts';

const U = 'https://account.example.org';

/**
 * Written after the extractor, to see how it does on mails that nobody had in mind. Mistakes found here
 * are mended by rules, never by a word for one mail.
 */
export const HELD_OUT: LabelledMail[] = [
  {
    name: 'held: en banking',
    subject: 'Your Example Bank access code',
    text: 'Dear customer,\n\nThe access code you requested on 21 November 2026 is 90417263. For your security it can be used only once and will expire at 15:45.\n\nCustomer service 0800 555 0100',
    code: '90417263',
  },
  {
    name: 'held: en two-factor html',
    subject: 'Two-factor authentication',
    html: `<table><tr><td><img src="cid:l" alt="Example"></td></tr><tr><td><p>Hey Ada!</p><p>A sign in attempt requires further verification because we did not recognize your device. To complete the sign in, enter the verification code on the unrecognized device.</p><p>Device: Firefox on Linux<br>Verification code: 660174</p><p><a href="${U}/settings/security">Review your security settings</a></p></td></tr></table>`,
    code: '660174',
    links: ['other'],
  },
  {
    name: 'held: en app first',
    subject: 'Ada, your code is 27-19',
    text: 'Type 2719 into the app.',
    code: '2719',
  },
  {
    name: 'held: en inline quoted',
    subject: 'Finish setting up',
    text: 'Hi there! Your one-time password is "A7K9-22QX". Please enter it within 30 minutes.',
    code: 'A7K9-22QX',
  },
  {
    name: 'held: en dear user',
    subject: 'Confirm it is you',
    text: 'To confirm it is you, enter 508 211 when asked for your security code.',
    code: '508211',
  },
  {
    name: 'held: en pin reset',
    subject: 'Parking app',
    text: 'Temporary PIN: 7702\nChange it after you log in at https://account.example.org/login.',
    code: '7702',
    links: ['sign-in'],
  },
  {
    name: 'held: de Sicherheitscode',
    subject: 'Neue Anmeldung',
    text: 'Hallo Ada,\n\nverwende zum Anmelden den folgenden Sicherheitscode:\n\n    413 886\n\nWenn du das nicht warst, ändere dein Passwort: https://account.example.org/passwort',
    code: '413886',
    links: ['reset'],
  },
  {
    name: 'held: fr connexion',
    subject: 'Connexion à votre espace',
    text: 'Saisissez le code 9034 pour vous connecter. Ce code est valable 5 minutes.',
    code: '9034',
  },
  {
    name: 'held: es confirmación',
    subject: 'Confirma tu cuenta',
    html: `<p>Introduce este código para confirmar tu cuenta</p><h1>3 8 1 1 0 9</h1><p><a href="${U}/verificar?t=aa">Verificar cuenta</a></p><p><a href="${U}/baja">Darse de baja</a></p>`,
    code: '381109',
    links: ['verify', 'unsubscribe'],
  },
  {
    name: 'held: fi koodi',
    subject: 'Vahvistuskoodi',
    text: 'Vahvistuskoodisi on 721930. Koodi vanhenee 10 minuutissa.',
    code: '721930',
  },
  {
    name: 'held: cs kód',
    subject: 'Ověřovací kód',
    text: 'Váš ověřovací kód je 150826.\nPlatnost: 10 minut.',
    code: '150826',
  },
  {
    name: 'held: vi',
    subject: 'Mã xác minh của bạn',
    text: 'Mã xác minh của bạn là 664310. Không chia sẻ mã này.',
    code: '664310',
  },
  {
    name: 'held: ja login',
    subject: 'ログインコード',
    text: '次のコードを入力してください。\n\n0 9 1 4 7 2\n\nお心当たりのない場合は破棄してください。',
    code: '091472',
  },
  {
    name: 'held: reminder',
    subject: 'Your verification code has expired',
    text: 'You did not enter your code in time. Request a new one here: https://account.example.org/verify/new\n\nExample Ltd, company number 08214455, 20 Old Street, London',
    code: null,
    links: ['verify'],
  },
  {
    name: 'held: meter',
    subject: 'Time to read your meter',
    text: 'Meter 48210077, last reading 20418. Send the new one by 30 November or phone 0330 555 0123.',
    code: null,
  },
  {
    name: 'held: restaurant',
    subject: 'Table booked',
    text: 'Table for 4 on 2026-12-04 at 1930. Confirmation code: 7PKQ2. Call 555-0144 to change your booking.',
    code: null,
  },
  {
    name: 'held: conference',
    subject: 'Your ticket',
    html: `<h2>DevConf 2027</h2><p>Show this QR code at the door. Ticket 0048213, badge 771204.</p><p><a href="${U}/t/0048213">View ticket</a></p><p><a href="${U}/optout">Opt out</a></p>`,
    code: null,
    links: ['other', 'unsubscribe'],
  },
  {
    name: 'held: crypto',
    subject: 'Price alert: 98450 USD',
    text: 'The price went above 98000. Market cap 1948210 million. Manage alerts: https://account.example.org/alerts',
    code: null,
    links: ['other'],
  },
  {
    name: 'held: pt nota',
    subject: 'Nota fiscal 204817',
    text: 'Nota fiscal 204817 emitida em 21/11/2026. Valor: R$ 1.250,00. CEP 01310-100. Código de barras 84690000.',
    code: null,
  },
  {
    name: 'held: email changed',
    subject: 'Your email address was changed',
    html: `<p>Your address was changed at 14:30. If this was not you, <a href="${U}/undo?id=482910">click here</a> or <a href="${U}/login">sign in</a>.</p><p>Case 20481177</p>`,
    code: null,
    links: ['other', 'sign-in'],
  },
];
