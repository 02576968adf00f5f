import type { LabelledMail } from './labelled.ts';

/*
 * Fifth held-out set: 5a codes in English, 5b codes in other languages, 5c mails without a code, 5d links.
 * It was written without knowledge of the extraction rules and without reading the older sets, except the form of
 * the fourth. Brands are fictitious.
 *
 * How the labels were decided:
 * - `code` is what an automated sign-in, sign-up, recovery or payment test would type. Groups of digits are joined,
 *   other hyphens are kept (`G-482910`), one character per cell is joined, native digits are written as ASCII.
 * - Not a code: voucher, tracking number, booking reference, meeting ID, meeting passcode, dial-in PIN.
 * - `links` has one kind per distinct address, in order of appearance; the text and HTML parts hold the same ones.
 *   A link is judged by what it does for the reader. Preference pages are `other`; confirming a newsletter, an
 *   address change or a device is `verify`; every link that ends mails is `unsubscribe`.
 *
 * Doubtful, each marked with "Doubtful" at the entry: ASCII for native and full-width digits, meeting passcodes and
 * dial-in PINs, the PIN of a hotel booking, door and locker codes, a forwarded code, a space inside a mixed code,
 * links that accept an invitation, approve a sign-in, confirm an appointment or lead from a security notice to a
 * reset page. Also an assumption: a `List-Unsubscribe` address comes last in `links`, as in the fourth set.
 */

/** A click tracker whose address says nothing about the purpose. */
const T = 'https://ablink.mail.example/ls/click?upn=u001.';
/** Padding that senders put after the preview text. */
const PAD = '&#847;&zwnj;&nbsp;'.repeat(20);

