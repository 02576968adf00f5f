/*
 * Words that distinguish a one-time code from other numbers, as data. To add a word or a language, add it to the
 * row of its meaning. A pattern is compared with one whole word in lower case; a stem with `\p{L}*` takes the
 * endings of its language. Where a word stands in rows of several effects, the effect that word-kinds.ts lists
 * first counts.
 */

/**
 * What a word says about the number beside it:
 * - `promo`: the sentence is advertising, and its code is the same for everybody;
 * - `cart`: the same for a code with letters; digits are typed at a checkout to prove who pays;
 * - `other`: the number is something else, and a code word beside it names that ("order code");
 * - `label`: the number behind it is something else, but "SMS code" and "the code on this page" are codes;
 * - `stale`: the code is an earlier one;
 * - `number`: "number": of a code beside a code word, of something else otherwise;
 * - `code`: the number is a one-time code;
 * - `enter`: the number is to be typed, if the sentence says what for;
 * - `unit`: the number before it is a quantity.
 */
export type Effect = 'promo' | 'cart' | 'other' | 'label' | 'stale' | 'number' | 'code' | 'enter' | 'unit';

interface WordRule {
  effect: Effect;
  /** What the words mean, which is why they have the effect. */
  reason: string;
  /** Patterns by language, ISO 639-1; languages that share words share a line. */
  words: Readonly<Record<string, RegExp>>;
}

