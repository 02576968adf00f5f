/*
 * Words that tell a one-time code from other numbers, as data. Each pattern is held against one whole
 * word in lower case; a stem with `\p{L}*` takes the endings of its language.
 */

/** Words that name a one-time code. Compounds such as "Bestätigungscode" end in one of the last line. */
const CODE_WORDS = [
  'codes?|otp|totp|pin|pincode|m?tan|passcodes?|verification|onetime|token|einmal(?:passwort|kennwort|code)|2fa|mfa',
  'c[oó]digos?|codice|codici|cod|codul|codi|c[oó]d|mã|kode\\p{L}*|koodi\\p{L}*|kood\\p{L}*|kod\\p{L}{0,6}|kód\\p{L}*',
  'код\\p{L}{0,4}|одноразов\\p{L}*|κωδικ\\p{L}*|(?:[وبلك]?ال|لل|[وبل])?رمز\\p{L}*|(?:ال|لل)?كود|کد|کوڈ|[הבלשוכמ]{0,2}קוד(?:[ךיוה]|כם|ים)?|कोड|ओटीपी|কোড|ওটিপি|kodas|kods|koda|კოდ\\p{L}*|կոդ\\p{L}*',
  'msimbo|કોડ|ਕੋਡ|కోడ్|ಕೋಡ್|കോഡ്|කේතය|ኮድ|குறியீ[\\p{L}\\p{M}]*',
  'claves?|vérification|verificaci[oó]n|verificação|verificatie|weryfikac\\p{L}*|верификац\\p{L}*',
  'monouso|jednorazow\\p{L}*|jednor[aá]zov\\p{L}*|engångs\\p{L}*|engangs\\p{L}*|kertakäyttö\\p{L}*|jednokratn\\p{L}*|једнократн\\p{L}*|еднократн\\p{L}*',
  'enkratn\\p{L}*|vienkartin\\p{L}*|vienreizēj\\p{L}*|ühekord\\p{L}*|ஒருமுறை',
  '\\p{L}{3,}(?:code|codes|kode|koden|koodi|koodisi|koodin|kod|kodu|kód|passcode|passwort|tan|kood(?:i|iks)?|kóð(?:i|a|inn|ann))',
];

/** Words after or before which a number is something else; next to a code word they spoil that too. */
const OTHER_WORDS = [
  'order|orders|bestell\\p{L}*|auftrag\\p{L}*|commande|pedido|ordine|encomenda|bestelling|zam[oó]wieni\\p{L}*|sipariş\\p{L}*|заказ\\p{L}*|beställning|objedn\\p{L}*',
  'invoice|rechnung\\p{L}*|facture|factura|fattura|fatura|faktur\\p{L}*|receipt|beleg\\p{L}*|quittung\\p{L}*|счет|счёт|bill',
  'tel|tél|phone|telefon\\p{L}*|téléphone|teléfono|telefono|telefone|fax|call|hotline|mobile|whatsapp|sms|тел|телефон',
  'zip|zipcode|postal|postcode|plz|cep|cap|postleitzahl|postnummer|индекс',
  'tracking|track|sendung\\p{L}*|shipment|parcel|paket\\p{L}*|colis|suivi|seguimiento|spedizione|zending|przesyłk\\p{L}*|kargo|awb|ups|fedex|dhl',
  'booking|reservation|reservierung\\p{L}*|buchung\\p{L}*|réservation|reserva|prenotazione|boeking|rezerwacj\\p{L}*|flight|flug|vol|vuelo|volo|pnr|train|zug|seat|gate|room|zimmer|table|tisch',
  'ticket|tickets|case|issue|incident|vorgang\\p{L}*|request|pull|bug|build|release|version|ver|v|rfc|cve|error|fehler\\p{L}*|status|http|port|exit|line',
  'ending|endend\\p{L}*|endet|terminant|terminada|termina|card|karte|iban|bic|vat|ust|tva|siret|hrb|swift|sort|blz',
  'customer|kunden\\p{L}*|client|cliente|klant\\p{L}*|member|mitglied\\p{L}*|policy|contract|vertrag\\p{L}*|serial|model|sku|product|article|artikel\\p{L}*|item|part|barcode|barras|barre|barra|qr|license|licence|isbn',
  'ref|reference|referenz|référence|referencia|id',
  'amount|total|price|preis|prix|precio|sum|summe|balance|saldo|kontostand|eur|usd|gbp|chf|betrag|montant|importe',
  'copyright|since|seit|year|anno|street|st|str|straße|avenue|ave|road|rd|suite|box|floor|blvd|platz',
  // Codes that an office, a tax, a bank or a shop gives once and for all.
  'cif|nif|nip|regon|krs|cnpj|cpf|i[cč]o|dič|kvk|btw|siren|gst|gstin|ifsc|micr|abn|uen|orgnr|org|fiscal\\p{L}*|єдрпоу|інн|инн|кпп|бик|мфо|окпо|огрн|ملی|مشتری',
  'pocztowy|psč|po[sș][tț]al|irányítószám|postinumero|bưu|поштов\\p{L}*|почтов\\p{L}*|البريدي|پستی|מיקוד',
  'seuranta\\p{L}*|spårning\\p{L}*|takip|śledz\\p{L}*|sledovac\\p{L}*|rastre\\p{L}*|resi|vận|трек\\p{L}*|накладн\\p{L}*|отслеж\\p{L}*|відстеж\\p{L}*|رهگیری|מעקב',
  'замовлен\\p{L}*|tilaus\\p{L}*|comand\\p{L}*|rendelés\\p{L}*|παραγγελ\\p{L}*|pesanan|đơn|ऑर्डर|הזמנה|הזמנת|הזמנתך|الطلب|طلبية|سفارش|boekings\\p{L}*|localizador',
  'kresk\\p{L}*|destinatari\\p{L}*|univoco|pos|poskod|پوسٹل|ڈاک|পোস্ট|அஞ்சல்|пощенски|поштенски|pašto|ταχυδρομικό[ςυ]|საფოსტო|փոստային',
  'товар\\p{L}*|артикул\\p{L}*|įmonės|uzņēmuma|(?:registri|isiku|triip|vööt|toote|posti|riba|pašto)kood\\p{L}*|(?:viiva|tuote|asiakas)koodi\\p{L}*|sihtnumber|(?:čiarov|čárov)\\p{L}*',
  'country|area|dress|source|bar|morse|lines|steps|members|users|followers|points|punkte|visitors|views|page|seite|chapter|article|course|class',
];

