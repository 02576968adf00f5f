import type { LabelledMail } from './labelled.ts';

/** A click tracker whose address says nothing about the purpose. */
const T = 'https://e.sendwell.example/CL0/';

/** Mails without a one-time code that resemble mails with one. Labels: see held-out-5a.ts. */
export const HELD_OUT_5C: LabelledMail[] = [
  {
    name: 'held 5: none: en parcel shipped',
    from: 'Swiftlane <tracking@swiftlane.example>',
    subject: 'Your parcel 00340434161094015902 is on its way',
    text: `On its way\n\nTracking code: 00340434161094015902\nDelivery: Tue 17 Mar 2026, 10:15-12:15\nPostcode: 48291\n\nTrack your parcel: ${T}a1\nLeave with a neighbour: ${T}a2\n`,
    html: `<h2>On its way</h2><p>Tracking code: <b>00340434161094015902</b></p><p>Delivery: Tue 17 Mar 2026, 10:15–12:15</p><p>Postcode: 48291</p><p><a href="${T}a1">Track your parcel</a> <a href="${T}a2">Leave with a neighbour</a></p>`,
    code: null,
    links: ['other', 'other'],
  },
  {
    name: 'held 5: none: en short tracking code',
    subject: 'Order shipped!',
    text: 'Good news, order 55231 left our warehouse.\n\nCarrier: Hermod\nYour tracking code: 7F4K9Q2D\n\nEnter the code on hermod.example to see where your parcel is.\n',
    code: null,
  },
  {
    // Doubtful: a person needs this PIN at the locker, but a sign-in test has no use for it.
    name: 'held 5: none: en parcel locker pickup PIN',
    subject: 'Ready for pickup at locker 114',
    text: 'Your parcel is waiting at Parcel Locker 114, Elm Street Station.\n\nPickup PIN: 482917\n\nThe parcel is returned to the sender after 18 March.\n',
    code: null,
  },
  {
    name: 'held 5: none: de delivery with consignment number',
    subject: 'Ihr Paket kommt heute',
    text: 'Guten Tag,\n\nIhre Sendung 1Z 582 930 04 kommt heute zwischen 13:40 und 15:10 Uhr. Zusteller: Tour 4471, PLZ 50667.\nBestellnummer 302-4471180-22.\n',
    code: null,
  },
  {
    name: 'held 5: none: en issue tracker with keys',
    subject: '[JUP-4821] Login fails when the verification code starts with zero',
    html: `<p><b>Priya Raman</b> commented on <a href="${T}b1">JUP-4821</a></p><p>Steps: request a verification code, get one like 0xxxxx, see error AUTH-1042. Duplicate of JUP-3977, fixed in 8.14.2 (build 260317).</p><p><a href="${T}b2">View issue</a> · <a href="${T}b3">Stop watching</a></p>`,
    code: null,
  },
  {
    name: 'held 5: none: en issue assigned',
    subject: 'OPS-10442 assigned to you',
    text: 'Tomoko assigned OPS-10442 to you.\n\nTitle: Rotate access keys in region 3\nPriority: P2\nSprint: 2026-11\nEstimate: 5\n\n--\nReply to comment.\n',
    code: null,
  },
  {
    name: 'held 5: none: en invoice',
    subject: 'Invoice 2026-00731 is due on 31 March',
    text: 'Invoice number: 2026-00731\nCustomer number: 448120\nPO: 7700451\nAmount due: EUR 1,904.00\nSWIFT code: EXMPDEFF\nSort code: 20-44-61\nPayment reference: 731448120\n',
    code: null,
  },
  {
    name: 'held 5: none: en receipt with approval code of the terminal',
    subject: 'Receipt from Corner Bakery',
    text: 'Corner Bakery #0412\n17 Mar 2026 08:12\n\n2 x Croissant      7.00\nTotal            $ 7.00\nVISA **** 4471\nAuth code: 042917\nTerminal: 88120034\n\nThank you!\n',
    code: null,
  },
  {
    name: 'held 5: none: es receipt of a taxi ride',
    subject: 'Tu recibo del viaje del lunes',
    text: 'Total: 14,80 €\nMatrícula 4471 KZB\nRecogida 08:02, C/ Ejemplo 12, 28013 Madrid\nLlegada 08:31\nN.º de recibo: 20260316-889104\nTarjeta terminada en 5512\n',
    code: null,
  },
  {
    name: 'held 5: none: en flight booking reference',
    subject: 'Booking confirmed: K7RZ2M',
    html: `<h2>You’re going to Lisbon!</h2><p>Booking code</p><p style="font-size:32px"><b>K7RZ2M</b></p><p>Ticket 220-7741902288 · QX 1184 · 06:55 → 09:10 · Terminal 2</p><p>Enter the booking code and your last name to check in.</p><p><a href="${T}c1">Check in</a></p>`,
    code: null,
    links: ['other'],
  },
  {
    // Doubtful: the PIN protects the booking, but only on the telephone; it belongs to the booking reference.
    name: 'held 5: none: en hotel booking with confirmation number and PIN',
    subject: 'Thanks! Your stay at Hotel Meridian Quay is confirmed',
    text: 'Confirmation number: 4471.902.118\nPIN code: 5512 (confidential, needed to change your booking by phone)\nCheck-in: Friday, 20 March 2026 (15:00 – 23:00)\nTotal: € 212.40\n',
    code: null,
  },
  {
    // Doubtful: the code opens a real door; a sign-in test would not type it.
    name: 'held 5: none: en door code of a holiday flat',
    subject: 'Check-in details for Friday',
    text: 'Hi!\n\nThe flat is at 14 Harbour Row, second floor. The door code is 4471# and the key box opens with 9028. Wi-Fi: HarbourGuest / seagull2026.\n\nSee you, Ines\n',
    code: null,
  },
  {
    name: 'held 5: none: fr train tickets',
    subject: 'Votre e-billet pour Marseille',
    text: 'Référence du dossier : QWXZRT\nTrain 6107, voiture 12, place 84\nDépart 07:37 – Arrivée 10:48\nPrix : 59,00 €\nN° de billet 884 102 335\n',
    code: null,
  },
  {
    name: 'held 5: none: en concert tickets',
    subject: 'Your tickets for Night Signals',
    text: 'Order #71-40092/NCL\nSec 114, Row 12, Seats 5-6\nBarcode 4402 9917 2206\n\nDoors 19:00. Show this mail or add the ticket to your wallet.\n',
    html: '<p>Order #71-40092/NCL</p><p>Sec 114, Row 12, Seats 5–6</p><p>Barcode 4402 9917 2206</p><p>Doors 19:00. Show this mail or add the ticket to your wallet.</p>',
    code: null,
  },
  {
    name: 'held 5: none: en discount code newsletter',
    subject: '25% off with code SPRING26 🌷',
    html: `<p>Use code</p><h1>SPRING26</h1><p>at checkout until 22 March. Minimum order $40.</p><p><a href="${T}d1">Shop now</a></p><p><a href="${T}d2">Unsubscribe</a> · <a href="${T}d3">View in browser</a></p>`,
    code: null,
    links: ['other', 'unsubscribe', 'other'],
  },
  {
    name: 'held 5: none: en single-use voucher of digits and letters',
    subject: 'A birthday present for you',
    text: 'Happy birthday, Maren!\n\nHere is your personal code for free shipping: 8KQ4-77TM\nEnter it at checkout. It can be used once and expires on 30 April 2026.\n',
    code: null,
  },
  {
    name: 'held 5: none: de gift card',
    subject: 'Dein Gutschein über 50 €',
    html: '<p>Gutscheincode:</p><p><b>4471 9028 1163 5540</b></p><p>PIN: 7731</p><p>Gültig bis 31.12.2029. Einlösbar in allen Filialen.</p>',
    code: null,
  },
  {
    name: 'held 5: none: en referral code',
    subject: 'Give $20, get $20',
    text: 'Share your invite code IDRIS4471 with a friend. When they place a first order, both of you get $20.\n\nTerms 2026-02 apply.\n',
    code: null,
  },
  {
    name: 'held 5: none: ja coupon',
    subject: '【春の感謝祭】500円OFFクーポン',
    text: 'いつもご利用ありがとうございます。\n\nクーポンコード：HARU500\n有効期限：2026年3月31日 23:59\nお一人様1回限り。\n',
    code: null,
  },
  {
    name: 'held 5: none: en contract with section numbers',
    subject: 'Updates to our terms',
    text: 'We are changing sections 4.1, 7.3.2 and 1204 of our Terms of Service as of 1 May 2026. Section 1798.100 of the Civil Code and Article 6(1)(b) continue to apply. Verification of age under clause 12 now takes 14 days.\n',
    code: null,
  },
  {
    name: 'held 5: none: en patch on a mailing list',
    subject: '[PATCH v3 2/7] auth: compare one-time codes in constant time',
    text: `The old loop left early on the first wrong digit.

---
 src/auth/otp.c | 14 ++++++--------
 1 file changed, 6 insertions(+), 8 deletions(-)

diff --git a/src/auth/otp.c b/src/auth/otp.c
index 4f81c02..a93e771 100644
--- a/src/auth/otp.c
+++ b/src/auth/otp.c
@@ -118,7 +118,5 @@ int otp_verify(const char *code)
-	if (strcmp(code, "482913") == 0)
+	if (ct_equal(code, expected, OTP_LEN))
 		return 0;
--
2.53.0
`,
    code: null,
  },
  {
    name: 'held 5: none: en review comment with source code',
    subject: 'Re: [forge/login] Use a longer verification code (PR #20418)',
    html: `<p>@idris-k commented on this pull request.</p><p>In <a href="${T}e1">test/login.test.ts</a>:</p><pre>+  await page.fill('#otp', '123456');
+  expect(await code()).toBe('123456');</pre><p>Can we generate the code here? See 7c1e9f04.</p><p>—<br>Reply to this email directly, <a href="${T}e2">view it on Forgewell</a>, or <a href="${T}e3">unsubscribe</a>.</p>`,
    code: null,
    links: ['other', 'other', 'unsubscribe'],
  },
  {
    name: 'held 5: none: en documentation of a login API',
    subject: 'Re: How do I call the verify endpoint?',
    text: 'Hi Sven,\n\nthe request body looks like this:\n\n  POST /v2/verify\n  {"phone": "+15550104477", "code": "<6 digits>", "ttl": 600}\n\nYou get status code 200, or 429 after 5 attempts per 3600 seconds. Error code 60202 means too many attempts.\n\nBest, Lena\n',
    code: null,
  },
  {
    name: 'held 5: none: en failed build',
    subject: 'Failed: main #48291 (a93e7714)',
    html: '<p><b>Pipeline #48291 failed</b></p><table><tr><td>Commit</td><td>a93e7714</td></tr><tr><td>Stage</td><td>e2e</td></tr><tr><td>Job</td><td>#771204</td></tr><tr><td>Exit code</td><td>137</td></tr><tr><td>Duration</td><td>14:07</td></tr></table>',
    code: null,
  },
  {
    name: 'held 5: none: en release notes',
    subject: 'Nimbus 26.3.1 is out',
    text: 'Nimbus 26.3.1 (build 260318) is available.\n\n- Sign-in codes are now 8 digits long (#10442)\n- Fixed crash 0x80070057 on start\n- SHA-256: 9f2c4d11…e07a\n\nDownload size: 148 MB\n',
    code: null,
  },
  {
    name: 'held 5: none: en monitoring alert',
    subject: 'ALERT 5510: HTTP code 503 from login-eu-2',
    text: 'Host: login-eu-2 (198.51.100.14:8443)\nCheck: POST /otp/verify\nStatus code: 503\nSince: 2026-03-18T04:10:55Z\nIncident: 204418\n',
    code: null,
  },
  {
    name: 'held 5: none: en coordinates of a meeting point',
    subject: 'Hike on Sunday: where we meet',
    text: 'Car park at 47.482913, 11.095504 (elevation 1204 m). Plus code 8FVH4W2C+5R. Be there at 0645!\n',
    code: null,
  },
  {
    name: 'held 5: none: en two-factor switched on',
    subject: 'Two-factor authentication is now on',
    html: `<p>Hi idris-k,</p><p>You switched on two-factor authentication for your Forgewell account on 18 March 2026 at 09:41 UTC (IP 203.0.113.60). From now on we ask for a verification code from your authenticator app at each sign-in.</p><p>Event 77120-4418</p><p><a href="${T}f1">Download recovery codes</a></p>`,
    code: null,
    links: ['other'],
  },
  {
    name: 'held 5: none: en recovery code was used',
    subject: 'A recovery code was used to sign in',
    text: 'A recovery code ending in 4471 was used to sign in to your account. You have 9 of 10 codes left.\n\nDate: 2026-03-18 10:02 (UTC+1)\nLocation: Bergen, 5003\n',
    code: null,
  },
  {
    name: 'held 5: none: en code was sent by text message',
    subject: 'Check your phone for a code',
    text: 'We sent a 6-digit verification code to your phone number ending in 7712. Enter it within 10 minutes. If it does not arrive, text HELP to 55501.\n',
    code: null,
  },
  {
    name: 'held 5: none: fr two-factor removed',
    subject: 'La validation en deux étapes a été désactivée',
    text: 'Bonjour,\n\nLa validation en deux étapes de votre compte a été désactivée le 18/03/2026 à 10:15. Vous ne recevrez plus de code à 6 chiffres. Incident 5510482.\n',
    code: null,
  },
  {
    name: 'held 5: none: zh phone number changed',
    subject: '手机号变更通知',
    text: '尊敬的用户，您的绑定手机号已于2026年3月18日10:20由138****4471变更为139****9028。如非本人操作，请致电400-555-0101。工单号20260318558。\n',
    code: null,
  },
  {
    name: 'held 5: none: en password was changed',
    subject: 'Your password was changed',
    text: `The password of your Larkspur account was changed on Wednesday at 11:02.\n\nRequest ID 60412-7780\n\nIf this was not you, contact support: ${T}g1\n`,
    html: `<p>The password of your Larkspur account was changed on Wednesday at 11:02.</p><p>Request ID 60412-7780</p><p>If this was not you, <a href="${T}g1">contact support</a>.</p>`,
    code: null,
    links: ['other'],
  },
  {
    name: 'held 5: none: en card statement with masked numbers',
    subject: 'Your March statement is ready',
    text: 'Card: XXXX XXXX XXXX 4471\nStatement period: 02/18/2026 – 03/17/2026\nNew balance: $1,482.91\nMinimum payment: $35.00\nMerchant category code 5812 earned 3 % cash back.\nMember FDIC. Code of conduct: form 2210-B.\n',
    code: null,
  },
  {
    name: 'held 5: none: en unusual card purchase',
    subject: 'Did you spend $482.90?',
    text: 'We noticed a purchase of $482.90 at ELECTRO WORLD 00771 with your card ending 4412 at 18:22. Reply YES or NO to 55501. Case 902 118.\n',
    code: null,
  },
  {
    name: 'held 5: none: pt bank slip',
    subject: 'Seu boleto vence amanhã',
    text: 'Valor: R$ 189,90\nVencimento: 19/03/2026\nCódigo de barras: 34191.79001 01043.510047 91020.150008 5 97350000018990\nNosso número: 109/00441827-3\n',
    code: null,
  },
  {
    // Doubtful: "Passcode" is a code to type, but it admits to a meeting and not to an account.
    name: 'held 5: none: en video meeting with ID and passcode',
    subject: 'Lena Vogt invites you to a scheduled meeting',
    text: 'Topic: Vendor onboarding\nTime: Mar 20, 2026 02:00 PM Paris\n\nJoin: https://meet.huddle.example/j/84511772093?pwd=Qm5kT2\n\nMeeting ID: 845 1177 2093\nPasscode: 482913\n\nOne tap mobile\n+33155500112,,84511772093#,,,,*482913# France\n',
    code: null,
  },
  {
    // Doubtful in the same way.
    name: 'held 5: none: en telephone conference with dial-in PIN',
    subject: 'Dial-in for the earnings call',
    html: '<table><tr><td>US toll-free</td><td>1-866-555-0121</td></tr><tr><td>UK</td><td>+44 20 7946 0733</td></tr><tr><td>Access code</td><td>7731204#</td></tr><tr><td>Leader PIN</td><td>4471</td></tr></table><p>Replay until 27 March: passcode 990418.</p>',
    code: null,
  },
  {
    name: 'held 5: none: de calendar invitation',
    subject: 'Einladung: Abnahme Halle 7 – Do. 19. März 2026 09:00–10:30 (MEZ)',
    text: 'Wann: Donnerstag, 19. März 2026, 09:00 bis 10:30\nWo: Halle 7, Tor 1204, Industriestr. 55, 70565 Stuttgart\nTeilnehmer: 6\nKonferenz-ID: 771 204 18#\nOrganisator: l.vogt@example.com\n',
    code: null,
  },
  {
    name: 'held 5: none: en calendar invitation, cancelled',
    subject: 'Canceled: Interview 2204 @ Fri Mar 20, 2026 3pm - 4pm (PDT)',
    text: 'This event has been canceled.\n\nInterview 2204\nRoom 3.1407, Building 12\nConfirmation was sent on 03/16/2026.\nevent id 5k2m9q7t\n',
    code: null,
  },
  {
    name: 'held 5: none: en welcome mail with account number',
    subject: 'Welcome to Kestrel Energy',
    text: 'Thanks for switching!\n\nAccount number: 33021184\nMeter point (MPAN): 1200 0304 5512 9\nTariff: Fixed 14 months, code E-1R-KESTREL-14M-C\nYou can sign in to your account with your email address.\n',
    code: null,
  },
  {
    name: 'held 5: none: en support ticket',
    subject: '[Ticket 482913] I did not get my verification code',
    text: '## Please type your reply above this line ##\n\nYour request (482913) has been received. A member of our team will get back to you within 24 hours.\n\nOriginal message:\nI never get the verification code, tried 3 times since 2026.\n',
    code: null,
  },
  {
    name: 'held 5: none: en software license key',
    subject: 'Your license for Planwright 12',
    text: 'Thank you for your purchase!\n\nProduct: Planwright 12 (1 seat)\nLicense key: 7QK2M-X4WTR-9PD1C-H83LZ-60VNB\nOrder: PW-1204-7718\n',
    code: null,
  },
  {
    name: 'held 5: none: en school grades and course codes',
    subject: 'Enrollment for fall 2026',
    text: 'You are enrolled in:\n\nCS 4418  Network Security      CRN 20418\nMATH 2210  Linear Algebra      CRN 33107\n\nStudent ID 90021844. Add/drop ends 09/04/2026. Subject codes are listed in the catalog.\n',
    code: null,
  },
  {
    name: 'held 5: none: ko shipping notice',
    subject: '상품이 발송되었습니다',
    html: '<p>주문번호 20260318-0044718</p><p>운송장 번호: 6412 0988 7731</p><p>배송지: (06236) 서울특별시 예시로 152, 1204호</p><p>결제금액 48,290원</p>',
    code: null,
  },
  {
    name: 'held 5: none: ru receipt with fiscal numbers',
    subject: 'Кассовый чек № 4471',
    text: 'ИТОГ 1 482,00 ₽\nФН 9960440301220418\nФД 48291\nФП 3310772046\nКод товара 55120\nСмена 118, 18.03.26 12:04\n',
    code: null,
  },
  {
    name: 'held 5: none: ar shipping notice with a shipment code',
    subject: 'تم شحن طلبك',
    text: 'مرحباً،\n\nتم شحن طلبك رقم 48291377. رقم التتبع: WA550128SA\nالتسليم المتوقع: 20 مارس 2026\nالرمز البريدي 12345\n',
    code: null,
  },
  {
    name: 'held 5: none: en security article in a newsletter',
    subject: 'Scammers want your one-time code. Here is how they ask',
    html: `<p>A caller says: “Please read me the 6-digit code we just texted you.” In 2025, 48,291 people did. The average loss was $1,204.</p><p><a href="${T}h1">Three ways to verify a caller</a></p><p>Sent to maren@example.com. <a href="${T}h2">Email preferences</a> | <a href="${T}h3">Opt out</a></p>`,
    unsubscribe: '<https://lists.sendwell.example/oneclick/7f21>',
    code: null,
    links: ['other', 'other', 'unsubscribe', 'unsubscribe'],
  },
];
