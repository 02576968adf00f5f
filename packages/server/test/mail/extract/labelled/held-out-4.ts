import type { LabelledMail } from './labelled.ts';

/** A click tracker: its address says nothing, so the words must. */
const T = 'https://click.mailer.example/ls/u/9vQ2';

/**
 * A fourth set, of shapes that the others hardly have, written without a look at the rules and run once before
 * anything was changed for it. That run is in docs/benchmarks.md.
 */
export const HELD_OUT_4: LabelledMail[] = [
  {
    name: 'held 4: en magic link only, tracked',
    subject: 'Log in to Notebook',
    html: `<table><tr><td><img src="https://cdn.example/logo-120x40.png" alt="Notebook"></td></tr><tr><td>Hey there,</td></tr><tr><td>Tap the button below and you are in. No password needed. It works once, for the next 15 minutes, on this device.</td></tr><tr><td><a href="${T}/a1">Log in to Notebook</a></td></tr><tr><td>Notebook Labs, 2100 Mission St, San Francisco, CA 94110</td></tr></table>`,
    code: null,
    links: ['sign-in'],
  },
  {
    name: 'held 4: en magic link in plain text',
    subject: 'Your sign-in link for Readlater',
    text: 'Hi,\n\nClick here to sign in to Readlater as ada@example.com:\n\nhttps://readlater.example/l/7f3a19c2e0b84d6d\n\nThis link expires at 14:35 UTC. If you did not ask for it, ignore this mail.\n',
    code: null,
    links: ['sign-in'],
  },
  {
    name: 'held 4: en subject only, code first',
    subject: '771204 is your Pixelboard verification code',
    html: '<p>Hi Ada,</p><p>Use the code in the subject of this email to finish setting up your account. It is valid for one hour.</p><p>© 2026 Pixelboard Inc.</p>',
    code: '771204',
  },
  {
    name: 'held 4: fr subject only, in brackets',
    subject: '[Cyclo] Code de connexion : 0419',
    text: 'Bonjour,\n\nVotre code figure dans l’objet de ce message. Il expire dans 5 minutes.\n\nL’équipe Cyclo, 12 rue des Lilas, 69003 Lyon\n',
    code: '0419',
  },
  {
    name: 'held 4: en split by a dash, in a div of its own',
    subject: 'Confirm it is you',
    html: '<div>We noticed a login from a browser we do not know.</div><div>Please enter this code where you are logging in:</div><div style="font-size:32px">206-918</div><div>Ticket #4410982</div>',
    code: '206918',
  },
  {
    name: 'held 4: de split by a space, no-break',
    subject: 'Dein Anmeldecode',
    html: '<p>Hallo Ada,</p><p>gib diesen Code in der App ein, um dich anzumelden:</p><p><b>914&nbsp;057</b></p><p>Er gilt bis 21.11.2026, 15:40 Uhr.</p>',
    code: '914057',
  },
  {
    name: 'held 4: en code in a two-column table',
    subject: 'Sign-in attempt at Northwind',
    html: '<table><tr><th>Account</th><td>ada@example.com</td></tr><tr><th>Customer ID</th><td>88204117</td></tr><tr><th>Verification code</th><td>553190</td></tr><tr><th>Valid until</th><td>2026-11-21 12:30</td></tr><tr><th>IP address</th><td>198.51.100.24</td></tr></table>',
    code: '553190',
  },
  {
    name: 'held 4: en code in a plain-text table',
    subject: 'Access request',
    text: 'Requested by:    Ada Lovelace\nRequest number:  20261121-0043\nSystem:          payroll-prod-2\nOne-time code:   83920174\nExpires:         11:45\n',
    code: '83920174',
  },
  {
    name: 'held 4: en letters and digits, lower case',
    subject: 'Verify your device',
    text: 'Hello Ada,\n\nEnter this verification code on your console:\n\nk7q2m9\n\nNever share it with anyone, not even with us.\n',
    code: 'k7q2m9',
  },
  {
    name: 'held 4: en recovery with letters in groups of four',
    subject: 'Account recovery code',
    html: '<h2>Recover your account</h2><p>Somebody (hopefully you) wants to recover the account <b>ada</b>. Your recovery code:</p><pre>HJ4K-92WZ</pre><p>Build 7.1.204</p>',
    code: 'HJ4K-92WZ',
  },
  {
    name: 'held 4: en several numbers, one code',
    subject: 'Approve payment of $1,249.00',
    text: 'You are paying $1,249.00 to Contoso Air (merchant 4029357) with your card ending in 7716 on 11/21/2026 at 10:02.\nTo approve, type 660813 in the payment window. It is your one-time password.\nReference: 998100245. Questions? Call 1-800-555-0142.\n',
    code: '660813',
  },
  {
    name: 'held 4: es several numbers, one code',
    subject: 'Confirma tu transferencia',
    text: 'Vas a enviar 2.500,00 € desde la cuenta terminada en 4471 a ES91 2100 0418 4502 0005 1332.\nIntroduce la clave 70319 para autorizar la operación nº 5520918.\nCaduca a las 18:05.\n',
    code: '70319',
  },
  {
    name: 'held 4: none: en subscription invoice',
    subject: 'Invoice INV-204817 from Hostly',
    html: `<table><tr><td>Invoice number</td><td>INV-204817</td></tr><tr><td>Customer code</td><td>C-55201</td></tr><tr><td>VAT</td><td>GB 123 4567 89</td></tr><tr><td>Total</td><td>£148.20</td></tr></table><p><a href="${T}/b1">View invoice</a></p><p><a href="${T}/b2">Manage subscription</a></p>`,
    code: null,
    links: ['other', 'other'],
  },
  {
    name: 'held 4: none: it fattura elettronica',
    subject: 'Fattura n. 2026/00418',
    text: 'Gentile cliente,\nla fattura n. 2026/00418 di 312,40 euro è disponibile. Codice cliente 770412, codice destinatario M5UXCR1, codice IBAN IT60X0542811101000000123456.\nScadenza 15/12/2026.\n',
    code: null,
  },
  {
    name: 'held 4: none: en security alert with IP and time',
    subject: 'New sign-in to your account',
    html: `<p>Your account was signed in to from a new device.</p><ul><li>Time: 21 Nov 2026 10:51:34 UTC</li><li>IP: 203.0.113.194</li><li>Device: Firefox 145 on Linux</li><li>Event ID: 7740193</li></ul><p>If this was you, there is nothing to do. If not, <a href="${T}/c1">secure your account</a>.</p>`,
    code: null,
    links: ['other'],
  },
  {
    name: 'held 4: none: de security alert, two-factor switched on',
    subject: 'Zwei-Faktor-Authentifizierung aktiviert',
    text: 'Hallo Ada,\n\nfür dein Konto wurde am 21.11.2026 um 10:51 Uhr von 192.0.2.88 die Zwei-Faktor-Authentifizierung aktiviert. Ab jetzt brauchst du bei jeder Anmeldung einen Code aus deiner App.\n\nVorgang 60482213\n',
    code: null,
  },
  {
    name: 'held 4: none: en password reset, long address in text',
    subject: 'Password reset request',
    text: 'Someone asked to reset the password of your account. Follow this address to choose a new one:\n\nhttps://id.example.com/reset-password?token=eyJhbGciOi.482910.Zx-09&uid=55120\n\nThe link works for 24 hours.\n',
    code: null,
    links: ['reset'],
  },
  {
    name: 'held 4: none: da, fi and sv password resets',
    subject: 'Nulstil din adgangskode / Vaihda salasana / Återställ lösenord',
    html: `<p><a href="${T}/d1">Nulstil adgangskode</a></p><p><a href="${T}/d2">Vaihda salasana</a></p><p><a href="${T}/d3">Återställ ditt lösenord</a></p>`,
    code: null,
    links: ['reset', 'reset', 'reset'],
  },
  {
    name: 'held 4: none: fr and es password resets',
    subject: 'Réinitialisation / Restablecimiento',
    html: `<p>Pour choisir un nouveau mot de passe : <a href="${T}/e1">Réinitialiser mon mot de passe</a></p><p>Para elegir una nueva contraseña: <a href="${T}/e2">Restablecer contraseña</a></p>`,
    code: null,
    links: ['reset', 'reset'],
  },
  {
    name: 'held 4: none: hu, ro and el password resets',
    subject: 'Jelszó / Parolă / Κωδικός πρόσβασης',
    html: `<p><a href="${T}/f1">Új jelszó beállítása</a></p><p><a href="${T}/f2">Resetează parola</a></p><p><a href="${T}/f3">Επαναφορά κωδικού πρόσβασης</a></p>`,
    code: null,
    links: ['reset', 'reset', 'reset'],
  },
  {
    name: 'held 4: none: en calendar invite with dial-in',
    subject: 'Invitation: Quarterly review @ Tue 24 Nov 2026 15:00 - 15:45 (UTC)',
    text: 'You have been invited to Quarterly review.\n\nJoin with the video link\nhttps://meet.example/xqz-pfgh-kbn\n\nOr dial: +44 20 3910 5120 PIN: 553 201 774#\n\nYes | Maybe | No\nhttps://calendar.example/event?action=RESPOND&eid=c2FtcGxl\n',
    code: null,
    links: ['other', 'other'],
  },
  {
    name: 'held 4: none: nl calendar invite',
    subject: 'Uitnodiging: Teamoverleg',
    text: 'Wanneer: dinsdag 24 november 2026, 14.00 – 15.00 uur\nWaar: Vergaderzaal 3.14, Stationsplein 45, 3013 AK Rotterdam\nVergadering-ID: 312 884 019\n',
    code: null,
  },
  {
    name: 'held 4: none: en newsletter about codes',
    subject: 'Issue 214: why six-digit codes will not go away',
    unsubscribe: '<https://news.example/u/55x>',
    html: `<h1>Issue 214</h1><p>In 2016, 61% of sites texted a verification code. In 2026 it is 38%. We asked 12500 readers why.</p><p><a href="${T}/g1">Read the story</a></p><p><a href="${T}/g2">Reset your expectations: passwords in 2030</a></p><p>You get this because you subscribed. <a href="${T}/g3">Unsubscribe</a> or <a href="${T}/g4">change what you get</a>.</p>`,
    code: null,
    links: ['other', 'other', 'unsubscribe', 'other', 'unsubscribe'],
  },
  {
    name: 'held 4: en code and fallback button',
    subject: 'Finish signing up',
    html: `<p>Almost there! Enter <strong>48 21 07</strong> in the tab you have open to verify your email.</p><p>Closed the tab? <a href="${T}/h1">Verify my email</a></p><p><a href="${T}/h2">Privacy</a> · <a href="${T}/h3">Stop these emails</a></p>`,
    code: '482107',
    links: ['verify', 'other', 'unsubscribe'],
  },
  {
    name: 'held 4: pt code in a sentence after the time',
    subject: 'Acesso à sua conta',
    text: 'Olá, Ada! Às 10:51 de 21/11/2026 alguém tentou entrar na sua conta a partir de 203.0.113.7. Se foi você, digite 309 664 para continuar. O código de segurança vale por 10 minutos. Protocolo 2026112100871.\n',
    code: '309664',
  },
];