const WORD_RULES: readonly WordRule[] = [
  {
    effect: 'code',
    reason: 'a one-time code, or a part of its name',
    words: {
      en: /codes?|otp|totp|pin|pincode|passcodes?|verification|onetime|token|2fa|mfa/u,
      de: /m?tan|einmal(?:passwort|kennwort|code)/u,
      'es pt it ca': /c[oó]digos?|codice|codici|codi|c[oó]d|mã|claves?|verificaci[oó]n|verificação|monouso/u,
      'fr nl': /vérification|verificatie/u,
      ro: /cod|codul/u,
      'sv no da': /kode\p{L}*|engångs\p{L}*|engangs\p{L}*/u,
      'pl cs sk tr hr':
        /kod\p{L}{0,6}|weryfikac\p{L}*|jednorazow\p{L}*|jednor[aá]zov\p{L}*|jednokratn\p{L}*/u,
      'hu sl lt lv et fi':
        /kód\p{L}*|enkratn\p{L}*|kodas|kods|koda|vienkartin\p{L}*|vienreizēj\p{L}*|kood\p{L}*|koodi\p{L}*|kertakäyttö\p{L}*|ühekord\p{L}*/u,
      'ru uk bg sr': /код\p{L}{0,4}|одноразов\p{L}*|верификац\p{L}*|једнократн\p{L}*|еднократн\p{L}*/u,
      el: /κωδικ\p{L}*/u,
      'ar fa ur': /(?:[وبلك]?ال|لل|[وبل])?رمز\p{L}*|(?:ال|لل)?كود|کد|کوڈ/u,
      he: /[הבלשוכמ]{0,2}קוד(?:[ךיוה]|כם|ים)?/u,
      'hi bn': /(?:पास)?कोड|ओटीपी|(?:পাস)?কোড|ওটিপি|পিন/u,
      'ka hy': /კოდ\p{L}*|կոդ\p{L}*/u,
      'sw gu pa te kn ml si am ta': /msimbo|કોડ|ਕੋਡ|కోడ్|ಕೋಡ್|കോഡ്|කේතය|ኮድ|குறியீ[\p{L}\p{M}]*|ஒருமுறை/u,
      'compounds such as "Bestätigungscode"':
        /\p{L}{3,}(?:code|codes|kode|koden|koodi|koodisi|koodin|kod|kodu|kód|passcode|passwort|tan|kood(?:i|iks)?|kóð(?:i|a|inn|ann))/u,
    },
  },
  {
    effect: 'enter',
    reason: 'to type or to use what is beside it',
    words: {
      en: /enter|type|input|use|paste|fill/u,
      de: /gib|geben|ein(?:zu)?geben|tippe?|tippen|eintippen|trage|tragen|nutze|nutzen|verwende|verwenden/u,
      fr: /saisi\p{L}*|entrez|tapez|utilisez|utilise|renseign(?:ez|er)|indiquez|composez|recopie[zr]/u,
      'es pt':
        /introdu(?:ce|zca|zcan|cir|za|zir)|escr[ií]b[ae](?:n|l[oa])?|ingres[ae]n?|pon|ponga|teclea|copia|copie|digit[ae]|insira|inserir|escrev[ae]|informe|preencha|utilice|utiliza/u,
      'it ro':
        /inserisci|inserisca|inserire|digit[ai]|digitare|scriv[ai]|immetti|introdu|introduce[tț]i|folosește|folosi[tț]i/u,
      nl: /voer|vul|typ|tik|invoeren|invullen|intypen|gebruik/u,
      'pl cs sk': /wpisz|wpisać|przepisz|wprowadź|podaj|użyj|zadej\p{L}*|napište|opište|použijte/u,
      'sv no da': /ange|skriv|indtast|tast|använd|bruk|brug/u,
      'fi hu': /syötä|anna|kirjoita|käytä|írja|írd/u,
      tr: /gir|girin|giriniz|yaz|yazın|yazınız|tuşlayın|kullanın/u,
      'hr sl bg sr': /unesite|upišite|vnesite|въведете|въведи|унесите/u,
      'lt lv et ca': /įveskite|ievadiet|sisesta(?:ge)?|introdueix\p{L}*/u,
      'ru uk': /введите|введи|наберите|впишите|наберіть|впишіть|введіть|уведіть|используйте|використайте/u,
      el: /πληκτρολογ\p{L}*|εισ[αά]γ\p{L}*/u,
      'ar he': /أدخل|ادخل|أدخلي|استخدم|הזן|הזיני|הזינו|הקלד|הקלידו/u,
      'hi bn vi id': /दर्ज|टाइप|लिख|লিখুন|nhập|gõ|masukkan|ketik\p{L}*|gunakan/u,
    },
  },
  {
    effect: 'number',
    reason: '"number"',
    words: {
      'en de fr es it sv pl ru tr':
        /number|nr|no|num|numéro|número|numero|nummer|numer|zahl|номер|numarası|№|#/u,
    },
  },
  {
    effect: 'stale',
    reason: 'says that a code is an earlier one',
    words: {
      en: /previous|old|older|earlier|former|expired/u,
      de: /alter?|alten?|altes|vorherige[rns]?|bisherige[rns]?|frühere[rns]?|abgelaufen\p{L}*/u,
      'fr es it pt':
        /ancien|anciens|précédente?s?|expiré|anterior|caducado|caducó|precedente|scaduto|vecchio|expirou|expirado/u,
      'nl sv no da': /vorige|oude|verlopen|tidigare|gamla|gamle|forrige|udløbet|utløpt/u,
      'pl cs ru uk':
        /poprzedni\p{L}*|stary|wygasł\p{L}*|předchozí|starý|предыдущ\p{L}*|стар(?:ый|ого)|ист[её]к|попередн\p{L}*/u,
    },
  },
  {
    effect: 'promo',
    reason: 'a coupon or a price reduction',
    words: {
      en: /promo\p{L}*|coupon\p{L}*|discount|voucher|gift|referral|save|off/u,
      de: /gutschein\p{L}*|rabatt\p{L}*|aktions(?:code|kode)/u,
      'fr es pt it ca': /réduction|remise|descuento|desconto|cupom|cup[oó]n|sconto/u,
      'nl sv no da is': /kortings\p{L}*|korting|rabat\p{L}*|kupong\p{L}*|afslátt\p{L}*/u,
      'pl cs sk hr sl': /kupon\p{L}*|slev\p{L}*|zľav\p{L}*|popust\p{L}*/u,
      'fi et lv lt hu': /alennus\p{L}*|soodus\p{L}*|atlai[dž]\p{L}*|nuolaid\p{L}*|kedvezmény\p{L}*/u,
      'ru uk bg sr':
        /промокод\p{L}*|промо\p{L}*|скидк\p{L}*|знижк\p{L}*|купон\p{L}*|отстъпк\p{L}*|попуст\p{L}*/u,
      'tr ro el': /indirim|reducere|έκπτωσ\p{L}*|προσφορ\p{L}*/u,
      'ar fa he hi bn': /الخصم|خصم|تخفیف|קופון|कूपन|छूट|ছাড়/u,
      'id vi sw': /diskon|giảm|punguzo/u,
    },
  },
  {
    effect: 'cart',
    reason: 'a shopping cart, where a coupon is entered',
    words: {
      en: /cart|basket|checkout/u,
      'de nl': /warenkorb|winkel(?:wagen|mand\p{L}*)/u,
      'fr es it pt': /panier|carrito|carrello|carrinho/u,
      'pl cs sk hu': /koszyk\p{L}*|koší[kč]\p{L}*|kosár\p{L}*/u,
      'sv no da fi': /varukorg\p{L}*|(?:handle|indkøbs)kurv\p{L}*|ostoskori\p{L}*/u,
      'tr ru uk': /sepet\p{L}*|корзин\p{L}*|кошик\p{L}*/u,
    },
  },
  {
    effect: 'other',
    reason: 'an invitation, whose code all guests share, or a help desk, whose PIN is for the telephone',
    words: { en: /invite|invitation|support|helpdesk/u },
  },
  {
    effect: 'other',
    reason: 'an order',
    words: {
      en: /orders?/u,
      'de nl': /bestell\p{L}*|auftrag\p{L}*|bestelling/u,
      'fr es it pt ro': /commande|pedido|ordine|encomenda|comand\p{L}*/u,
      'pl cs sk hu': /zam[oó]wieni\p{L}*|objedn\p{L}*|rendelés\p{L}*/u,
      'sv fi el tr': /beställning|tilaus\p{L}*|παραγγελ\p{L}*|sipariş\p{L}*/u,
      'ru uk': /заказ\p{L}*|замовлен\p{L}*/u,
      'ar fa he hi': /الطلب|طلبية|سفارش|הזמנה|הזמנת|הזמנתך|ऑर्डर/u,
      'id vi': /pesanan|đơn/u,
    },
  },
  {
    effect: 'other',
    reason: 'an invoice or a receipt',
    words: {
      en: /invoice|receipt|bill/u,
      de: /rechnung\p{L}*|beleg\p{L}*|quittung\p{L}*/u,
      'fr es it pl sv ru': /facture|factura|fattura|fatura|faktur\p{L}*|счет|счёт/u,
    },
  },
  {
    effect: 'label',
    reason: 'a telephone, which also receives codes',
    words: {
      en: /tel|phone|fax|call|hotline|mobile|whatsapp|sms/u,
      'de fr es it pt ru': /tél|telefon\p{L}*|téléphone|teléfono|telefono|telefone|тел|телефон/u,
    },
  },
  {
    effect: 'other',
    reason: 'a postal code',
    words: {
      en: /zip|zipcode|postal|postcode/u,
      'de nl sv no da': /plz|postleitzahl|postnummer/u,
      'pt it': /cep|cap/u,
      'pl cs ro hu fi lt et': /pocztowy|psč|po[sș][tț]al|irányítószám|postinumero|pašto|sihtnumber/u,
      'ru uk bg mk el': /индекс|почтов\p{L}*|поштов\p{L}*|пощенски|поштенски|ταχυδρομικό[ςυ]/u,
      hi: /पिन/u,
      'ar fa ur he': /البريدي|پستی|پوسٹل|ڈاک|מיקוד/u,
      'id ms vi bn ta ka hy': /poskod|pos|bưu|পোস্ট|அஞ்சல்|საფოსტო|փոստային/u,
    },
  },
  {
    effect: 'other',
    reason: 'a parcel and its tracking; the code that opens its locker is typed, and counts',
    words: {
      en: /tracking|track|shipment|shipper|carrier|courier|consignment|waybill|parcel|awb|ups|fedex|dhl/u,
      de: /sendung\p{L}*|paket\p{L}*/u,
      'fr es it pt': /colis|suivi|seguimiento|rastre\p{L}*|spedizione|traccia\p{L}*|pacco/u,
      'nl pl cs tr': /zending|przesyłk\p{L}*|śledz\p{L}*|sledovac\p{L}*|kargo|takip/u,
      'fi sv': /seuranta\p{L}*|spårning\p{L}*/u,
      'ru uk': /трек\p{L}*|накладн\p{L}*|отслеж\p{L}*|відстеж\p{L}*/u,
      'fa he id vi': /رهگیری|מעקב|resi|vận/u,
    },
  },
  {
    effect: 'other',
    reason: 'a journey, a stay, or a seat',
    words: {
      en: /booking|reservation|flight|pnr|train|seat|gate|room|table/u,
      de: /reservierung\p{L}*|buchung\p{L}*|flug|zug|zimmer|tisch/u,
      'fr es it pt': /réservation|vol|reserva|vuelo|localizador|prenotazione|volo/u,
      'nl pl': /boeking|boekings\p{L}*|rezerwacj\p{L}*/u,
    },
  },
  {
    effect: 'other',
    reason: 'a door or a network on site',
    words: { 'en de': /door|gate|keybox|lockbox|wifi|wlan|tür\p{L}*/u },
  },
  {
    effect: 'other',
    reason: 'a conference call',
    words: { en: /conference|dial|replay|meeting|webinar/u },
  },
  {
    effect: 'other',
    reason: 'a ticket of a help desk, or software and its versions',
    words: {
      en: /tickets?|issue|incident|pull|bug|build|release|version|ver|v|rfc|cve|error|status|http|port|exit|line|respon(?:se|ds?|ded)|api|ssh/u,
      de: /vorgang\p{L}*|fehler\p{L}*/u,
    },
  },
  { effect: 'label', reason: 'a request; its page asks for a code', words: { en: /request|case/u } },
  {
    effect: 'other',
    reason: 'a bank account, a tax number, or a bank',
    words: {
      'en de': /iban|bic|vat|ust|tva|siret|hrb|swift|sort|blz/u,
      'ro es pl pt cs da nl fr':
        /cif|nif|nip|regon|krs|cnpj|cpf|i[cč]o|dič|kvk|btw|siren|orgnr|org|fiscal\p{L}*|univoco|destinatari\p{L}*/u,
      'hi en': /gst|gstin|ifsc|micr|abn|uen|category/u,
      'ru uk': /єдрпоу|інн|инн|кпп|бик|мфо|окпо|огрн/u,
      fa: /ملی|مشتری/u,
    },
  },
  {
    effect: 'other',
    reason: 'the last digits of a card',
    words: { en: /ending/u, 'de fr it es pt': /endend\p{L}*|endet|terminant|terminada|termina/u },
  },
  { effect: 'label', reason: 'a card, which a code protects', words: { en: /card/u, de: /karte/u } },
  {
    effect: 'other',
    reason: 'a customer, a contract, or a product',
    words: {
      en: /customer|client|member|policy|contract|serial|model|sku|product|article|item|part|barcode|qr|license|licence|isbn/u,
      de: /kunden(?!portal|konto|bereich)\p{L}*|mitglied(?!erbereich)\p{L}*|vertrag\p{L}*|artikel\p{L}*/u,
      'es it pt fr nl':
        /cliente|barras|barre|barra|klant\p{L}*|s[oó]ci[oa]|abonad[oa]|afiliad[oa]|adhérente?|produ[ck]t[eo]|prodotto|proveedor|fornitore|fournisseur/u,
      'lt lv et fi':
        /kresk\p{L}*|įmonės|uzņēmuma|(?:registri|isiku|triip|vööt|toote|posti|riba|pašto)kood\p{L}*|(?:viiva|tuote|asiakas)koodi\p{L}*/u,
      'ru uk sk': /товар\p{L}*|артикул\p{L}*|(?:čiarov|čárov)\p{L}*/u,
    },
  },
  {
    effect: 'other',
    reason: 'a reference',
    words: { 'en de fr es': /ref|reference|referenz|référence|referencia/u },
  },
  { effect: 'label', reason: 'an identity; "Acme ID" is also the name of an account', words: { en: /id/u } },
  {
    effect: 'other',
    reason: 'an amount of money',
    words: {
      en: /amount|total|price|sum|balance|quantity|eur|usd|gbp|chf/u,
      de: /preis|summe|kontostand|betrag/u,
      'fr es it': /prix|precio|saldo|montant|importe/u,
    },
  },
  {
    effect: 'other',
    reason: 'a year, or a postal address',
    words: {
      en: /copyright|since|year|street|st|avenue|ave|road|rd|suite|box|floor|blvd/u,
      'de it': /seit|str|straße|platz|anno/u,
    },
  },
  {
    effect: 'other',
    reason: 'a kind of code that is not entered to prove anything, or a thing that is counted',
    words: {
      en: /country|area|dress|source|bar|morse|lines|steps|members|users|followers|points|visitors|views|chapter|course|class|section|sections|clause/u,
      de: /punkte/u,
    },
  },
  { effect: 'label', reason: 'a page; codes are entered on pages', words: { en: /page/u, de: /seite/u } },
  {
    effect: 'unit',
    reason: 'a size, a weight, or a distance',
    words: { en: /px|pt|em|kb|mb|gb|tb|kg|g|km|m|cm|mm|mi|ft|kcal|mah|ml|l|w|kwh/u },
  },
  {
    effect: 'unit',
    reason: 'money',
    words: {
      en: /usd|eur|euros?|dollars?|gbp|chf|kr|sek|nok|dkk|pln|zł|czk|huf|rub|руб|₽|try|tl|jpy|inr|rs|円|元|원/u,
    },
  },
  {
    effect: 'unit',
    reason: 'a time or a count',
    words: {
      en: /min|mins|minutes|seconds|hours|days|h|am|pm|percent|points|people|users|items|times|steps|views|subscribers|members|commits|lines/u,
      de: /minuten|sekunden|stunden|tage|uhr|prozent|punkte/u,
    },
  },
];

export type WordKind = Effect | 'plain';

/** In order of precedence; "m" and "is" are rarely units, so `unit` comes last. */
const EFFECTS: Effect[] = ['promo', 'cart', 'other', 'label', 'stale', 'number', 'code', 'enter', 'unit'];

const PATTERNS: readonly (readonly [Effect, RegExp])[] = EFFECTS.map((effect) => {
  const sources = WORD_RULES.filter((rule) => rule.effect === effect).flatMap((rule) =>
    Object.values(rule.words).map(({ source }) => source),
  );
  return [effect, new RegExp(`^(?:${sources.join('|')})$`, 'u')];
});

const known = new Map<string, WordKind>();
/** Words whose kind is cached; the number of different words in mail is unlimited. */
const MAX_KNOWN = 20_000;

export function kindOfWord(text: string): WordKind {
  let kind = known.get(text);
  if (kind === undefined) {
    const word = text.toLowerCase();
    kind = PATTERNS.find(([, pattern]) => pattern.test(word))?.[0] ?? 'plain';
    if (known.size < MAX_KNOWN && text.length < 40) known.set(text, kind);
  }
  return kind;
}
