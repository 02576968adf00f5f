import type { LinkKind } from '../mail.ts';

/* Words that say what a link is for. Patterns ignore case and match anywhere in the text. */

type Purpose = Exclude<LinkKind, 'other'>;

interface LinkRule {
  purpose: Purpose;
  /** ISO 639-1 codes; several where languages share their words. */
  language: string;
  words: RegExp;
}

/** Words of a link's text, by purpose. */
// biome-ignore format: one row a language
const LINK_RULES: readonly LinkRule[] = [
  { purpose: 'unsubscribe', language: 'en', words: /unsubscri(?!bed\b)|opt[ -]?out|stop (?:receiving|getting|sending|these)|remove me|(?:don[’']t|do not|no longer) want (?:these|this|it\b|to (?:get|receive))/ },
  { purpose: 'unsubscribe', language: 'de', words: /abmeld|abbestell|austragen|keine (?:e-?mails|mails|nachrichten) mehr|meld\S*(?: sie sich| dich) .{0,24}\bab\b|bestell\S* .{0,24}\bab\b|trag\S*(?: sie sich| dich) aus/ },
  { purpose: 'unsubscribe', language: 'fr', words: /désabonn|désinscri|plus recevoir/ },
  { purpose: 'unsubscribe', language: 'es', words: /(?:da(?:te|rse|rme|rte)|dese)(?: aquí)? de baja|(?:cancel|anul)(?:ar|[ae]) (?:la |tu |su )?suscripci|(?:no (?:quiero|deseo)|dejar de) recibir|desuscri/ },
  { purpose: 'unsubscribe', language: 'pt', words: /descadastr|desinscre|(?:cancel|anul)\S+ (?:a |sua )?(?:inscri|assinatura|subscri)|(?:não (?:quero|desejo)|deixar de) .{0,6}receber/ },
  { purpose: 'unsubscribe', language: 'it', words: /disiscri|(?:annulla|cancella)\S* (?:la |dall[’']|l[’'])?iscrizione|cancella(?:ti|rsi)|(?:non (?:voglio|desidero)|smett\S+ di) .{0,8}ricever|non ricevere più/ },
  { purpose: 'unsubscribe', language: 'nl', words: /uitschrijven|afmelden|schrijft? (?:je|u) .{0,16}uit\b|meld (?:je|u) .{0,16}af\b/ },
  { purpose: 'unsubscribe', language: 'pl', words: /wypisz|rezygn|anuluj (?:subskrypcj|newsletter)|nie chcę otrzym/ },
  { purpose: 'unsubscribe', language: 'cs sk', words: /odhl[aá]s|zruš\S* (?:odběr|odber)|nechci dostávat/ },
  { purpose: 'unsubscribe', language: 'sv no da', words: /avprenumerera|avregistrer|avmeld|afmeld|frameld|avanmäl|avsluta \S*prenumeration|avslutt abonnement|meld (?:deg|dig|meg|mig) (?:av|fra)/ },
  { purpose: 'unsubscribe', language: 'fi', words: /(?:peru|peruuta) (?:tilaus|uutiskirje)|lopeta tilaus/ },
  { purpose: 'unsubscribe', language: 'et lv lt', words: /loobu|atrakst|atsisaky/ },
  { purpose: 'unsubscribe', language: 'hr sr sl bg', words: /odjav|отпи[сш]/ },
  { purpose: 'unsubscribe', language: 'ru', words: /не хочу получать|отказаться от рассылк|отмени(?:ть|те) подписк/ },
  { purpose: 'unsubscribe', language: 'uk', words: /відпи[сш]|отписат|не хочу отримувати|скасу(?:вати|йте) підписк/ },
  { purpose: 'unsubscribe', language: 'hu ro', words: /leiratkoz|dezabon|iratkoz\S+ le\b|anul\S+ abonare/ },
  { purpose: 'unsubscribe', language: 'el', words: /απεγγραφ|κατ[άα]ργ[ήη]σ\S+ (?:της |την )?εγγραφή|διαγραφή από|διαγραφείτε/ },
  { purpose: 'unsubscribe', language: 'tr', words: /abonelikten|aboneliğ\S* (?:iptal|sonlandır)/ },
  { purpose: 'unsubscribe', language: 'ja', words: /(?:配信|購読|登録|メール|マガジン|メルマガ)(?:を|の)?(?:停止|解除|中止)/ },
  { purpose: 'unsubscribe', language: 'zh', words: /退订|退訂|取消订阅|取消訂閱|不再接收/ },
  { purpose: 'unsubscribe', language: 'ko', words: /수신 ?거부|구독 ?(?:취소|해지)/ },
  { purpose: 'unsubscribe', language: 'ar fa', words: /إلغاء الاشتراك|لغو (?:عضویت|اشتراک)|ألغ\S? الاشتراك/ },
  { purpose: 'unsubscribe', language: 'he', words: /(?:הסר|הסרה|הסירו|להסיר|להסרה).{0,12}(?:רשימ|תפוצה|דיוור)|(?:ביטול|בטלו?) (?:את )?ה?(?:מנוי|רישום|הרשמה)/ },
  { purpose: 'unsubscribe', language: 'hi id vi th', words: /(?:सदस्यता|सब्सक्रिप्शन) (?:समाप्त|रद्द)|अनसब्सक्राइब|batalkan langganan|berhenti berlangganan|h(?:ủy|uỷ) đăng ký|ยกเลิกการ(?:รับ|สมัคร)/ },

  { purpose: 'reset', language: 'en', words: /(?:reset|change|choose|create|set|new|recover|forgot|update)[^:;.!?|]{0,24}passw|passw.{0,16}(?:reset|change|recover)|password(?!s)|recover (?:your )?account|reset[^:;.!?|]{0,24}credentials/ },
  { purpose: 'reset', language: 'de nl', words: /passwort|kennwort|wachtwoord/ },
  { purpose: 'reset', language: 'fr es it pt', words: /mot de passe|contraseña|reimposta|palavra-passe|senha/ },
  { purpose: 'reset', language: 'sv no da fi', words: /lösenord|passord|adgangskode|salasana/ },
  { purpose: 'reset', language: 'pl cs sk hr sl', words: /hasł|heslo|lozink|geslo/ },
  { purpose: 'reset', language: 'hu ro tr et lt', words: /jelszó|parol[aă]|şifre|parool|slaptažod/ },
  { purpose: 'reset', language: 'ru uk bg el', words: /парол|сброс|κωδικ(?:ού|ό) πρόσβασης|(?:επαναφορά|επαναφέρετε|αλλαγή|αλλάξτε|νέος?) (?:του |τον )?κωδικ/ },
  { purpose: 'reset', language: 'ja zh ko', words: /パスワード|密码|密碼|비밀번호/ },
  { purpose: 'reset', language: 'ar fa he', words: /كلمة (?:المرور|السر)|رمز عبور|گذرواژه|סיסמ/ },
  { purpose: 'reset', language: 'hi id vi th', words: /पासवर्ड|kata sandi|mật khẩu|รหัสผ่าน/ },

  { purpose: 'verify', language: 'en', words: /verif|valid(?:ate|er|ar|a)|confirm|activat|(?:complete|finish) (?:your )?(?:registration|sign(?:ing)?[ -]?up)|(?:yes,? )?this is my (?:e-?mail|address|account)|(?:yes,? )?it[’']s me|(?:it|this) was me|yes,? (?:please )?(?:subscribe me|sign me up)|yes,? i want .{0,24}(?:newsletter|e-?mails)/ },
  { purpose: 'verify', language: 'de', words: /bestätig|aktivier|registrierung abschließen|schließen sie .{0,24}registrierung ab|ja,? ich (?:möchte|will) .{0,24}(?:newsletter|e-?mails)|das (?:bin|war) ich(?! nicht)/ },
  { purpose: 'verify', language: 'fr', words: /confirme[rz]|vérifi|active[rz]|validez|(?:finalise|termine)[rz] (?:votre |mon |l[’'])inscription|c[’'](?:est|était) (?:bien )?moi|oui,? je (?:veux|souhaite) .{0,24}(?:newsletter|e-?mails)/ },
  { purpose: 'verify', language: 'es pt', words: /activ(?:ar|[ae] (?:su|tu|la|el|a|o|sua)\b)|ativ(?:ar|e)|(?:complet[ae]r?|finalizar|conclu(?:ir|[ai])) (?:el |tu |su |mi |o |seu |meu )?(?:cadastro|registro|registo)|(?<!no )(?:soy|fui) yo\b|(?<!não )fui eu\b|s(?:í|im),? (?:quiero|deseo|quero) .{0,24}(?:newsletter|bolet[ií]n|e-?mails)/ },
  { purpose: 'verify', language: 'it', words: /conferm[ai]|attiva|attivi\b|verific|complet(?:[ai]|are) la registrazione|(?<!non )(?:sono (?:stato |stata )?|ero )io\b|sì,? voglio .{0,24}(?:newsletter|e-?mail)/ },
  { purpose: 'verify', language: 'nl', words: /bevestig|activeer|registratie (?:voltooien|afronden)|(?:dat )?ben ik|dat was ik(?! niet)|ja,? ik wil .{0,24}(?:nieuwsbrief|e-?mails)|verifi|activer|voltooi .{0,8}registratie/ },
  { purpose: 'verify', language: 'pl cs sk', words: /potwierd|weryfik|aktyw(?:uj|owa|acj)|aktivuj|aktivova|to (?:ja|byłem|byłam)\b|(?:dokończ|ukończ) rejestracj|dokonč\S+ registr|ověř|over(?:te|iť)|potvr[ďd]/ },
  { purpose: 'verify', language: 'sv no da fi', words: /bekräfta|bekreft|bekræft|verifier|det (?:var|er|är) (?:mig|meg|jag)(?! (?:ikke|inte))|aktivera|aktiv[eé]r(?!t)|(?:slutför|fullfør|fuldfør) .{0,8}registrering|vahvista|varmenna|aktivoi/ },
  { purpose: 'verify', language: 'hr sl bg', words: /potvrdi|potrdi|aktivira|потвърж?д|активира/ },
  { purpose: 'verify', language: 'et lv lt', words: /kinnita|apstiprin|patvirtin/ },
  { purpose: 'verify', language: 'ru', words: /подтверд|актив(?:ир|аци)|заверши\S* регистрац|да,? это я/ },
  { purpose: 'verify', language: 'uk', words: /підтверд|активу|заверши\S* реєстрац|так,? це я/ },
  { purpose: 'verify', language: 'hu ro el tr', words: /megerősít|erősíts\S* meg|aktivál|igazol|activ(?:eaz|aț)|επιβεβα[ίι]|επαλ[ηή]θ|ενεργοπο|doğrula|onayla|etkinleştir|kaydı\S* tamamla/ },
  { purpose: 'verify', language: 'ja', words: /確認する|認証|確認|有効化|登録を完了|本登録/ },
  { purpose: 'verify', language: 'zh', words: /验证|驗證|确认|確認|激活|完成(?:注册|註冊)/ },
  { purpose: 'verify', language: 'ko', words: /인증|확인|활성화|가입 ?완료/ },
  { purpose: 'verify', language: 'ar fa', words: /تأكيد|تفعيل|تحقق|ت[أا]یید|فعال.?سازی|أكّ?د|فعّ?ل/ },
  { purpose: 'verify', language: 'he', words: /אימות|אמת|אשרו|אשר את|לאשר|אישור|הפעל/ },
  { purpose: 'verify', language: 'hi id vi th', words: /सत्यापित|पुष्टि|verifikasi|konfirmasi|xác (?:minh|nhận)|ยืนยัน|सत्यापन|सक्रिय|aktifkan|sahkan|kích hoạt|เปิดใช้งาน/ },

  { purpose: 'sign-in', language: 'en', words: /(?:sign|log)(?: (?:me|you|yourself)(?: back)?)?[ -]?in\b|(?:sign|log)(?:in| ?into)|magic link/ },
  { purpose: 'sign-in', language: 'de nl', words: /anmeld|einlogg|inloggen|meld\S*(?: sie sich| dich| je| u)\b.{0,24}\ba?an\b|logg?\S*(?: sie sich| dich| je| u)\b.{0,24}\b(?:e|)in\b/ },
  { purpose: 'sign-in', language: 'fr es it pt', words: /connexion|(?:connecte|identifie|authentifie)[rz]?[ -](?:vous|toi)|connecter|s[’']identifier|(?:inici(?:ar|[ae])) (?:a |la )?(?:sesión|sessão)|entrar|(?:ingres|entr)[ea] (?:a|en|na|no)\b|entra (?:nel|in)\b|acced(?:er|[iae]\b)|aceda|acess[ae]\b|identifí(?:quese|cate)|fa(?:zer|ç|z|ça) login|(?:effettu|esegu)\S* (?:l[’']accesso|il login)/ },
  { purpose: 'sign-in', language: 'sv no da fi', words: /logga (?:dig )?in|logg (?:deg )?inn|log (?:dig )?(?:på|ind)|kirjau[dt]u/ },
  { purpose: 'sign-in', language: 'pl cs sk hr', words: /zaloguj|uloguj|přihl[áa]s|prihl[áa]s|prijavi/ },
  { purpose: 'sign-in', language: 'hu ro el tr', words: /jelentkez\S* be\b|bejelentkez|lépj\S* be\b|belép|conecteaz|conectaț|autentific|intr\S+ în cont|σύνδεση|συνδεθ|συνδέσου|είσοδος|giriş|oturum aç/ },
  { purpose: 'sign-in', language: 'et lv lt', words: /logi sisse|pieslē[dg]|prisijun[gk]/ },
  { purpose: 'sign-in', language: 'ru uk bg', words: /вой[тд]и|вход|уві[йи][тд]|вхід(?!н)|авториз|вписване|влез|пријави/ },
  { purpose: 'sign-in', language: 'ja zh ko', words: /ログイン|サインイン|登录|登入|로그인|登錄|접속하/ },
  { purpose: 'sign-in', language: 'ar fa he', words: /تسجيل الدخول|سجّ?ل(?:ي|وا)? (?:ال)?دخول|ورود|وارد شوید|התחבר|כניסה|היכנס|הכנס|הזדהה/ },
  { purpose: 'sign-in', language: 'hi id vi th', words: /लॉग ?इन|साइन इन|masuk(?!an)|đăng nhập|เข้าสู่ระบบ|ล็อกอิน|ลงชื่อเข้าใช้/ },
];

const PATTERN = /[\\()[?.]/;
const PURPOSE_ORDER: readonly Purpose[] = ['unsubscribe', 'reset', 'verify', 'sign-in'];

export const TEXT_WORDS: readonly (readonly [Purpose, RegExp])[] = PURPOSE_ORDER.map((purpose) => {
  const words = LINK_RULES.filter((rule) => rule.purpose === purpose).map((rule) => rule.words.source);
  // V8 compiles a run of alternatives without metacharacters to one search.
  words.sort((a, b) => Number(PATTERN.test(a)) - Number(PATTERN.test(b)));
  return [purpose, new RegExp(words.join('|'), 'i')];
});

/** "Confirm" and "verify" of things other than an address or account, and "verified by". */
export const NOT_VERIFY =
  /order|booking|reserv|attend|rsvp|appointment|payment|delivery|shipment|purchase|receipt|bestell|buchung|termin|commande|réservation|pedido|compra|ordine|prenot|注文|予約|订单|주문|заказ|(?:verif|confirm)(?:ied|ed) by\b|(?:confirm|verify) (?:which|what|whether|if|how)\b/i;

/** A password that is not requested: "sign in without a password". */
export const NOT_RESET =
  /without (?:a |your )?passw|(?:remember|know)(?:ed)? your passw|no passw|passwordless|ohne (?:passw|kennw)|sans mot de passe|sin contraseña|senza password|sem (?:senha|palavra-passe)|zonder wachtw|bez has[łe]|bez hesla|без парол|utan lösen|uten pass|uden adgangs|ilman salasan|şifresiz|şifre olmadan|jelszó nélkül|χωρίς κωδικ|パスワード(?:なし|不要)|无需密码|免密|無需密碼|비밀번호 없이|بدون كلمة|ללא סיסמ|بدون رمز|tanpa kata sandi|không cần mật khẩu/i;

/** The text of a link to an article: "Three ways to verify a caller". */
export const ARTICLE_TEXT =
  /^(?:why|how|what|warum|wieso|pourquoi|por ?qu[eé]|perché|waarom|почему|dlaczego)\s.{8}|^(?:\d+|two|three|four|five|six|seven|ten|drei|fünf|trois|cinq|tres|cinco|tre|cinque) (?:easy |simple |good )?(?:ways|tips|reasons|things|steps|gründe|tipps|façons|raisons|conseils|maneras|consejos|razones|modi|consigli)\b|^(?:blog|report|article|case study|webinar|podcast|our story)\s?:/i;

/** Paths of articles and files: `/blog/how-to-reset-a-habit`. */
export const ARTICLE_PATH =
  /\/(?:blog|articles?|news|docs?|faqs?|kb|knowledge-?base|learn|guides?|wiki|stories|press)\/|\.(?:pdf|csv|xlsx?|docx?|ics|zip)$/i;

/** Query parameters of campaign trackers, which do not tell the purpose. */
export const TRACKING_PARAMETER =
  /^(?:utm|mtm|pk|piwik|matomo|hsa|mc|ml|vero|oly|trk|tracking|wt|at|itm|cmp|campaign)_|^_?(?:ga|gl|gac|hsenc|hsmi|bta\w*|ke|kx)$|^(?:gclid|gbraid|wbraid|dclid|fbclid|msclkid|yclid|twclid|ttclid|igshid|mkt_tok|campaign|medium|cid|icid|ncid|trk|src|source|ref|referr?er|from|s_cid|elq\w*)$/i;
/** Query parameters with the page to show after the action; a whole URL is the target of a click tracker. */
export const RETURN_PARAMETER =
  /^(?:next|continue|back|then|after|state|origin|callback|redir\w*|return\w*|success\w*)=(?!https?(?::|%3a))/i;

export const PURPOSES: readonly RegExp[] = TEXT_WORDS.filter(([purpose]) => purpose !== 'unsubscribe').map(
  ([, words]) => words,
);

/** A button that refers to the text above it. */
export const GO_ON =
  /^(?:click to |jetzt )?(?:continue|next|proceed|go on|get started|start(?: now)?|weiter|fortfahren|starten|loslegen|continuer|suivant|poursuivre|commencer|continuar|siguiente|comenzar|empezar|avançar|próximo|prosseguir|começar|continua|avanti|prosegui|procedi|inizia|doorgaan|verder|ga verder|volgende|fortsätt|nästa|gå vidare|fortsæt|næste|fortsett|neste|jatka|seuraava|kontynuuj|dalej|przejdź dalej|pokračovat|pokračovať|dále|ďalej|další|tovább|folytatás|continuă|continuați|mai departe|nastavi|dalje|nadaljuj|продължи|напред|συνέχεια|συνεχίστε|επόμενο|продолжить|далее|дальше|продовжити|далі|devam(?: et)?|ileri|متابعة|استمرار|التالي|ادامه|بعدی|המשך|המשיכו|להמשך|जारी रखें|आगे बढ़ें|lanjut(?:kan)?|teruskan|tiếp tục|tiếp theo|ดำเนินการต่อ|ถัดไป|ต่อไป|次へ(?:進む)?|続ける|続行|進む|手続きへ進む|继续|繼續|下一步|前往|계속(?:하기)?|다음)[^\p{L}]*$/iu;

/** Refers to a link elsewhere, such as below. */
export const LINK_WORDS =
  /link|button|below|click|visit|follow|knopf|schaltfläche|klick|lien|cliqu|bouton|enlace|clic|botón|botão|pulsante|knop|kliknij|klikn|odkaz|länk|lenke|linkki|bağlantı|tıkla|ссылк|нажм|посилан|натисн|リンク|クリック|링크|链接|連結|鏈接|点击|點擊|رابط|اضغط|קישור|לחץ|लिंक|liên kết|tautan|hivatkoz|σύνδεσμο/i;

/** Words of a URL's path or query, by purpose. */
export const PATH_WORDS: readonly (readonly [Purpose, RegExp])[] = [
  ['unsubscribe', /unsub|opt-?out|abmeld|abbestell|desabonn|desinscri|uitschrijv|list-manage/i],
  ['reset', /reset|forgot|recover(?!ed)|password|passwort|new-?pass/i],
  ['verify', /verif|confirm|activat|validat|bestaetig|(?:^|[/_-])aktivier/i],
  ['sign-in', /magic|sign-?in|log-?in(?![a-z]|-actions)|passwordless|\bsso\b|one-?time/i],
];
