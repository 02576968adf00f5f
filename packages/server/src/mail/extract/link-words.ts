import type { LinkKind } from '../mail.ts';

type Purpose = Exclude<LinkKind, 'other'>;

/** Words of a link's text, by purpose; the first purpose that fits counts. */
export const TEXT_WORDS: readonly (readonly [Purpose, RegExp])[] = [
  [
    'unsubscribe',
    /unsubscri|opt[ -]?out|stop (?:receiving|getting|sending|these)|remove me|(?:don[’']t|do not|no longer) want (?:these|to (?:get|receive))|keine (?:e-?mails|mails|nachrichten) mehr|plus recevoir|(?:non (?:voglio|desidero)|smett\S+ di) .{0,8}ricever|non ricevere più|(?:no (?:quiero|deseo)|dejar de) recibir|(?:não (?:quero|desejo)|deixar de) .{0,6}receber|nie chcę otrzym|nechci dostávat|не хочу (?:получать|отримувати)|abmeld|abbestell|austragen|désabonn|désinscri|da(?:te|rse|rme|rte)(?: aquí)? de baja|cancelar (?:la |tu |sua |a )?(?:suscripci|inscri|assinatura)|anular (?:la )?suscripci|descadastr|annulla iscrizione|disiscri|cancella(?:re|ti)? (?:l[’'])?iscrizione|uitschrijven|afmelden|wypisz|rezygn|avprenumerera|avregistrer|avmeld|afmeld|meld (?:deg|dig|meg|mig) (?:av|fra)|odjav|отпис|atsisaky|atrakst|loobu|abonelikten|отписат|відписат|配信停止|購読解除|登録解除|退订|退訂|取消订阅|取消訂閱|수신 ?거부|구독 ?취소|إلغاء الاشتراك|सदस्यता (?:समाप्त|रद्द)|batalkan langganan|hủy đăng ký|odhlásit|leiratkoz|dezabon|peruuta tilaus|απεγγραφ|anuluj (?:subskrypcj|newsletter)|avsluta prenumeration|lopeta tilaus|aboneliği(?:mi|nizi)? iptal|отказаться от рассылк|отменить подписк|скасувати підписк|berhenti berlangganan|配信(?:を)?停止|配信解除|不再接收|구독 ?해지|(?:הסר|הסרה|הסירו|להסיר|להסרה).{0,12}(?:רשימ|תפוצה|דיוור)|ביטול (?:ה)?(?:מנוי|הרשמה)|لغو (?:عضویت|اشتراک)|ยกเลิกการ(?:รับ|สมัคร)/i,
  ],
  [
    'reset',
    /(?:reset|change|choose|create|set|new|recover|forgot|update)[^:;.!?|]{0,24}passw|passw.{0,16}(?:reset|change|recover)|passwort|kennwort|mot de passe|contraseña|reimposta|password(?!s)|palavra-passe|senha|wachtwoord|hasł|lösenord|passord|adgangskode|şifre|parola|парол|パスワード|密码|密碼|비밀번호|كلمة (?:المرور|السر)|पासवर्ड|kata sandi|mật khẩu|heslo|jelszó|salasana|κωδικού πρόσβασης|סיסמ|رمز عبور|گذرواژه|รหัสผ่าน|lozink|geslo|parool|slaptažod|recover (?:your )?account/i,
  ],
  [
    'verify',
    /verif|valid(?:ate|er|ar|a)|confirm|activat|bestätig|aktivier|confirmer|vérifi|conferma|attiva|ativ(?:ar|e)|activ(?:ar|er)|bevestig|activeer|potwierd|aktywuj|bekräfta|bekreft|bekræft|aktivera|doğrula|onayla|etkinleştir|подтверд|активир|підтверд|確認する|認証|確認|有効化|验证|驗證|确认|確認|激活|인증|확인|활성화|تأكيد|تفعيل|تحقق|सत्यापित|पुष्टि|verifikasi|konfirmasi|xác (?:minh|nhận)|ověř|potvrď|potvrdi|potrdi|потвърд|patvirtin|apstiprin|kinnita|megerősít|vahvista|επιβεβαί|(?:complete|finish) (?:your )?(?:registration|sign(?:ing)?[ -]?up)|registrierung abschließen|(?:finaliser|terminer) (?:votre |mon |l[’'])inscription|(?:completar?|finalizar) (?:el |tu |mi )?registro|concluir (?:o |meu )?(?:cadastro|registro)|completa(?:re)? la registrazione|registratie (?:voltooien|afronden)|(?:dokończ|ukończ) rejestracj|dokončit registraci|slutför registrering|заверши\S* регистрац|заверши\S* реєстрац|kaydı\S* tamamla|登録を完了|本登録|完成(?:注册|註冊)|가입 ?완료|(?:yes,? )?this is my (?:e-?mail|address|account)|(?:yes,? |ja,? )(?:it[’']s me|das bin ich|(?:dat )?ben ik)|oui,? c[’']est (?:bien )?moi|sí,? soy yo|sì,? sono io|да,? это я|так,? це я|אימות|אשרו|לאשר|אישור|הפעל|ت[أا]یید|فعال.?سازی|ยืนยัน/i,
  ],
  [
    'sign-in',
    /sign[ -]?in|log[ -]?in|magic link|anmeld|einlogg|connexion|connecter|iniciar sesión|inicia sesión|entrar|acced(?:er|i)|fazer login|inloggen|zaloguj|logga in|logg inn|log ind|giriş|войти|вход|увійти|ログイン|サインイン|登录|登入|로그인|تسجيل الدخول|लॉग ?इन|साइन इन|masuk|đăng nhập|přihlás|bejelentkez|kirjaudu|σύνδεση|conecteaz|autentific|intră în cont|prihlás|prijavi|вписване|prisijung|pieslēg|logi sisse|התחבר|כניסה|ورود|เข้าสู่ระบบ/i,
  ],
];

/** "Confirm" and "verify" of things other than a person's address or account. */
export const NOT_VERIFY =
  /order|booking|reserv|attend|rsvp|appointment|payment|delivery|shipment|purchase|receipt|bestell|buchung|termin|commande|réservation|pedido|compra|ordine|prenot|注文|予約|订单|주문|заказ/i;

/** A password that is not asked for: "sign in without a password". */
export const NOT_RESET =
  /without (?:a |your )?passw|passwordless|ohne (?:passw|kennw)|sans mot de passe|sin contraseña|senza password|sem (?:senha|palavra-passe)|zonder wachtw|bez has[łe]|bez hesla|без парол|utan lösen|uten pass|uden adgangs|ilman salasan|şifresiz|şifre olmadan|jelszó nélkül|χωρίς κωδικ|パスワード(?:なし|不要)|无需密码|免密|無需密碼|비밀번호 없이|بدون كلمة|ללא סיסמ|بدون رمز|tanpa kata sandi|không cần mật khẩu/i;

/** What a number to be entered may be for. */
export const PURPOSES: readonly RegExp[] = TEXT_WORDS.filter(([purpose]) => purpose !== 'unsubscribe').map(
  ([, words]) => words,
);

/** Speaks of a link that stands elsewhere: below. */
export const LINK_WORDS =
  /link|button|below|click|visit|follow|knopf|schaltfläche|klick|lien|cliqu|bouton|enlace|clic|botón|botão|pulsante|knop|kliknij|klikn|odkaz|länk|lenke|linkki|bağlantı|tıkla|ссылк|нажм|посилан|натисн|リンク|クリック|링크|链接|連結|鏈接|点击|點擊|رابط|اضغط|קישור|לחץ|लिंक|liên kết|tautan|hivatkoz|σύνδεσμο/i;

/** Words of a URL's path or query, by purpose. */
export const PATH_WORDS: readonly (readonly [Purpose, RegExp])[] = [
  ['unsubscribe', /unsub|opt-?out|abmeld|abbestell|desabonn|desinscri|uitschrijv|list-manage/i],
  ['reset', /reset|forgot|recover(?!ed)|password|passwort|new-?pass/i],
  ['verify', /verif|confirm|activat|validat|bestaetig|(?:^|[/_-])aktivier/i],
  ['sign-in', /magic|sign-?in|log-?in(?![a-z])|passwordless|\bsso\b|one-?time/i],
];
