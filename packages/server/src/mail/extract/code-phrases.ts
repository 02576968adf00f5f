/* Phrases that distinguish a one-time code from other numbers. Single words are in code-words.ts. */

/** Phrases that mean "one-time". Each is replaced by "onetime", because the rules compare single words. */
export const ONE_TIME =
  /\b(?:one[- ]time\b|us(?:age unique|o [uú]nico|a e getta)|un(?: sol(?:o uso| ús)|ică folosință)|tek kullanımlık|dùng (?:một|1) lần|sekali (?:pakai|guna)|isang beses|egyszer(?:i| használatos)|mara moja)/gi;
export const ONE_TIME_SIGNS =
  /ה?חד[- ־]?פעמית?|لمرة واحدة|یک ?بار ?مصرف|ون ٹائم|ওয়ান টাইম|ใช้ครั้งเดียว|[μΜ][ιίΙ]ας [χΧ]ρήσης/g;

/** Mail about bookings often calls the booking reference a code. */
export const BOOKING =
  /\b(?:book(?:ed|ing)|reserv(?:ation|ierung)\w*|check-?in|flight|itinerary|buchung|flug|réservation|vol|reserva|prenotazione|boeking)\b|予約|预订|예약/i;

export const EXPIRED =
  /(?<!not )expired|no longer (?:works?|valid)|abgelaufen|nicht mehr gültig|expirée?|n’est plus valable|caducado|ya no es válido|scaduto|expirou|verlopen|wygasł|ист[её]к|失効|已失效|만료되었/i;

