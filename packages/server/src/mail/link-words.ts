import type { LinkKind } from './mail.ts';

type Purpose = Exclude<LinkKind, 'other'>;

/** Words of a link's text, by purpose; the first purpose that fits counts. */
export const TEXT_WORDS: readonly (readonly [Purpose, RegExp])[] = [
  [
    'unsubscribe',
    /unsubscri|opt[ -]?out|abmeld|abbestell|austragen|désabonn|désinscri|darse de baja|cancelar (?:la |tu |sua |a )?(?:suscripci|inscri|assinatura)|anular (?:la )?suscripci|descadastr|annulla iscrizione|disiscri|cancella(?:re|ti)? (?:l[’'])?iscrizione|uitschrijven|afmelden|wypisz|rezygn|avprenumerera|avregistrer|avmeld|afmeld|abonelikten|отписат|відписат|配信停止|購読解除|登録解除|退订|退訂|取消订阅|取消訂閱|수신 ?거부|구독 ?취소|إلغاء الاشتراك|सदस्यता (?:समाप्त|रद्द)|batalkan langganan|hủy đăng ký|odhlásit|leiratkoz|dezabon|peruuta tilaus|απεγγραφ/i,
  ],
  [
    'reset',
    /(?:reset|change|choose|create|set|new|recover|forgot|update).{0,24}passw|passw.{0,16}(?:reset|change|recover)|passwort|kennwort|mot de passe|contraseña|reimposta|password|palavra-passe|senha|wachtwoord|hasł|lösenord|passord|adgangskode|şifre|parola|парол|パスワード|密码|密碼|비밀번호|كلمة (?:المرور|السر)|पासवर्ड|kata sandi|mật khẩu|heslo|jelszó|salasana|κωδικού πρόσβασης|recover (?:your )?account/i,
  ],
  [
    'verify',
    /verif|valid(?:ate|er|ar|a)|confirm|activat|bestätig|aktivier|confirmer|vérifi|conferma|attiva|ativ(?:ar|e)|activ(?:ar|er)|bevestig|activeer|potwierd|aktywuj|bekräfta|bekreft|bekræft|aktivera|doğrula|onayla|etkinleştir|подтверд|активир|підтверд|確認する|認証|確認|有効化|验证|驗證|确认|確認|激活|인증|확인|활성화|تأكيد|تفعيل|تحقق|सत्यापित|पुष्टि|verifikasi|konfirmasi|xác (?:minh|nhận)|ověř|potvrď|potvrdit|megerősít|vahvista|επιβεβαί|complete (?:your )?(?:registration|sign[ -]?up)/i,
  ],
  [
    'sign-in',
    /sign[ -]?in|log[ -]?in|magic link|anmeld|einlogg|connexion|connecter|iniciar sesión|inicia sesión|entrar|acced(?:er|i)|fazer login|inloggen|zaloguj|logga in|logg inn|log ind|giriş|войти|вход|увійти|ログイン|サインイン|登录|登入|로그인|تسجيل الدخول|लॉग ?इन|साइन इन|masuk|đăng nhập|přihlás|bejelentkez|kirjaudu|σύνδεση/i,
  ],
];

/** "Confirm" and "verify" of things other than a person's address or account. */
export const NOT_VERIFY =
  /order|booking|reserv|attend|rsvp|appointment|payment|delivery|shipment|purchase|receipt|bestell|buchung|termin|commande|réservation|pedido|compra|ordine|prenot|注文|予約|订单|주문|заказ/i;

/** Words of a URL's path or query, by purpose. */
export const PATH_WORDS: readonly (readonly [Purpose, RegExp])[] = [
  ['unsubscribe', /unsub|opt-?out|abmeld|abbestell|desabonn|desinscri|uitschrijv|list-manage/i],
  ['reset', /reset|forgot|recover(?!ed)|password|passwort|new-?pass/i],
  ['verify', /verif|confirm|activat|validat|bestaetig|(?:^|[/_-])aktivier/i],
  ['sign-in', /magic|sign-?in|log-?in(?![a-z])|passwordless|\bsso\b|one-?time/i],
];
