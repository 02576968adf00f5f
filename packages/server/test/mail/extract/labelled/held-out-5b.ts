import type { LabelledMail } from './labelled.ts';

/** A click tracker whose address says nothing about the purpose. */
const T = 'https://trk.post.example/c/eJx';

/** One-time codes in other languages and scripts, then a few more shapes in English. Labels: see held-out-5a.ts. */
export const HELD_OUT_5B: LabelledMail[] = [
  {
    name: 'held 5: code: de bank with order number and amount',
    subject: 'Ihre TAN für den Auftrag vom 09.03.2026',
    text: 'Guten Tag Frau Berger,\n\nüber 1.480,00 EUR an DE02 1203 0000 0000 2020 51, Auftragsnummer 77120045.\n\nTAN: 384 915\n\nSie gilt bis 14:20 Uhr. Rückfragen: 030 5550 1144.\n',
    code: '384915',
  },
  {
    name: 'held 5: code: de in the subject and spaced in the body',
    subject: '615204 ist dein Bestätigungscode für Waldmeister',
    html: `<p>Hallo Jonas,</p><p>mit diesem Code bestätigst du deine E-Mail-Adresse:</p><p style="letter-spacing:8px">6 1 5 2 0 4</p><p>Falls du dich nicht registriert hast, kannst du diese Mail ignorieren.</p><p><a href="${T}d1">Impressum</a> · <a href="${T}d2">Datenschutz</a></p>`,
    code: '615204',
    links: ['other', 'other'],
  },
  {
    name: 'held 5: code: fr one-time password with a reference',
    subject: 'Votre mot de passe à usage unique',
    text: 'Bonjour Camille,\n\nRéférence de la demande : 2026-558102\nVotre mot de passe à usage unique : 90 14 72\n\nIl est valable 5 minutes. Ne le communiquez à personne, même à un conseiller (service clients : 01 99 00 12 34).\n',
    code: '901472',
  },
  {
    name: 'held 5: code: fr heading and long footer',
    subject: 'Confirmez votre adresse e-mail',
    html: '<h2>Plus qu’une étape</h2><p>Saisissez le code ci-dessous dans l’application Mésange :</p><p><strong>7315</strong></p><p>Ce code expirera dans 30 min.</p><p style="font-size:10px">Mésange SAS au capital de 125 000 €, RCS Lyon 901 334 118, 14 quai Perrache, 69002 Lyon. © 2026</p>',
    code: '7315',
  },
  {
    name: 'held 5: code: es sign-in with case number',
    subject: 'Código de acceso a tu cuenta Brújula',
    text: 'Hola, Inés:\n\nTu código de acceso es 52 81 90.\n\nCaduca en 15 minutos. Caso n.º 40021876. Si no has sido tú, llama al 900 555 012.\n',
    html: '<p>Hola, Inés:</p><p>Tu código de acceso es <b>52 81 90</b>.</p><p>Caduca en 15 minutos. Caso n.º 40021876. Si no has sido tú, llama al 900 555 012.</p>',
    code: '528190',
  },
  {
    name: 'held 5: code: es Mexico, code first',
    subject: 'Terminemos de crear tu cuenta',
    text: '40772 es tu clave para Mercado Nopal. Escríbela en la app antes de 10 min.\nPedido mínimo de $199.00 MXN. Consulta términos 2026.\n',
    code: '40772',
  },
  {
    name: 'held 5: code: it public service with protocol number',
    subject: 'Codice temporaneo di accesso',
    text: 'Gentile utente,\n\nil codice temporaneo per accedere ai servizi è 8041 7725.\nProtocollo: 0031882/2026\nCodice fiscale: RSSMRA80A01H501U\n\nIl codice scade alle 17:35.\n',
    code: '80417725',
  },
  {
    name: 'held 5: code: pt Brazil with CPF and amount',
    subject: 'Seu código chegou',
    html: '<p>Oi, Rafael!</p><p>CPF: ***.456.789-**</p><p>Para confirmar o Pix de R$ 350,00, digite o código</p><p><b>617-204</b></p><p>Ele expira em 3 minutos. Ouvidoria: 0800 555 0190.</p>',
    code: '617204',
  },
  {
    name: 'held 5: code: pt Portugal in one line',
    subject: 'Autenticação Farol',
    text: 'O código para iniciar sessão na Farol é 11860. Não o partilhe. Enviado às 08:52 de 10/03/2026.\n',
    code: '11860',
  },
  {
    name: 'held 5: code: nl letters and digits',
    subject: 'Bevestig je e-mailadres bij Klaver',
    html: '<p>Hoi Sanne,</p><p>Vul deze code in op de pagina waar je je aanmeldde:</p><p style="font-size:28px">7PDK3Z</p><p>De code is 1 uur geldig. Klantnummer 4401928, KvK 81550123.</p>',
    code: '7PDK3Z',
  },
  {
    name: 'held 5: code: sv with a case number',
    subject: 'Engångskod från Tallvik',
    text: 'Hej!\n\nDin engångskod är 663 094 och gäller i 10 minuter.\n\nÄrende 2026-0310-778. Kundtjänst 08-555 012 40.\n',
    code: '663094',
  },
  {
    name: 'held 5: code: nb in a table',
    subject: 'Innlogging til Fjordnett',
    html: '<table><tr><th>Bruker</th><td>kari.n</td></tr><tr><th>Kundenr.</th><td>902114</td></tr><tr><th>Engangskode</th><td>450187</td></tr><tr><th>Utløper</th><td>10.03.2026 kl. 13.45</td></tr></table>',
    code: '450187',
  },
  {
    name: 'held 5: code: da sentence with the code last',
    subject: 'Log ind på Havblik',
    text: 'Hej Mikkel\n\nNogen forsøger at logge ind på din konto fra Aarhus kl. 19.04. Er det dig, så indtast koden 2946.\n\nHavblik A/S, CVR 38 55 01 22\n',
    code: '2946',
  },
  {
    name: 'held 5: code: fi code and new mail address',
    subject: 'Vahvista sähköpostiosoitteesi',
    text: 'Hei,\n\nolet vaihtamassa sähköpostiosoitettasi. Syötä vahvistuskoodi 57 09 33 sovelluksessa.\n\nKoodi vanhenee 15 minuutissa. Asiakasnumero 2200418.\n',
    code: '570933',
  },
  {
    name: 'held 5: code: pl payment confirmation',
    subject: 'Kod autoryzacyjny do płatności',
    text: 'Płatność kartą **** 3310 na kwotę 249,99 PLN w sklepie rowery-przyklad.example.\nKod autoryzacyjny nr 4 z dnia 11.03.2026: 70481526\nNie podawaj go nikomu. Infolinia: 22 555 01 18.\n',
    code: '70481526',
  },
  {
    name: 'held 5: code: cs and the old code',
    subject: 'Nový ověřovací kód',
    text: 'Dobrý den,\n\nposíláme nový ověřovací kód: 815 640.\nPředchozí kód 330 927 už neplatí.\n\nS pozdravem\nJavor\n',
    code: '815640',
  },
  {
    name: 'held 5: code: sk short sign-in mail',
    subject: 'Prihlásenie do Lipka',
    html: '<p>Dobrý deň, na prihlásenie zadajte kód <b>09 18 45</b>. Platí 5 minút.</p><p>Číslo objednávky nájdete po prihlásení.</p>',
    code: '091845',
  },
  {
    name: 'held 5: code: hu with reference number',
    subject: 'Belépési kód',
    text: 'Kedves Eszter!\n\nBelépési kódja: 296 071\nHivatkozási szám: 2026/44190\n\nA kód 10 percig érvényes, egyszer használható.\n',
    code: '296071',
  },
  {
    name: 'held 5: code: ro and a phone number',
    subject: 'Codul tău de verificare',
    text: 'Salut, Andrei! Introdu 448 016 în aplicația Salcâm ca să îți confirmi contul. Codul expiră la 21:30. Asistență: 031 555 0144.\n',
    code: '448016',
  },
  {
    name: 'held 5: code: el heading',
    subject: 'Κωδικός μίας χρήσης',
    html: '<p>Αγαπητέ πελάτη,</p><p>ο κωδικός μίας χρήσης για την είσοδό σας είναι:</p><h2>930 518</h2><p>Ισχύει για 10 λεπτά. Αριθμός αιτήματος: 11820047.</p>',
    code: '930518',
  },
  {
    name: 'held 5: code: tr bank with time and amount',
    subject: 'İşlem onay şifreniz',
    text: 'Sayın müşterimiz, 12.03.2026 15:18 tarihli 1.250,00 TL tutarındaki işleminiz için tek kullanımlık şifreniz: 604733. Şifrenizi kimseyle paylaşmayınız. Çağrı merkezi 0850 555 01 22\n',
    code: '604733',
  },
  {
    name: 'held 5: code: ru with order and phone',
    subject: 'Код для входа в личный кабинет',
    html: '<p>Здравствуйте, Марина!</p><p>Код для входа: <b>7740</b></p><p>Действует 10 минут, никому его не сообщайте.</p><p>Заказ № 55120988 можно отследить в личном кабинете. 8 800 555-01-77</p>',
    code: '7740',
  },
  {
    name: 'held 5: code: uk code first',
    subject: 'Підтвердження пошти',
    text: '381 906 — ваш код підтвердження для «Калина».\n\nЯкщо ви не реєструвалися, просто видаліть цей лист. Київ, вул. Прикладна, 12, 01001.\n',
    code: '381906',
  },
  {
    name: 'held 5: code: bg sign-up',
    subject: 'Потвърдете регистрацията си',
    text: 'Здравейте,\n\nза да завършите регистрацията, въведете кода за потвърждение 20 57 16 до 18:00 ч. на 13.03.2026 г.\n\nВашият клиентски номер е 900112.\n',
    code: '205716',
  },
  {
    name: 'held 5: code: sr in Latin script',
    subject: 'Kod za prijavu',
    text: 'Zdravo, Jelena,\n\ntvoj kod za prijavu je 518027. Važi 10 minuta.\n\nBroj zahteva: 31-2026-4478\n',
    code: '518027',
  },
  {
    name: 'held 5: code: lt sign-in',
    subject: 'Jūsų prisijungimo kodas',
    html: '<p>Sveiki, Rūta,</p><p>prisijungimo kodas</p><p><b>64&nbsp;20&nbsp;95</b></p><p>Galioja iki 12.40 val. Kliento Nr. 100448.</p>',
    code: '642095',
  },
  {
    name: 'held 5: code: ar Western digits, right to left',
    subject: 'رمز التحقق الخاص بك',
    html: '<div dir="rtl"><p>مرحباً سلمى،</p><p>رمز التحقق الخاص بك في تطبيق واحة هو:</p><p><b>593 014</b></p><p>صالح لمدة 10 دقائق. رقم الطلب 77104482.</p></div>',
    code: '593014',
  },
  {
    // Doubtful: the mail has Arabic-Indic digits; the label has the ASCII digits that a test would type.
    name: 'held 5: code: ar Arabic-Indic digits',
    subject: 'رمز الدخول لمرة واحدة',
    text: 'عزيزي العميل،\n\nرمز الدخول لمرة واحدة: ٧٢٠٥١٨\nينتهي في الساعة ٣:٤٥ مساءً. لا تشارك الرمز مع أي شخص.\n\nمصرف النخيل ٢٠٢٦\n',
    code: '720518',
  },
  {
    name: 'held 5: code: he with a branch number',
    subject: 'קוד חד-פעמי לכניסה לחשבון',
    html: '<div dir="rtl"><p>שלום נועה,</p><p>הקוד החד-פעמי שלך הוא <b>816 420</b> והוא בתוקף ל-5 דקות.</p><p>סניף 412, מספר לקוח 3309184. מוקד: 03-5550188</p></div>',
    code: '816420',
  },
  {
    // Doubtful: ASCII for Persian digits, as above.
    name: 'held 5: code: fa Persian digits',
    subject: 'کد تأیید شما',
    text: 'کاربر گرامی،\nکد تأیید شما: ۴۸۱۹۰\nاعتبار: ۲ دقیقه\nشماره سفارش ۹۹۱۲۰۴۵۵۸\n',
    code: '48190',
  },
  {
    name: 'held 5: code: ur sign-in',
    subject: 'آپ کا تصدیقی کوڈ',
    text: 'محترم صارف،\n\nلاگ ان کرنے کے لیے آپ کا تصدیقی کوڈ 305 871 ہے۔ یہ کوڈ 10 منٹ تک کارآمد ہے۔\n',
    code: '305871',
  },
  {
    name: 'held 5: code: hi OTP for a payment',
    subject: 'आपका ओटीपी',
    text: 'प्रिय ग्राहक, ₹4,599.00 के भुगतान के लिए आपका ओटीपी 917 352 है। यह 5 मिनट तक मान्य है। कृपया इसे किसी को न बताएं। कार्ड XX8814, दिनांक 14/03/2026\n',
    code: '917352',
  },
  {
    // Doubtful: ASCII for Devanagari digits, as above.
    name: 'held 5: code: hi Devanagari digits',
    subject: 'सत्यापन कोड',
    html: '<p>नमस्ते अनन्या,</p><p>आपका सत्यापन कोड है</p><p><b>६०४८२७</b></p><p>यह कोड १५ मिनट में समाप्त हो जाएगा।</p>',
    code: '604827',
  },
  {
    name: 'held 5: code: bn sign-up',
    subject: 'আপনার যাচাইকরণ কোড',
    text: 'প্রিয় গ্রাহক,\n\nআপনার যাচাইকরণ কোড: 274095। কোডটি ৫ মিনিটের জন্য কার্যকর।\n',
    code: '274095',
  },
  {
    name: 'held 5: code: th no spaces around the code',
    subject: 'รหัส OTP สำหรับเข้าสู่ระบบ',
    text: 'รหัส OTP ของคุณคือ738104 (Ref: WKXQ) กรุณากรอกรหัสภายใน5นาที\nห้ามเปิดเผยรหัสนี้กับผู้อื่น ติดต่อ 02-555-0144\n',
    code: '738104',
  },
  {
    name: 'held 5: code: vi order verification',
    subject: 'Mã xác minh của bạn',
    html: '<p>Chào Linh,</p><p>Mã xác minh của bạn là <b>460 219</b>. Mã có hiệu lực trong 10 phút.</p><p>Đơn hàng 2603140091 · Tổng: 1.250.000₫ · Hotline 1900 5550</p>',
    code: '460219',
  },
  {
    name: 'held 5: code: id code with repeated digits',
    subject: 'Kode OTP Rimbun',
    text: 'JANGAN BERIKAN KODE INI KEPADA SIAPA PUN, termasuk pihak Rimbun.\n\nKode OTP Anda: 5588\n\nBerlaku sampai 16:02 WIB. Pusat bantuan 021-555-0180.\n',
    code: '5588',
  },
  {
    name: 'held 5: code: ja in corner brackets',
    subject: '【こもれび】認証コードのお知らせ',
    text: 'こもれびをご利用いただきありがとうございます。\n\n認証コード「640283」を画面に入力してください。\n有効期限：2026年3月15日 18時30分\n\nお客様番号：A-00418827\n',
    code: '640283',
  },
  {
    // Doubtful: ASCII for full-width digits.
    name: 'held 5: code: ja full-width digits',
    subject: 'ワンタイムパスワードのご連絡',
    text: '瑞穂坂銀行\n\nワンタイムパスワード：５０９１７３４８\n\nご契約番号　１２３＊＊＊＊８９０\n本メールは送信専用です。\n',
    code: '50917348',
  },
  {
    name: 'held 5: code: ko mail with company number',
    subject: '[달빛마켓] 인증번호 안내',
    text: '안녕하세요, 김하늘 님.\n\n요청하신 인증번호는 392 817입니다. 3분 이내에 입력해 주세요.\n\n사업자등록번호 120-88-00000 · 통신판매업 2026-서울강남-0112 · 고객센터 1588-5550\n',
    html: '<p>안녕하세요, 김하늘 님.</p><p>요청하신 인증번호는 <b>392 817</b>입니다. 3분 이내에 입력해 주세요.</p><p>사업자등록번호 120-88-00000 · 통신판매업 2026-서울강남-0112 · 고객센터 1588-5550</p>',
    code: '392817',
  },
  {
    name: 'held 5: code: zh simplified without spaces',
    subject: '验证码',
    text: '【青禾】您正在登录，验证码905142，5分钟内有效。工作人员不会向您索要，请勿泄露。客服电话400-555-0101。\n',
    code: '905142',
  },
  {
    name: 'held 5: code: zh traditional, code first',
    subject: '您的登入驗證碼',
    html: '<p>親愛的用戶您好：</p><p><b>718 360</b> 是您的登入驗證碼，將於 10 分鐘後失效。</p><p>訂單編號 TW20260315004 · 統一編號 00000000 · 臺北市範例路 101 號</p>',
    code: '718360',
  },
  {
    name: 'held 5: code: en text and HTML with differently spaced digits',
    subject: 'Sign in to Beacon Books',
    text: 'Sign in to Beacon Books\n\nYour code: 175 826\n\nOr use this link: https://beacon-books.example/signin/once/Ht7sQ0\n\nInvoice 40091 is still open.\n',
    html: '<p>Sign in to Beacon Books</p><p>Your code:</p><p>1 7 5 8 2 6</p><p>Or <a href="https://beacon-books.example/signin/once/Ht7sQ0">use this link</a></p><p>Invoice 40091 is still open.</p>',
    code: '175826',
    links: ['sign-in'],
  },
  {
    name: 'held 5: code: en invisible character against phone detection',
    subject: 'Marigold verification',
    html: '<p>Your Marigold verification code is:</p><p style="font-size:32px">308&zwnj;441</p><p>We sent it to your email because SMS to ••• 7712 failed.</p>',
    code: '308441',
  },
  {
    name: 'held 5: code: en digits turned into a phone link by a mail program',
    subject: 'Fwd: code',
    html: '<p>Login code for Osprey</p><p><a href="tel:50417728">50417728</a></p><p>Sent from my phone</p>',
    code: '50417728',
  },
  {
    name: 'held 5: code: en code to open a document for signing',
    subject: 'Passcode to open “Lease 2026 – Unit 4120”',
    text: 'Document: Lease 2026 – Unit 4120\nEnvelope ID: 7F1C22E0-5B1A-4D02-9C41-0A2B3C4D5E6F\nOne-time passcode: Q8R5-21LM\n\nThe passcode is valid for one hour.\n',
    code: 'Q8R5-21LM',
  },
  {
    // Doubtful: the code was sent to another person first, but it is the only one and was passed on to be typed.
    name: 'held 5: code: en forwarded with quote marks',
    subject: 'Fwd: Your Tidewater verification code',
    text: 'can you get in with this? K.\n\n---------- Forwarded message ---------\nFrom: Tidewater <no-reply@tidewater.example>\nDate: Mon, 16 Mar 2026 at 08:45\n\n> Your verification code is 221908\n> It expires at 09:00.\n',
    code: '221908',
  },
  {
    // Doubtful: the space between the groups of a mixed code is for reading only.
    name: 'held 5: code: en mixed groups with a space',
    subject: 'Pair your console',
    html: '<p>To link your console to your Arcadia account, enter</p><p style="font-size:30px">X7C 4MB</p><p>on the pairing screen. This pairing code expires at 20:15.</p>',
    code: 'X7C4MB',
  },
  {
    name: 'held 5: code: ca code in a button-like cell',
    subject: 'El teu codi per entrar a Roure',
    html: '<p>Hola, Núria,</p><table><tr><td bgcolor="#2255cc" style="color:#fff;padding:14px">483 620</td></tr></table><p>Escriu aquest codi per iniciar la sessió. Caduca d’aquí a 10 minuts. Tiquet 2026-11-4471.</p>',
    code: '483620',
  },
  {
    name: 'held 5: code: ta sign-in',
    subject: 'உங்கள் சரிபார்ப்புக் குறியீடு',
    text: 'வணக்கம்,\n\nஉங்கள் சரிபார்ப்புக் குறியீடு: 609 213\nஇது 10 நிமிடங்களுக்கு செல்லுபடியாகும்.\n',
    code: '609213',
  },
];