export const SOURCE_LINE = /[()=].*[;{}]\s*$|[!=]==?[^=]|=>|\w\([^()]*["'][^()]*\)\s*[;,)]/;

/** A mail with such a subject contains no one-time code, unless its text asks the reader to enter one. */
export const RECORD_SUBJECT =
  /\b(?:receipt|invoice|statement|order confirmation|check-?in|dial-?in|meeting|webinar|conference|your (?:stay|trip)|quittung|rechnung|kontoauszug|reçu|relevé|recibo|ricevuta|estratto|nf-?e|nota fiscal|comprovante|comprobante|dekont|e-?paragon)\b|\[patch\b|faktur|fatura|bolletta|квитанц|чек |明細|发票|發票|账单|帳單|명세|영수증|فاتورة/i;

export const YOUR_CODE_IS =
  /(?:^|\s)(?:your|deine?|ihre?|votre|ton|tu|su|il tuo|o seu|uw|je|jouw|din|ditt|twój|váš|ваш)\s+(?:(?:verif|secur|access|log-?in|sign-?in|one-?time|onetime|pass)\p{L}*\s+)?(?:(?:bestätigungs|verifi\p{L}{1,10}|sicherheits|zugangs|anmelde|login|verifierings|bekräftelse|bekræftelses|bekreftelses)-?)?(?:code|código|codice|kode?|код|kód)(?:\s(?:d[ei]\s(?:vérif|verif|sécur|segur|sicur|acc)|weryf|подтвержд|підтвердж)\p{L}*)?\s*(?::|(?:is|lautet|ist|est|es|è|é|to|är|er|je)\b)[\s:*"„“]*$/iu;

export const PRESENTED =
  /(?:here (?:you (?:go|are)|it is)|there you go|(?:bitte|hier)[ ,]*(?:schön|sehr|bitte)?|(?:et )?voil[àa]|l[ea] voici|aqu[ií] (?:l[oa] )?(?:tien[a-z]+|está|vai)|eccol[oa]|ecco (?:qui|a te)|als(?:je|tu)blieft|varsågod|værså?god?|ole hyvä|proszę|prosím|tessék|poftim|iată|ορίστε|вот(?: он)?|держите|ось(?: він)?|işte|buyur(?:un)?|تفضل|הנה|यह रहा|ini dia|どうぞ|こちらです)\s?[:：][\s*]*$/i;

export const ENDS_LINE = /^[ \t"'”»*)\]]*(?:[.,;!?\n]|$)/;

export const PLACE =
  /\bpage|screen|\bapp\b|browser|website|\bweb\b|\btab\b|\w{3}seite\b|\b(?:der|die) seite\b|bildschirm|\bpage|écran|\bsite\b|página|pantalla|aplica|\btela\b|ecrã|pagin[ae]|schermata|schermo|applica|scherm|\w{3}sidan?\b|\bpå sidan?\b|\bsiden\b|skärm|skærm|skjerm|sivulla|näytö|stron|ekran|strán[kc]|obrazov|oldal|képernyő|σελίδα|οθόνη|εφαρμογ|страниц|приложени|сторін|екран|застосун|sayfa|uygulama|صفحة|شاشة|تطبيق|صفحه|עמוד|מסך|पेज|स्क्रीन|ऐप|halaman|layar|aplikasi|trang|màn hình|ứng dụng|หน้าจอ|แอป|画面|ページ|アプリ|页|頁|屏幕|应用|應用|화면|페이지|앱/i;

/** Words that may stand between a verb such as "enter" and the number: "simply enter the 4821". */
export const BESIDE_NUMBER =
  /^(?:just|simply|please|this|the|number|here|sie|du|bitte|einfach|die|den|das|nur|hier|simplement|le|les|ici|el|los?|aquí|simplemente|o|por|favor|aqui|il|gli|qui|het|gewoon|in|bara|blot|bare|vain|po prostu|tutaj|zde|просто|тут|здесь|code|sadece)$/i;

export const ENTERED_BEFORE = /(?:输入|輸入|填写|填寫|ป้อน|กรอก)[“"「【 ]*$/;
export const ENTERED_AFTER = /^[”"」】 ]*(?:(?:を|と|을|를|이라고)[^。\n]{0,10})?(?:ご?入力|입력)/;

/** A phrase such as "your six digits:" at the end of a text. */
export const COUNTED =
  /(?<![a-z\u00c0-\u04ff])(?:[4-8]|four|five|six|seven|eight|vier|fünf|sechs|acht|quatre|cinq|sept|huit|cuatro|cinco|seis|siete|ocho|quatro|sete|oito|quattro|cinque|sei|sette|otto|vijf|zes|zeven|fyra|fire|fem|sex|seks|sju|syv|åtta|åtte|otte|neljä|viisi|kuusi|cztery|pięć|sześć|osiem|čtyři|štyri|pět|päť|šest|šesť|osm|osem|négy|öt|hat|nyolc|patru|cinci|șase|opt|τέσσερα|πέντε|έξι|οκτώ|четыре|пять|шесть|восемь|чотири|п[ʼ’]ять|шість|вісім|dört|beş|altı|sekiz|empat|lima|enam|delapan|bốn|năm|sáu|tám)[\s-](?:digits?|characters|ziffern|zeichen|chiffres|caractères|dígitos|caracteres|cifre|caratteri|cijfers|tekens|siffror|tecken|siffer|cifre|numeroa|cyfry?|cyfr|číslice?|cifier|számjegy|ψηφία|цифры?|rakam|angka|chữ số)(?![a-z\u00c0-\u04ff])[^\n.!?]{0,60}\s*$/i;

/** Words for "key". A key is a code only if the value has letters and digits. */
export const KEY =
  /^(?:keys?|\p{L}*(?:schlüssel|sleutel|nyckeln?|nøgle|nøkkel|avain)|cl[ée]f?|chiave|chave|chei[ea]|klucz|klíč|kľúč|kulcs\p{L}{0,3}|ключ|κλειδί|anahtar\p{L}{0,4}|(?:ال)?مفتاح|کلید|מפתח|कुंजी)$/iu;

export const VERB = /\s(?:is|lautet|ist|est|es|è|é)[\s:*"„“]*$/iu;

export const IN_SUBJECT =
  /\b(?:in|of|im|in der|dans l[’']|en el|nell[’']|no|in het|w) ?(?:the |this )?(?:e-?mail[’']?s? )?(?:subject|betreff\w*|objet|asunto|oggetto|assunto|onderwerp|temacie)\b|件名|主题|主旨|제목/i;

/** Words about access. In a mail without them, a "code" is another kind of number: "job code", "code magasin". */
const ACCESS_WORDS: readonly RegExp[] = [
  /valid|expir|secur|authenti|autenti|approv|genehmig|aprob|aprov|uwierzyteln|аутентиф|xác thực|your account|unlock|passw|gültig|läuft|verfällt|sicher|geheim|weitergeb|zugangs|freigabe|freigeben|valable|sécuri|d’accès|d'accès|partilh|confidentiel|válid|caduc|caduq|segur|compart|acceso|acesso|autoriza|scad|sicur|condivid|accesso|autorizz|geldig|verlo|beveilig|deel|toegang|giltig|gyldig|gäller|utløper|udløber|säkerhet|sikkerhed|sikkerhet|del ikke|del inte|voimassa|vanhen|ważn|wygas|bezpiecz|platn|platí|bezpeč|érvényes|bizton|valabil|geçerli|paylaş|güven|действ|безопас|дійсн|безпек|ισχύ|λήγει|ασφάλ|有効|セキュリティ|有效|安全|泄露|유효|만료|보안|صالح|صلاحي|تشارك|أمان|تنتهي|معتبر|בתוקף|תקף|पर मान्य|मान्य|साझा|सुरक्षा|berlaku|hiệu lực|chia sẻ|หมดอายุ|ภายใน/,
  /votre compte|ton compte|tu cuenta|su cuenta|sua conta|tua conta|tuo account|je account|uw account|ditt konto|din konto|twoje kont|twoim kont|vašeho účtu|fiókod|contul tău|аккаунт|акаунт|hesabın|حسابك|アカウント|계정|账户|账号|帳戶|帳號|tài khoản|akun/,
  /to anyone|niemandem|à personne|ne donnez|ne communiquez|a nadie|con nadie|ninguém|nessuno|aan niemand|met niemand|någon annan|nogon annan|kenellekään|nikomu|senki|nimănui|никому|нікому|kimse|κανέναν|第三者|他人|告知|告訴|告诉|任何人|타인|알려주지|لأحد|لأي شخص|לאף אחד|किसी को|কাউকে|siapa pun|bất kỳ ai|ผู้อื่น/,
  /rejestr|registr|regisz|inscri|înscri|aanmeld|inschrijv|rekister|регистр|реєстр|kayıt|εγγραφ|登録|注册|註冊|등록|가입|تسجيل|הרשמ|पंजीक|đăng ký|pendaftar|ลงทะเบียน/,
  /abhol|retrait|retir|recogida|ritir|levantamento|afhaal|afhal|hämt|afhent|hente|nouto|odbior|odbiór|vyzved|vyzdvih|átvétel|ridicare|παραλαβ|получени|отриман|teslim|取件|取货|取貨|受取|暗証|수령|픽업|استلام|איסוף/,
  /\bshare|\bsecret|\b(?:your|dein|ihr|votre|ton|tu|su|tuo|suo|seu|teu|uw|je|jouw|twój|ваш|твой|ваш)\b[^.\n]{0,24} (?:code|pin|c[oó]digo|codice|kod|код)\b|(?:sign|logg)ing[ -]in|sign(?:ed|ing)? up|\b(?:otp|tan|2fa|mfa)\b|partage[rz]?|dei?n(?:em)? konto|ihr(?:em)? konto|(?:never|not) (?:tell|give|disclose|reveal|forward)|registr?[ei]|pick-?up/,
];
export const ABOUT_ACCESS = new RegExp(ACCESS_WORDS.map(({ source }) => source).join('|'), 'i');

export const BARE_CODE =
  /^(?!einmal|engångs|engangs|kertakäyttö|ühekord|pass)(?:\p{L}{3,}(?:code|codes|kode|koden|kodi|kod|kodu|kód|kood)|codes?|c[oó]d(?:igos?|ice|ici|i|ul)?|claves?|k[oó]d\p{L}{0,4}|kood\p{L}{0,4}|код\p{L}{0,4}|κωδικ\p{L}*|(?:[وبلك]?ال|لل|[وبل])?رمز\p{L}*|کد|کوڈ|קוד\p{L}*|कोड|কোড)$/iu;

export const ENTER_IT =
  /\b(?:(?:enter|type|use|paste|copy) (?:it|this|that|these)|gib (?:ihn|sie|es)|geben sie (?:ihn|sie|es)|saisissez-le|entrez-le|introdúcelo|escríbelo|inseriscilo|introduza-o|voer (?:deze|hem)|wpisz go|введите его)\b/i;

export const CONFIRMED =
  /\b(?:confirmed|verified|bestätigt|confirmée?|confirmad[oa]|confermat[oa]|bevestigd|potwierdzon[oea]|подтвержд[её]н)/i;

export const CODE_SIGNS =
  /验证码|取[件货貨][码碼]|驗證碼|校验码|动态码|動態碼|动态密码|動態密碼|一次性密[码碼]|临时密码|臨時密碼|[动動][态態]口令|认证码|安全码|確認碼|认证碼|認証コード|確認コード|検証コード|ワンタイム|認証番号|確認番号|暗証番号|パスコード|コード|인증번호|인증\s?코드|확인\s?코드|보안\s?코드|로그인\s?코드|인증\s?번호|일회용|(?<![后後末尾])[4-8四五六七八] ?[位桁자][の리]? ?(?:数字|數字|コード|숫자|코드)|(?:数字|番号)を[^。\n]{0,12}入力|코드|รหัส|ລະຫັດ|កូដ|ကုဒ်|otp/gi;
export const OTHER_SIGNS =
  /订单|訂單|单号|快递|运单|电话|電話|邮编|優惠|优惠|折扣|发票|發票|金额|尾号|商品|产品|產品|製品|注文|番号|お問い合わせ|クーポン|郵便|電話番号|請求|予約|주문|상품|제품|송장|쿠폰|전화|우편|예약|영수증|할인|ไปรษณีย์|ส่วนลด|โทร|คำสั่งซื้อ|คูปอง/g;

export const BARE_CODE_SIGN = /^(?:コード|코드|รหัส)$/;

/** Text that may stand between a word such as "code" and the code itself, such as a colon or "is". */
export const DIRECT =
  /(?:[:：=՝]|(?<=\s)(?:is|ist|lautet|est|es|è|é|is:|är|er|on|to|jest|là|adalah|ni|je|van|este|és|yra|ir|ialah|ay|është|е|је|είναι|הוא|היא|هي|হল|হলো|է)(?:\s(?:the|der|die|das|le|la|el|il|o|a|het|de))?|-|–|—|→|are|этo|это|वह|هو|は|为|是|為|은|는|คือ)[\s"'«„“(*「【]*$/iu;

export const SALUTATION =
  /^(?:dear|valued|hi|hello|estimad[oa]|querid[oa]|hola|gentile|cher|chère|bonjour|geehrte[rs]?|liebe[rs]?|hallo|prezad[oa]|car[oa]|olá|beste|geachte)$/i;