/** "Number" in its languages: of a code when a code word is beside it, of something else otherwise. */
const NUMBER_WORDS = ['number|nr|no|num|numéro|número|numero|nummer|numer|номер|numarası|№|#'];

/** Words of advertising: the code of such a sentence is the same for everybody. */
const PROMO_WORDS = [
  'promo\\p{L}*|coupon\\p{L}*|discount|voucher|gutschein\\p{L}*|rabatt\\p{L}*|rabat\\p{L}*|gift|referral|invite|invitation|save|off',
  'sconto|descuento|desconto|cupom|cup[oó]n|kortings\\p{L}*|korting|réduction|remise|промокод\\p{L}*|indirim|kupon\\p{L}*|checkout',
  'aktions(?:code|kode)|kupong\\p{L}*|slev\\p{L}*|alennus\\p{L}*|έκπτωσ\\p{L}*|знижк\\p{L}*|скидк\\p{L}*|купон\\p{L}*|קופון|कूपन|reducere|diskon|giảm|الخصم|خصم|تخفیف|popust\\p{L}*|попуст\\p{L}*|zľav\\p{L}*|промо\\p{L}*|отстъпк\\p{L}*|nuolaid\\p{L}*|atlai[dž]\\p{L}*|soodus\\p{L}*|kedvezmény\\p{L}*|προσφορ\\p{L}*|afslátt\\p{L}*|punguzo|ছাড়|छूट',
  'cart|basket|warenkorb|panier|carrito|carrello|carrinho|winkel(?:wagen|mand\\p{L}*)|koszyk\\p{L}*|koší[kč]\\p{L}*|sepet\\p{L}*|корзин\\p{L}*|кошик\\p{L}*|varukorg\\p{L}*|(?:handle|indkøbs)kurv\\p{L}*|ostoskori\\p{L}*|kosár\\p{L}*',
];

/** "Enter", "type in": the number beside it is to be typed, if the sentence says what for. */
const ENTER_WORDS = [
  'enter|type|input|gib|geben|eingeben|tippe|tippen|saisi\\p{L}*|entrez|tapez|introdu(?:ce|zca|zcan|cir|za|zir|ce[tț]i)|escrib[ae]n?|ingres[ae]n?|teclea|digit[ae]|insira',
  'inserisci|inserire|immetti|voer|vul|wpisz|wprowadź|podaj|zadej\\p{L}*|napište|opište|ange|skriv|indtast|tast|syötä|anna|kirjoita|írja|írd',
  'gir|girin|giriniz|yazın|введите|введи|введіть|уведіть|πληκτρολογ\\p{L}*|εισ[αά]γ\\p{L}*|أدخل|ادخل|أدخلي|הזן|הזיני|הזינו|הקלד|הקלידו|दर्ज|nhập|masukkan',
];

