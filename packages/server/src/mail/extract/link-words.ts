import type { MailLink } from '@mayfly/client/contract';
import TEXT_PATTERNS from './link-words.json' with { type: 'json' };

/* `link-words.json` lists words of link texts by purpose and language (ISO 639-1). */

type Purpose = Exclude<MailLink['kind'], 'other'>;

const PATTERN = /[\\()[?.]/;
const PURPOSE_ORDER: readonly Purpose[] = ['unsubscribe', 'reset', 'verify', 'sign-in'];

export const TEXT_WORDS: readonly (readonly [Purpose, RegExp])[] = PURPOSE_ORDER.map((purpose) => {
  const words: string[] = Object.values(TEXT_PATTERNS[purpose]);
  // V8 compiles consecutive alternatives without metacharacters to one search, so these come first.
  words.sort((a, b) => Number(PATTERN.test(a)) - Number(PATTERN.test(b)));
  return [purpose, new RegExp(words.join('|'), 'i')];
});

export const NOT_VERIFY =
  /order|booking|reserv|attend|rsvp|appointment|payment|delivery|shipment|purchase|receipt|bestell|buchung|termin|commande|réservation|pedido|compra|ordine|prenot|注文|予約|订单|주문|заказ|(?:verif|confirm)(?:ied|ed) by\b|(?:confirm|verify) (?:which|what|whether|if|how)\b/i;

export const NOT_RESET =
  /without (?:a |your )?passw|(?:remember|know)(?:ed)? your passw|no passw|passwordless|ohne (?:passw|kennw)|sans mot de passe|sin contraseña|senza password|sem (?:senha|palavra-passe)|zonder wachtw|bez has[łe]|bez hesla|без парол|utan lösen|uten pass|uden adgangs|ilman salasan|şifresiz|şifre olmadan|jelszó nélkül|χωρίς κωδικ|パスワード(?:なし|不要)|无需密码|免密|無需密碼|비밀번호 없이|بدون كلمة|ללא סיסמ|بدون رمز|tanpa kata sandi|không cần mật khẩu/i;

export const ARTICLE_TEXT =
  /^(?:why|how|what|warum|wieso|pourquoi|por ?qu[eé]|perché|waarom|почему|dlaczego)\s.{8}|^(?:\d+|two|three|four|five|six|seven|ten|drei|fünf|trois|cinq|tres|cinco|tre|cinque) (?:easy |simple |good )?(?:ways|tips|reasons|things|steps|gründe|tipps|façons|raisons|conseils|maneras|consejos|razones|modi|consigli)\b|^(?:blog|report|article|case study|webinar|podcast|our story)\s?:/i;

export const ARTICLE_PATH =
  /\/(?:blog|articles?|news|docs?|faqs?|kb|knowledge-?base|learn|guides?|wiki|stories|press)\/|\.(?:pdf|csv|xlsx?|docx?|ics|zip)$/i;

/** Parameters of campaign trackers, which say nothing about the purpose of a link. */
export const TRACKING_PARAMETER =
  /^(?:utm|mtm|pk|piwik|matomo|hsa|mc|ml|vero|oly|trk|tracking|wt|at|itm|cmp|campaign)_|^_?(?:ga|gl|gac|hsenc|hsmi|bta\w*|ke|kx)$|^(?:gclid|gbraid|wbraid|dclid|fbclid|msclkid|yclid|twclid|ttclid|igshid|mkt_tok|campaign|medium|cid|icid|ncid|trk|src|source|ref|referr?er|from|s_cid|elq\w*)$/i;
/** Parameters that name a page to return to. Full URLs do not match: they may be a click tracker's target. */
export const RETURN_PARAMETER =
  /^(?:next|continue|back|then|after|state|origin|callback|redir\w*|return\w*|success\w*)=(?!https?(?::|%3a))/i;

export const PURPOSES: readonly RegExp[] = TEXT_WORDS.slice(1).map(([, words]) => words);

export const GO_ON =
  /^(?:click to |jetzt )?(?:continue|next|proceed|go on|get started|start(?: now)?|weiter|fortfahren|starten|loslegen|continuer|suivant|poursuivre|commencer|continuar|siguiente|comenzar|empezar|avançar|próximo|prosseguir|começar|continua|avanti|prosegui|procedi|inizia|doorgaan|verder|ga verder|volgende|fortsätt|nästa|gå vidare|fortsæt|næste|fortsett|neste|jatka|seuraava|kontynuuj|dalej|przejdź dalej|pokračovat|pokračovať|dále|ďalej|další|tovább|folytatás|continuă|continuați|mai departe|nastavi|dalje|nadaljuj|продължи|напред|συνέχεια|συνεχίστε|επόμενο|продолжить|далее|дальше|продовжити|далі|devam(?: et)?|ileri|متابعة|استمرار|التالي|ادامه|بعدی|המשך|המשיכו|להמשך|जारी रखें|आगे बढ़ें|lanjut(?:kan)?|teruskan|tiếp tục|tiếp theo|ดำเนินการต่อ|ถัดไป|ต่อไป|次へ(?:進む)?|続ける|続行|進む|手続きへ進む|继续|繼續|下一步|前往|계속(?:하기)?|다음)[^\p{L}]*$/iu;

export const LINK_WORDS =
  /link|button|below|click|visit|follow|knopf|schaltfläche|klick|lien|cliqu|bouton|enlace|clic|botón|botão|pulsante|knop|kliknij|klikn|odkaz|länk|lenke|linkki|bağlantı|tıkla|ссылк|нажм|посилан|натисн|リンク|クリック|링크|链接|連結|鏈接|点击|點擊|رابط|اضغط|קישור|לחץ|लिंक|liên kết|tautan|hivatkoz|σύνδεσμο/i;

export const PATH_WORDS: readonly (readonly [Purpose, RegExp])[] = [
  ['unsubscribe', /unsub|opt-?out|abmeld|abbestell|desabonn|desinscri|uitschrijv|list-manage/i],
  ['reset', /reset|forgot|recover(?!ed)|password|passwort|new-?pass/i],
  ['verify', /verif|confirm|activat|validat|bestaetig|(?:^|[/_-])aktivier/i],
  ['sign-in', /magic|sign-?in|log-?in(?![a-z]|-actions)|passwordless|\bsso\b|one-?time/i],
];