/** One-time codes in English: formats, places and misleading neighbours. */
export const HELD_OUT_5A: LabelledMail[] = [
  {
    name: 'held 5: code: en heading with preview text and footer',
    from: 'Larkspur <no-reply@account.larkspur.example>',
    subject: 'Your Larkspur verification code',
    html: `<body><div style="display:none;max-height:0;overflow:hidden">Enter 604918 within 10 minutes to continue.${PAD}</div><table role="presentation" width="600"><tr><td><img src="https://img.larkspur.example/l.png" width="96" alt="Larkspur"></td></tr><tr><td><p>Hi Maren,</p><p>Enter this code to verify your email address:</p><h1 style="letter-spacing:6px">604918</h1><p>The code expires in 10 minutes. Not you? You can safely ignore this email.</p></td></tr><tr><td style="font-size:11px">© 2026 Larkspur GmbH, Lindenweg 140, 10999 Berlin · HRB 204417 B<br><a href="${T}p1">Privacy</a> | <a href="${T}p2">Help Center</a></td></tr></table></body>`,
    code: '604918',
    links: ['other', 'other'],
  },
  {
    name: 'held 5: code: en four digits in one line',
    subject: 'Tandem Ride: your login PIN',
    text: 'Your Tandem Ride login PIN is 7043. It works once. Drivers will never ask for it.\n',
    code: '7043',
  },
  {
    name: 'held 5: code: en five digits, short mail',
    subject: 'Login code',
    text: 'Login code: 38215. Do not give this code to anyone, even if they say they are from Paperplane!\n\nThis code can be used to log in to your Paperplane account. We never ask it for anything else.\n\nIf you didn’t request this code by trying to log in on another device, simply ignore this message.\n',
    code: '38215',
  },
  {
    name: 'held 5: code: en seven digits between account and year',
    subject: 'Quillbank security code',
    text: 'Quillbank\n\nDear customer,\n\nYou asked us for a security code for your account ending 5502. Please type 4097163 in online banking.\n\nCalling from abroad? +44 20 7946 0211. Lines are open until 22:00.\nQuillbank plc 2026. Registered number 01882745.\n',
    code: '4097163',
  },
  {
    name: 'held 5: code: en eight digits from a code host, text only',
    subject: '[Forgewell] Please verify your device',
    text: 'Hey idris-k!\n\nA sign in attempt requires further verification because we did not recognize your device. To complete the sign in, enter the verification code on the unrecognized device.\n\nDevice: Chrome on macOS\nVerification code: 52907731\n\nIf you did not attempt to sign in to your account, your password may be compromised. Visit https://forgewell.example/settings/security to create a new, strong password.\n\nThanks,\nThe Forgewell Team\n',
    code: '52907731',
  },
  {
    name: 'held 5: code: en six letters and digits in capitals',
    subject: 'Here is your Mossy sign-in code',
    html: '<div style="font-family:Inter,Arial"><p>Welcome back!</p><p>Copy and paste this temporary sign-in code:</p><div style="background:#f4f4f4;padding:16px;font-size:24px">M4X9TB</div><p>If you did not try to sign in, you can safely ignore this email.</p></div>',
    code: 'M4X9TB',
  },
  {
    name: 'held 5: code: en eight characters in mixed case',
    subject: 'Confirm your new account on Gridlock Servers',
    text: 'Welcome!\n\nPlease enter the activation code below on the registration page. Mind upper and lower case.\n\n    aB7xK2pQ\n\nUsername: tomoko_88\nRegistered: 2026-02-14 09:12 UTC\n',
    code: 'aB7xK2pQ',
  },
  {
    name: 'held 5: code: en three and three with a hyphen in the subject',
    subject: 'Palaver confirmation code: 418-902',
    text: 'Confirm your email address\n\nYour confirmation code is below — enter it in your open browser window and we’ll help you get signed in.\n\n418-902\n\nIf you didn’t request this email, there’s nothing to worry about, you can safely ignore it.\n\nPalaver, 1500 Sample Street, San Francisco, CA 94199\n',
    html: `<p><img src="https://a.palaver.example/logo.png" alt="Palaver"></p><h2>Confirm your email address</h2><p>Your confirmation code is below — enter it in your open browser window and we’ll help you get signed in.</p><p style="font-size:36px;text-align:center">418-902</p><p>If you didn’t request this email, there’s nothing to worry about, you can safely ignore it.</p><p>Palaver, 1500 Sample Street, San Francisco, CA 94199</p>`,
    code: '418902',
  },
  {
    name: 'held 5: code: en three pairs with spaces',
    subject: 'Sign in to Kestrel Energy',
    text: 'Hello,\n\nYour one-time code is\n\n50 37 28\n\nand is valid until 16:45 today (3 March 2026).\n\nKestrel Energy, Customer number 3302 118 447\n',
    code: '503728',
  },
  {
    name: 'held 5: code: en prefix letter and hyphen',
    subject: 'Your verification code',
    html: '<p>This email address is being used as a recovery address.</p><p>Use this code to finish setting it up:</p><p style="text-align:center;font-size:36px">V-593027</p><p>This code will expire in 24 hours. If you don’t recognise <b>ridge.walker@example.com</b>, you can ignore this email.</p>',
    code: 'V-593027',
  },
  {
    name: 'held 5: code: en prefix letter in one sentence',
    subject: 'Account check',
    text: 'B-20467 is your Burrow verification code. Don’t share it.\n',
    code: 'B-20467',
  },
  {
    name: 'held 5: code: en table row of its own',
    subject: 'Login request for the supplier portal',
    html: '<table border="1"><tr><td>Company</td><td>Haldane Castings Ltd</td></tr><tr><td>Supplier no.</td><td>104477</td></tr><tr><td>Passcode</td><td><b>880146</b></td></tr><tr><td>Requested</td><td>04/03/2026 08:31</td></tr><tr><td>Validity</td><td>15 min</td></tr></table><p>This mailbox is not monitored.</p>',
    code: '880146',
  },
  {
    name: 'held 5: code: en one digit per cell',
    subject: 'Verify it’s you',
    text: 'This message is in HTML. Please open it with a program that shows HTML.\n',
    html: '<p>Enter this 6-digit code in the Juniper app:</p><table role="presentation" cellspacing="8"><tr><td style="border:1px solid #ccc">2</td><td style="border:1px solid #ccc">7</td><td style="border:1px solid #ccc">0</td><td style="border:1px solid #ccc">9</td><td style="border:1px solid #ccc">5</td><td style="border:1px solid #ccc">4</td></tr></table><p>It stops working after 5 minutes or 3 wrong attempts.</p>',
    code: '270954',
  },
  {
    name: 'held 5: code: en one character per cell, on lines of their own',
    subject: 'Your Cobblestone access code',
    html: `<table>
  <tr>
    <td colspan="6">Your access code</td>
  </tr>
  <tr>
    <td class="d"><strong>K</strong></td>
    <td class="d"><strong>3</strong></td>
    <td class="d"><strong>W</strong></td>
    <td class="d"><strong>8</strong></td>
    <td class="d"><strong>F</strong></td>
    <td class="d"><strong>1</strong></td>
  </tr>
  <tr>
    <td colspan="6">Enter it where you started signing in. 2 of 5 attempts left.</td>
  </tr>
</table>`,
    code: 'K3W8F1',
  },
  {
    name: 'held 5: code: en one digit per span',
    subject: 'Finish creating your account',
    html: '<p>Thanks for joining Pennant. To confirm this email address belongs to you, use</p><div><span class="digit">8</span><span class="digit">1</span><span class="digit">6</span><span class="digit">3</span></div><p>as your confirmation code.</p><p>Pennant Sports, PO Box 4410</p>',
    code: '8163',
  },
  {
    name: 'held 5: code: en groups in two cells with a dash cell',
    subject: 'Approve sign-in on a new computer',
    html: '<p>Someone is signing in to your Steamboat account from Porto, Portugal. If that is you, here is your guard code:</p><table><tr><td>731</td><td>–</td><td>095</td></tr></table><p>Date: 5 Mar 2026, 19:22 WET</p>',
    code: '731095',
  },
  {
    name: 'held 5: code: en groups in two cells without a dash',
    subject: 'Verification code for Halyard',
    html: '<table width="100%"><tr><td align="center" colspan="2">Your verification code</td></tr><tr><td align="right" style="font-size:30px">604</td><td align="left" style="font-size:30px">771</td></tr><tr><td colspan="2" align="center">Valid for 20 minutes</td></tr></table>',
    code: '604771',
  },
  {
    name: 'held 5: code: en subject only, code at the end',
    subject: 'Your Sundial code is 290461',
    html: `<p>Hello,</p><p>You’ll find your code in the subject line. We keep it out of the message so that you can read it from the notification.</p><p><a href="${T}s1">Didn’t ask for a code?</a></p><p>Sundial Inc., 2026</p>`,
    code: '290461',
    links: ['other'],
  },
  {
    name: 'held 5: code: en subject only, code first',
    subject: '5521 – Lumen smart lock sign-in',
    text: 'Use the four digits in the subject to sign in to the Lumen app. They are good for 2 minutes.\n',
    code: '5521',
  },
  {
    name: 'held 5: code: en code as the text of a button',
    subject: 'Confirm your email to continue',
    html: `<p>Hi there, please confirm <b>maren@example.com</b>.</p><p><a href="https://app.tallow.example/c/verify?code=630281" style="background:#0a5;color:#fff;padding:12px 24px">630281</a></p><p>Tap the code, or type it into Tallow yourself.</p>`,
    code: '630281',
    links: ['verify'],
  },
  {
    name: 'held 5: code: en copy button',
    subject: 'Driftwood login',
    html: '<center><p>Log in with this code</p><p style="font:700 28px monospace">94 62 05</p><a href="https://driftwood.example/copy/946205">Copy</a></center>',
    code: '946205',
  },
  {
    name: 'held 5: code: en code first, then what it is',
    subject: 'Hello from Fernway',
    text: '315580\n\nThat is what you need to get into your Fernway account. Type it on the sign-in screen, it lasts 10 minutes.\n\nFernway\n+1 555-0134\n',
    code: '315580',
  },
  {
    name: 'held 5: code: en code at the end of a long paragraph',
    subject: 'Your password reset',
    text: 'You are receiving this message because a password reset was started for the account registered with this address on 6 March 2026 at 07:14 from 198.51.100.77 (Windows 11, Edge 145). If it was not you, no further step is needed, since nobody can continue without access to this mailbox. Otherwise go back to the window you came from and fill in the following five-digit code there: 80416.\n',
    code: '80416',
  },
  {
    name: 'held 5: code: en new code before the previous code',
    subject: 'A fresh code for Copperline',
    text: 'Your new code is 771043.\n\nThe previous code (240918) no longer works, so please use the newest mail only.\n',
    code: '771043',
  },
  {
    name: 'held 5: code: en previous code before the new code',
    subject: 'You asked for another code',
    html: '<p>Code <s>118204</s>, which we sent at 10:02, has expired.</p><p>Please use <b>906627</b> instead. It expires at 10:22.</p>',
    code: '906627',
  },
  {
    name: 'held 5: code: en beside the word page',
    subject: 'Step 2 of 3: confirm your email',
    text: 'Go back to the page you had open (page 2 of the application form) and enter 6402 as your verification code.\n\nApplication form 1120-B, version 2026.1\n',
    code: '6402',
  },
  {
    name: 'held 5: code: en beside an order',
    subject: 'View order 100482913',
    html: '<p>You asked to see the details of order <b>100482913</b> placed on 27 February 2026 ($218.40).</p><p>One-time code: <b>552907</b></p><p>Order status: shipped. Carrier reference 9400110898825022579493.</p>',
    code: '552907',
  },
  {
    name: 'held 5: code: en beside a card',
    subject: 'Add your card to Clasp Pay',
    text: 'To add your Northgate debit card ending in 4412 to Clasp Pay, enter verification code 338201 on your phone.\nThe card expires 09/29. If you are not adding a card, call the number on the back of it or 1-888-555-0170.\n',
    code: '338201',
  },
  {
    name: 'held 5: code: en beside a request number',
    subject: 'Data export request #20418877',
    html: '<p>We received your request <b>#20418877</b> for a copy of your data. Before we prepare it, we need to know that it is you.</p><p>Type the following code on the request page: <b>473 118</b></p><p>Requests that are not confirmed within 72 hours are closed.</p>',
    code: '473118',
  },
  {
    name: 'held 5: code: en beside a phone number',
    subject: 'Changing the phone number on your account',
    text: 'You are about to replace +1 (555) 010-4477 with +1 (555) 010-9921.\n\nPhone change code: 84 11 90\n\nNeed help? Phone us on 1-800-555-0112, extension 2204.\n',
    code: '841190',
  },
  {
    name: 'held 5: code: en patient portal',
    subject: 'MyWillow patient portal: security code',
    html: '<p>Patient portal of Willow Creek Clinic</p><p>MRN 00418823 · DOB **/**/1981</p><p>Your portal security code: <b>19X4QD</b></p><p>Appointments: 555-0188. Suite 2100, 410 Elm Ave, Dayton, OH 45402-1129</p>',
    code: '19X4QD',
  },
  {
    name: 'held 5: code: en checkout',
    subject: '702 366 is your Basket checkout code',
    text: 'Check out faster\n\nEnter this code at checkout to use your saved address and card •••• 8807:\n\n702 366\n\nTotal: $64.19 · Ships to 97214\n',
    html: '<h3>Check out faster</h3><p>Enter this code at checkout to use your saved address and card •••• 8807:</p><h2>702 366</h2><p>Total: $64.19 · Ships to 97214</p>',
    code: '702366',
  },
  {
    name: 'held 5: code: en invitation to a workspace',
    subject: 'Invitation to join “Ops 2026” on Trellis',
    text: 'Priya invited you to the workspace Ops 2026 (418 members).\n\nOpen Trellis, choose "I have an invitation" and sign up with this one-time code:\n\n6HT2-91KC\n\nThe invitation is valid until 31 March 2026.\n',
    code: '6HT2-91KC',
  },
  {
    name: 'held 5: code: en booking page protected by a code',
    subject: 'See your booking K4T9ZQ',
    text: 'Booking reference: K4T9ZQ\nFlight: QX 1184, 18 Mar 2026, 06:55, seat 14C\n\nTo see or change your booking, enter the access code 720416 when asked. It is valid for 30 minutes and can be used once.\n',
    code: '720416',
  },
  {
    name: 'held 5: code: en single account named ID',
    subject: 'Your Pomelo ID code',
    html: '<p>Hello Sven,</p><p>Your Pomelo ID code is:</p><p><b>285 930</b></p><p>Pomelo ID: s***n@example.com<br>Country/Region: Norway<br>Case ID: 102558813390</p>',
    code: '285930',
  },
  {
    name: 'held 5: code: en SMS forwarded to mail by a gateway',
    subject: 'SMS from 55501 to +1 555 010 7720',
    text: '[2026-03-07 11:40:09] From: 55501 To: +15550107720\n\n<#> 481516 is your Hoprail code. kD9sX2/fQpA\n\nMessage 3 of 250 in your plan. SID SM90f2c418aa\n',
    code: '481516',
  },
  {
    name: 'held 5: code: en matching number beside the code',
    subject: 'Confirm sign-in',
    text: 'Session number (compare it with your screen): 47\nSign-in code (type it): 160 823\n\nIf the session number differs, do not type the code.\n',
    code: '160823',
  },
  {
    name: 'held 5: code: en support PIN beside the sign-in code',
    subject: 'Sign in to Castlegate Hosting',
    html: '<p>To sign in enter <b>402177</b>.</p><p style="color:#777">Reminder: when you call support, give your support PIN 883104 instead. Never read the sign-in code to us.</p>',
    code: '402177',
  },
  {
    name: 'held 5: code: en transaction reference and approval code',
    subject: 'Approve transfer of £2,030.00',
    html: '<table><tr><td>To</td><td>M OKAFOR, 20-44-61 71930288</td></tr><tr><td>Amount</td><td>£2,030.00</td></tr><tr><td>Reference</td><td>554019</td></tr><tr><td>Approval code</td><td>991502</td></tr></table><p>Expires 12:09, 08/03/2026.</p>',
    code: '991502',
  },
  {
    name: 'held 5: code: en four digits that look like a year',
    subject: 'Your code for Attic',
    text: 'Welcome back to Attic. Your code is 2031 and expires in 15 minutes.\n\n© 2019–2026 Attic Storage Co., founded 1987\n',
    code: '2031',
  },
  {
    name: 'held 5: code: en leading zeros',
    subject: 'OTP for net banking',
    text: 'Dear Customer, OTP for your login to NetBanking on 08-03-2026 13:05:22 is 000417. OTP is valid for 180 secs. Do not share it with anyone. Call 1800 555 0166 if you did not request it. -Indra Bank\n',
    code: '000417',
  },
  {
    name: 'held 5: code: en device code of letters only',
    subject: 'Activate your TV',
    html: '<p>You are signing in on: <b>Living room TV</b></p><p>Open streamo.example/activate on your phone and enter this code:</p><p style="font-size:32px">RKTN-QXPB</p>',
    code: 'RKTN-QXPB',
  },
  {
    name: 'held 5: code: en text alternative made from the HTML',
    subject: 'Verification code',
    text: 'GOOSEBERRY\n----------\n\nVerify your email\n=================\n\nUse the code below:\n\n*482 093*\n\n[image: illustration of a padlock]\n\nThis code expires in 1 hour.\n\nGooseberry, 8 Rue X, 75003\n[Follow us] [Blog]\n',
    code: '482093',
  },
];