/** Units behind a number. */
const UNIT_WORDS = [
  'px|pt|em|kb|mb|gb|tb|kg|g|km|m|cm|mm|mi|ft|usd|eur|gbp|chf|kr|sek|nok|dkk|pln|zł|czk|huf|rub|руб|₽|try|tl|jpy|inr|rs|円|元|원',
  'min|mins|minutes|minuten|seconds|sekunden|hours|stunden|days|tage|h|am|pm|uhr|percent|prozent|points|punkte|people|users|items|times|steps|kcal|mah|ml|l|w|kwh|views|subscribers|members|commits|lines',
];

/** "One-time" where it is more than one word; apart for scripts of which most texts hold no letter. */
export const ONE_TIME =
  /\b(?:one[- ]time\b|us(?:age unique|o [uú]nico|a e getta)|un(?: sol(?:o uso| ús)|ică folosință)|tek kullanımlık|dùng (?:một|1) lần|sekali (?:pakai|guna)|isang beses|egyszer(?:i| használatos)|mara moja)/gi;
export const ONE_TIME_SIGNS =
  /ה?חד[- ־]?פעמית?|یک ?بار ?مصرف|ون ٹائم|ওয়ান টাইম|ใช้ครั้งเดียว|[μΜ][ιίΙ]ας [χΧ]ρήσης/g;

/** A mail about these calls its reference a code as well; a reference mixes letters and digits. */
export const BOOKING =
  /\b(?:book(?:ed|ing)|reserv\w+|check-?in|flight|itinerary|buchung|flug|réservation|vol|reserva|prenotazione|boeking)\b|予約|预订|예약/i;

/** Scripts that write without blanks: looked for as they are. */
export const CODE_SIGNS =
  /验证码|驗證碼|校验码|动态码|動態碼|动态密码|认证码|安全码|確認碼|认证碼|認証コード|確認コード|検証コード|ワンタイム|認証番号|確認番号|パスコード|コード|인증번호|인증\s?코드|확인\s?코드|보안\s?코드|로그인\s?코드|인증\s?번호|일회용|코드|รหัส|ລະຫັດ|កូដ|ကုဒ်|otp/gi;
export const OTHER_SIGNS =
  /订单|訂單|单号|快递|运单|电话|電話|邮编|優惠|优惠|折扣|发票|發票|金额|尾号|注文|番号|お問い合わせ|クーポン|郵便|電話番号|請求|予約|주문|송장|쿠폰|전화|우편|예약|영수증|할인|ไปรษณีย์|ส่วนลด|โทร|คำสั่งซื้อ|คูปอง/g;

/** "Code" and nothing more: of a coupon, where that word is attached. */
export const BARE_CODE_SIGN = /^(?:コード|코드|รหัส)$/;

/** What stands between a code word and its code: nothing else may, for the looser shapes. */
export const DIRECT =
  /(?:[:：=՝]|(?<=\s)(?:is|ist|lautet|est|es|è|é|is:|är|er|on|to|jest|là|adalah|ni|je|van|este|és|yra|ir|ialah|ay|është|е|је|είναι|הוא|היא|هي|হল|হলো|է)(?:\s(?:the|der|die|das|le|la|el|il|o|a|het|de))?|-|–|—|→|are|этo|это|वह|هو|は|为|是|為|은|는|คือ)[\s"'«„“(*「【]*$/iu;

/** In front of "customer": the person who is written to, and no number. */
export const SALUTATION =
  /^(?:dear|valued|hi|hello|estimad[oa]|querid[oa]|hola|gentile|cher|chère|bonjour|geehrte[rs]?|liebe[rs]?|hallo|prezad[oa]|car[oa]|olá|beste|geachte)$/i;

const word = (patterns: readonly string[]) => new RegExp(`^(?:${patterns.join('|')})$`, 'u');
const CODE = word(CODE_WORDS);
const OTHER = word(OTHER_WORDS);
const NUMBER = word(NUMBER_WORDS);
const PROMO = word(PROMO_WORDS);
const ENTER = word(ENTER_WORDS);
const UNIT = word(UNIT_WORDS);

export type WordKind = 'code' | 'other' | 'promo' | 'number' | 'enter' | 'unit' | 'plain';

const known = new Map<string, WordKind>();
/** Mails bring words without end; so many are remembered. */
const MAX_KNOWN = 20_000;

function classify(word: string): WordKind {
  if (PROMO.test(word)) return 'promo';
  if (OTHER.test(word)) return 'other';
  if (NUMBER.test(word)) return 'number';
  if (CODE.test(word)) return 'code';
  if (ENTER.test(word)) return 'enter';
  // Units come last: "m" and "is" stand in sentences far more often than behind a number.
  return UNIT.test(word) ? 'unit' : 'plain';
}

/** What a word says about a number beside it. */
export function kindOfWord(text: string): WordKind {
  let kind = known.get(text);
  if (kind === undefined) {
    kind = classify(text.toLowerCase());
    if (known.size < MAX_KNOWN && text.length < 40) known.set(text, kind);
  }
  return kind;
}
