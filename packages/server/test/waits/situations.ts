/**
 * Situations in which a wait fails, each with the answer that a good colleague would give who sees everything that
 * happened. Written before the code that answers was read; `describe-explained.ts` plays them on both engines.
 *
 * `{me}`, `{id}` and `{token}` are the address, id and read token of the inbox that is waited for.
 */

/** A mail that a sender tries to deliver in a session of its own. */
export interface Mail {
  to: string;
  from?: string;
  subject?: string;
  text?: string;
  html?: string;
  /** The whole message, in place of the fields above. */
  raw?: string;
  /** Address of this machine that the sender connects from, by default 127.0.0.1. */
  ip?: string;
  helo?: string;
  /** User name and password. */
  auth?: [string, string];
  /** Bytes of the body. */
  bytes?: number;
  /** Declared by the SIZE parameter of MAIL. */
  declares?: number;
  /** Lines end with LF alone. */
  bareLf?: true;
  attachment?: 'file' | 'inline';
  /** Recipients in front of `to`, all of them tags of this address. */
  others?: { count: number; of: string };
}

export type Step =
  /** Seconds that pass. */
  | { pass: number }
  | { send: Mail; times?: number }
  /** A client that says these lines, and then closes the connection. */
  | { session: string[]; ip?: string }
  /** The same, and the client stays connected. */
  | { staying: string[] }
  /** STARTTLS by a client that does not trust the certificate; then it gives up. */
  | { distrust: number; ip?: string; helo?: string }
  /** Another live inbox of the same account. */
  | { inbox: string; domain?: string }
  /** A live inbox of another account. */
  | { foreignInbox: string }
  /** Mails to this many other live inboxes, each of which receives its own. */
  | { noise: number; subject?: string }
  /** RCPT commands of strangers in one session, for so many addresses that no inbox has. */
  | { refusedElsewhere: number }
  | { call: string; body?: object };

export interface Situation {
  title: string;
  /** `dev`: sink, SMTP AUTH `any`; `serve`: no sink, AUTH `inbox`, bare LF refused; `shared`: as serve, with a second account. */
  server: 'dev' | 'serve' | 'shared';
  /** Local part of the inbox, or the domain of a catch-all inbox. */
  me: string | { catchAll: string };
  /** Default: the account's API key. */
  as?: 'token';
  /** Before the inbox is created. */
  earlier?: Step[];
  /** Between its creation and the wait. */
  before?: Step[];
  /** By default for one message, for 10 seconds; `since` in seconds from its beginning, or the cursor of `before`'s end. */
  wait?: {
    match?: object;
    count?: number;
    timeoutSeconds?: number;
    since?: number | 'cursor';
    waitedSeconds?: number;
    askedSeconds?: number;
  };
  /** While it is held, from its first moment on. */
  during?: Step[];
  /** After it has failed; what is stored must not change. */
  after?: Step[];
  /** What the colleague says. */
  says: string;
  /** The cause that must come first; for a request that is rejected, the code of the error. */
  first: string;
  /** Further causes that must be named, in this order. */
  also?: string[];
  /** Causes that must not be named. */
  never?: string[];
  /** What the summary must say, whatever its wording. */
  facts: RegExp[];
  /** What it must not say. */
  lies?: RegExp[];
}

const ELSEWHERE = ['similar_address', 'other_recipient', 'captured_elsewhere'];
const TLS = 'tls_failed';

const wrongAddress: Situation[] = [
  {
    title: 'one letter of the address is wrong, and the mail is refused',
    server: 'serve',
    me: 'vera.lindgren',
    during: [{ pass: 2 }, { send: { to: 'vera.lindgern@mayfly.test' } }],
    says: 'No message arrived in 10 s. Mail for vera.lindgern@mayfly.test was refused, because no inbox has that address: it is probably a typing error of vera.lindgren@mayfly.test.',
    first: 'similar_address',
    never: ['other_recipient', 'nothing_connected'],
    facts: [/vera\.lindgern@mayfly\.test/, /refused|rejected/i],
  },
  {
    title: 'one letter is missing, and the sink takes the mail',
    server: 'dev',
    me: 'oskar.brandt71',
    during: [{ pass: 1 }, { send: { to: 'oskar.brant71@mayfly.test' } }],
    says: 'No message arrived in 10 s. The sink received mail for oskar.brant71@mayfly.test: it is probably a typing error of oskar.brandt71@mayfly.test.',
    first: 'similar_address',
    never: ['other_recipient'],
    facts: [/oskar\.brant71@mayfly\.test/, /\bsink\b/],
    lies: [/another inbox/i, /refused/i],
  },
  {
    title: 'the dot of the local part is missing',
    server: 'serve',
    me: 'ines.caballero',
    during: [{ pass: 3 }, { send: { to: 'inescaballero@mayfly.test' } }],
    says: 'No message arrived in 10 s. Mail for inescaballero@mayfly.test was refused, because no inbox has that address: it is probably a typing error of ines.caballero@mayfly.test.',
    first: 'similar_address',
    facts: [/inescaballero@mayfly\.test/, /refused/i],
  },
  {
    title: 'the application keeps only 20 characters of the address',
    server: 'serve',
    me: 'brave.kingfisher48213377',
    during: [{ send: { to: 'brave.kingfisher4821@mayfly.test' } }],
    says: 'No message arrived in 10 s. Mail for brave.kingfisher4821@mayfly.test was refused, because no inbox has that address: it is probably a typing error of brave.kingfisher48213377@mayfly.test.',
    first: 'similar_address',
    facts: [/brave\.kingfisher4821@mayfly\.test/],
  },
  {
    title: 'a tag is joined without a plus',
    server: 'serve',
    me: 'tomasz.wrona',
    during: [{ send: { to: 'tomasz.wrona-signup@mayfly.test' } }],
    says: 'No message arrived in 10 s. Mail for tomasz.wrona-signup@mayfly.test was refused, because no inbox has that address; a tag follows a plus: tomasz.wrona+signup@mayfly.test.',
    first: 'similar_address',
    facts: [/tomasz\.wrona-signup@mayfly\.test/],
  },
  {
    title: 'the right local part on another served domain',
    server: 'serve',
    me: 'noor.haddad',
    during: [{ pass: 4 }, { send: { to: 'noor.haddad@second.test' } }],
    says: 'No message arrived in 10 s. Mail for noor.haddad@second.test was refused, because no inbox has that address: the inbox is noor.haddad@mayfly.test.',
    first: 'similar_address',
    facts: [/noor\.haddad@second\.test/, /refused/i],
  },
  {
    title: 'the domain is mistyped',
    server: 'serve',
    me: 'kaito.mori',
    during: [{ send: { to: 'kaito.mori@mayfly.tset' } }],
    says: 'No message arrived in 10 s. Mail for kaito.mori@mayfly.tset was refused, because no inbox has that address: it is probably a typing error of kaito.mori@mayfly.test.',
    first: 'similar_address',
    facts: [/kaito\.mori@mayfly\.tset/],
  },
  {
    title: 'the domain of the shop is behind the right local part, and the sink takes it',
    server: 'dev',
    me: 'leila.moradi39',
    during: [{ send: { to: 'leila.moradi39@shop.example' } }],
    says: 'No message arrived in 10 s. The sink received mail for leila.moradi39@shop.example: the inbox is leila.moradi39@mayfly.test.',
    first: 'similar_address',
    facts: [/leila\.moradi39@shop\.example/, /\bsink\b/],
  },
  {
    title: 'the only mail of the time went to the sink, for an address of another kind',
    server: 'dev',
    me: 'petra.novakova',
    during: [{ pass: 2 }, { send: { to: 'admin@company.example', subject: 'Confirm your account' } }],
    says: 'No message arrived in 10 s. The sink received mail for admin@company.example meanwhile, which may be the mail that this wait is for.',
    first: 'other_recipient',
    never: ['similar_address'],
    facts: [/admin@company\.example/, /\bsink\b/],
    lies: [/another inbox/i],
  },
  {
    title: 'the only mail of the time was refused, for an address of another kind',
    server: 'serve',
    me: 'juan.ortega55',
    during: [{ pass: 2 }, { send: { to: 'admin@mayfly.test' } }],
    says: 'No message arrived in 10 s. Mail for admin@mayfly.test was refused meanwhile, which may be the mail that this wait is for.',
    first: 'other_recipient',
    facts: [/admin@mayfly\.test/, /refused/i],
  },
  {
    title: 'the sink receives mail for forty strangers, none of it alike',
    server: 'dev',
    me: 'silke.albers',
    during: Array.from({ length: 40 }, (_, at) => ({
      send: { to: `customer${at}@outside${at}.example`, subject: 'Weekly news' },
    })),
    says: 'No message arrived in 10 s. No mail for silke.albers@mayfly.test was refused either.',
    first: 'nothing_arrived',
    never: ELSEWHERE,
    facts: [/no message arrived/i],
    lies: [/customer\d/, /meets all/i],
  },
  {
    title: 'a similar address is another live inbox, which received its own mail',
    server: 'serve',
    me: 'worker-17',
    before: [{ inbox: 'worker-18' }],
    during: [{ pass: 1 }, { send: { to: 'worker-18@mayfly.test' }, times: 3 }],
    says: 'No message arrived in 10 s. No mail for worker-17@mayfly.test was refused either.',
    first: 'nothing_arrived',
    never: ELSEWHERE,
    facts: [/no message arrived/i],
    lies: [/worker-18/],
  },
  {
    title: 'the same, for the read token',
    server: 'serve',
    me: 'worker-27',
    as: 'token',
    before: [{ inbox: 'worker-28' }],
    during: [{ send: { to: 'worker-28@mayfly.test' } }],
    says: 'No message arrived in 10 s. No mail for worker-27@mayfly.test was refused either.',
    first: 'nothing_arrived',
    never: ELSEWHERE,
    facts: [/no message arrived/i],
    lies: [/worker-28/],
  },
  {
    title: 'a mistyped address is taken by the catch-all inbox of the domain',
    server: 'serve',
    me: 'maren@team.test',
    before: [{ inbox: '*', domain: 'team.test' }],
    during: [{ send: { to: 'marne@team.test' } }],
    says: 'No message arrived in 10 s. The catch-all inbox of team.test received mail for marne@team.test: it is probably a typing error of maren@team.test.',
    first: 'similar_address',
    facts: [/marne@team\.test/, /catch-all/],
  },
  {
    title: 'the domain of a catch-all inbox is mistyped',
    server: 'serve',
    me: { catchAll: 'mayfly.test' },
    during: [{ send: { to: 'ada@{domain-1}' } }],
    says: 'No message arrived in 10 s. Mail for ada@{domain-1} was refused, because no inbox has that address: it is probably a typing error of {domain}.',
    first: 'similar_address',
    facts: [/ada@/, /refused/i],
  },
  {
    title: 'a mistyped address was refused a moment before the wait began',
    server: 'serve',
    me: 'rikke.jensen',
    before: [{ send: { to: 'rike.jensen@mayfly.test' } }, { pass: 5 }],
    says: 'No message arrived in 10 s. Mail for rike.jensen@mayfly.test was refused 5 s before this wait, because no inbox has that address: it is probably a typing error of rikke.jensen@mayfly.test.',
    first: 'similar_address',
    facts: [/rike\.jensen@mayfly\.test/],
  },
  {
    title: 'a mistyped address of an earlier test, minutes before',
    server: 'serve',
    me: 'sota.tanaka',
    before: [{ send: { to: 'sota.tanka@mayfly.test' } }, { pass: 240 }],
    says: 'No message arrived in 10 s. No mail for sota.tanaka@mayfly.test was refused either.',
    first: 'nothing_connected',
    never: ELSEWHERE,
    facts: [/no message arrived/i],
    lies: [/sota\.tanka@/],
  },
  {
    title: 'a mistyped address from before the inbox existed',
    server: 'serve',
    me: 'bruno.keller8',
    earlier: [{ send: { to: 'bruno.keler8@mayfly.test' } }, { pass: 3 }],
    says: 'No message arrived in 10 s. No mail for bruno.keller8@mayfly.test was refused either.',
    first: 'nothing_connected',
    never: ELSEWHERE,
    facts: [/no message arrived/i],
    lies: [/bruno\.keler8/],
  },
  {
    title: 'two similar addresses: the one with less difference is named first',
    server: 'serve',
    me: 'hanna.vogel22',
    during: [
      { send: { to: 'hanna.vogel2@mayfly.test' } },
      { pass: 1 },
      { send: { to: 'hana.vogl@mayfly.test' }, times: 2 },
    ],
    says: 'No message arrived in 10 s. Mail for hanna.vogel2@mayfly.test and hana.vogl@mayfly.test was refused, because no inbox has these addresses: they are probably typing errors of hanna.vogel22@mayfly.test.',
    first: 'similar_address',
    facts: [/hanna\.vogel2@.*(hana\.vogl@|$)/],
  },
  {
    title: 'mail for an inbox of the account that has expired, of another name',
    server: 'serve',
    me: 'mila.petrova',
    before: [{ inbox: 'gregor.samsa' }, { call: 'POST /v1/inboxes/{gregor.samsa}/expire' }, { pass: 60 }],
    during: [{ pass: 1 }, { send: { to: 'gregor.samsa@mayfly.test' } }],
    says: 'No message arrived in 10 s. Mail for gregor.samsa@mayfly.test was refused meanwhile: that inbox of yours expired 1 min before. It may be the mail that this wait is for.',
    first: 'other_recipient',
    facts: [/gregor\.samsa@mayfly\.test/, /expired/i],
    lies: [/no inbox has/i, /never/i],
  },
  {
    title: 'another account received mail at a similar address',
    server: 'shared',
    me: 'yusuf.demir',
    before: [{ foreignInbox: 'yusuf.demirr' }],
    during: [{ send: { to: 'yusuf.demirr@mayfly.test' } }],
    says: 'No message arrived in 10 s. No mail for yusuf.demir@mayfly.test was refused either.',
    first: 'nothing_arrived',
    never: ELSEWHERE,
    facts: [/no message arrived/i],
    lies: [/demirr/],
  },
];

const conditions: Situation[] = [
  {
    title: 'one mail with another subject',
    server: 'dev',
    me: 'conny.one',
    wait: { match: { subject: 'confirm' } },
    during: [{ pass: 2 }, { send: { to: '{me}', subject: 'Welcome aboard' } }],
    says: '1 message arrived; it does not have "confirm" in its subject, which is "Welcome aboard".',
    first: 'not_matching',
    never: ['nothing_arrived', TLS],
    facts: [/1 message arrived/, /"confirm"/, /"Welcome aboard"/],
    lies: [/no message arrived/i],
  },
  {
    title: 'three mails; the nearest in wording is named, and not the newest',
    server: 'dev',
    me: 'dario.two',
    wait: { match: { subject: 'Confirm your email address' } },
    during: [
      { send: { to: '{me}', subject: 'Confirm your e-mail adress' } },
      { pass: 1 },
      { send: { to: '{me}', subject: 'Welcome' } },
      { pass: 1 },
      { send: { to: '{me}', subject: 'Your invoice for March' } },
    ],
    says: '3 messages arrived; none has "Confirm your email address" in its subject. Closest: "Confirm your e-mail adress".',
    first: 'not_matching',
    facts: [/3 messages arrived/, /closest: "Confirm your e-mail adress"/i],
    lies: [/closest: "(Welcome|Your invoice)/i],
  },
  {
    title: '86 mails of which none is alike: none is called the closest',
    server: 'dev',
    me: 'elif.three',
    wait: { match: { subject: 'Reset your password' } },
    during: Array.from({ length: 86 }, (_, at) => ({
      send: { to: '{me}', subject: `Order ${4000 + at} shipped` },
    })),
    says: '86 messages arrived; none has "Reset your password" in its subject.',
    first: 'not_matching',
    facts: [/86 messages arrived/, /"Reset your password"/],
    lies: [/closest/i],
  },
  {
    title: 'a regular expression as a condition',
    server: 'dev',
    me: 'farid.four',
    wait: { match: { subject: '/confirm.*account/i' } },
    during: [{ send: { to: '{me}', subject: 'Confirm your account' } }],
    says: '1 message arrived; it does not have "/confirm.*account/i" in its subject. The condition is a regular expression, and conditions are plain text.',
    first: 'impossible_condition',
    facts: [/regular expression/i],
  },
  {
    title: 'a space at the end of a condition',
    server: 'dev',
    me: 'greta.five',
    wait: { match: { subject: 'Confirm ' } },
    during: [{ send: { to: '{me}', subject: 'Please Confirm' } }],
    says: '1 message arrived; it does not have "Confirm " in its subject, which is "Please Confirm". The condition ends with a space.',
    first: 'not_matching',
    facts: [/space/i, /"Please Confirm"/],
  },
  {
    title: 'an encoded word as a condition',
    server: 'dev',
    me: 'hugo.six',
    wait: { match: { subject: '=?utf-8?Q?Best=C3=A4tigung?=' } },
    during: [{ send: { to: '{me}', subject: '=?utf-8?Q?Best=C3=A4tigung?=' } }],
    says: '1 message arrived; it does not have "=?utf-8?Q?Best=C3=A4tigung?=" in its subject. The condition is an encoded word: write "Bestätigung".',
    first: 'impossible_condition',
    facts: [/encoded/i],
  },
  {
    title: 'the sender is spelled with a hyphen',
    server: 'dev',
    me: 'irma.seven',
    wait: { match: { from: 'noreply@shop.example' } },
    during: [{ send: { to: '{me}', from: 'no-reply@shop.example', subject: 'Your order' } }],
    says: '1 message arrived; it is not from "noreply@shop.example", but from "no-reply@shop.example".',
    first: 'not_matching',
    facts: [/noreply@shop\.example/, /no-reply@shop\.example/],
  },
  {
    title: 'a mail without a code',
    server: 'dev',
    me: 'jonas.eight',
    wait: { match: { code: true } },
    during: [{ send: { to: '{me}', subject: 'Your invoice', text: 'Thank you for your order.' } }],
    says: '1 message arrived; it has no code. Its subject is "Your invoice".',
    first: 'not_matching',
    facts: [/1 message arrived/, /code/],
  },
  {
    title: 'a link of another kind',
    server: 'dev',
    me: 'karla.nine',
    wait: { match: { link: { kind: 'verify' } } },
    during: [
      {
        send: {
          to: '{me}',
          subject: 'News',
          html: '<p>News.</p><a href="https://shop.example/unsubscribe?u=1">Unsubscribe</a>',
        },
      },
    ],
    says: '1 message arrived; it has no link to verify, but one to unsubscribe: https://shop.example/unsubscribe?u=1.',
    first: 'not_matching',
    facts: [/link/, /unsubscribe/i],
  },
  {
    title: 'only an inline picture where an attachment is wanted',
    server: 'dev',
    me: 'lars.ten',
    wait: { match: { hasAttachments: true } },
    during: [{ send: { to: '{me}', subject: 'Logo', attachment: 'inline' } }],
    says: '1 message arrived; it has no attachment. Its subject is "Logo".',
    first: 'not_matching',
    facts: [/attachment/],
  },
  {
    title: 'each condition is met by another mail',
    server: 'dev',
    me: 'mona.eleven',
    wait: { match: { subject: 'Confirm', code: true } },
    during: [
      { send: { to: '{me}', subject: 'Confirm your account', text: 'Click the button.' } },
      { send: { to: '{me}', subject: 'Sign in', text: 'Your code is 482913.' } },
    ],
    says: '2 messages arrived; none meets all conditions. Closest: "Confirm your account" has no code.',
    first: 'not_matching',
    facts: [/2 messages arrived/, /"Confirm your account"/],
    lies: [/none has "Confirm" in its subject/, /none has a code/],
  },
  {
    title: 'two of three mails came',
    server: 'dev',
    me: 'nils.twelve',
    wait: { match: { subject: 'Ticket' }, count: 3 },
    during: [{ send: { to: '{me}', subject: 'Ticket 1' } }, { send: { to: '{me}', subject: 'Ticket 2' } }],
    says: 'Only 2 of 3 messages matched in 10 s. No other message arrived.',
    first: 'too_few',
    never: ELSEWHERE,
    facts: [/2 of 3/],
    lies: [/no message arrived/i, /closest/i],
  },
  {
    title: 'silence is broken',
    server: 'dev',
    me: 'olga.thirteen',
    wait: { count: 0, match: { subject: 'invoice' } },
    during: [{ pass: 3 }, { send: { to: '{me}', subject: 'Your invoice 7' } }],
    says: 'A message matched, and none was expected: "Your invoice 7".',
    first: 'unexpected_message',
    never: ELSEWHERE,
    facts: [/"Your invoice 7"/],
  },
  {
    title: 'the tag of a recipient is wrong in the condition',
    server: 'dev',
    me: 'pavel.fourteen',
    wait: { match: { rcptTo: 'pavel.fourteen+invite@' } },
    during: [{ send: { to: 'pavel.fourteen+signup@mayfly.test', subject: 'Hello' } }],
    says: '1 message arrived; it was not sent to "pavel.fourteen+invite@", but to "pavel.fourteen+signup@mayfly.test".',
    first: 'not_matching',
    never: ['similar_address'],
    facts: [/pavel\.fourteen\+invite@/, /pavel\.fourteen\+signup@mayfly\.test/],
  },
  {
    title: 'an address of a catch-all inbox is mistyped',
    server: 'serve',
    me: { catchAll: 'mayfly.test' },
    wait: { match: { rcptTo: 'signup-1@' } },
    during: [{ send: { to: 'singup-1@{domain}', subject: 'Hello' } }],
    says: '1 message arrived; it was not sent to "signup-1@", but to "singup-1@{domain}".',
    first: 'not_matching',
    facts: [/signup-1@/, /singup-1@/],
  },
  {
    title: 'the condition names a recipient whom the mail does not have',
    server: 'dev',
    me: 'quinn.sixteen',
    wait: { match: { to: 'quinn@shop.example' } },
    during: [{ send: { to: '{me}', subject: 'Sale' } }],
    says: '1 message arrived; none has "quinn@shop.example" in its recipients. Closest: "Sale" is to "quinn.sixteen@mayfly.test".',
    first: 'not_matching',
    facts: [/quinn@shop\.example/, /quinn\.sixteen@mayfly\.test/],
  },
];

const times: Situation[] = [
  {
    title: 'the mail came before since',
    server: 'dev',
    me: 'rosa.early',
    before: [{ send: { to: '{me}', subject: 'Confirm your account' } }, { pass: 4 }],
    wait: { match: { subject: 'Confirm' }, since: 0 },
    says: 'No message arrived in 10 s. "Confirm your account" matches, but arrived 4 s before this wait\'s since.',
    first: 'before_since',
    never: [...ELSEWHERE, 'nothing_arrived'],
    facts: [/"Confirm your account"/, /before .*since/],
  },
  {
    title: 'the cursor was taken after the mail',
    server: 'dev',
    me: 'sami.late',
    before: [{ send: { to: '{me}', subject: 'Your code', text: 'Your code is 731902.' } }],
    wait: { match: { code: true }, since: 'cursor' },
    says: 'No message arrived in 10 s. "Your code" matches, but arrived before this wait\'s since.',
    first: 'before_since',
    facts: [/"Your code"/, /before .*since/],
  },
  {
    title: 'since lies in the future, because a clock differs',
    server: 'dev',
    me: 'tara.ahead',
    wait: { since: 3600 },
    during: [{ pass: 2 }, { send: { to: '{me}', subject: 'Confirm your account' } }],
    says: 'No message arrived after since, which is 1 h ahead of the clock of the server. "Confirm your account" arrived meanwhile, before it.',
    first: 'since_in_future',
    never: ['nothing_arrived', ...ELSEWHERE],
    facts: [/since/, /ahead|future/i],
  },
  {
    title: 'the mail comes after the wait has ended',
    server: 'dev',
    me: 'ulla.toolate',
    after: [{ pass: 2 }, { send: { to: '{me}', subject: 'Confirm your account' } }],
    says: 'No message arrived in 10 s. No client connected to the SMTP server in that time.',
    first: 'nothing_connected',
    facts: [/no message arrived/i, /10 s/],
    lies: [/Confirm your account/],
  },
  {
    title: 'the mail was deleted by the test itself',
    server: 'dev',
    me: 'vito.deleted',
    wait: { match: { subject: 'Confirm' }, timeoutSeconds: 10 },
    before: [
      { send: { to: '{me}', subject: 'Confirm your account' } },
      { call: 'DELETE /v1/inboxes/{id}/messages/{newest}' },
    ],
    says: 'No message arrived in 10 s. 1 message was deleted before.',
    first: 'deleted',
    facts: [/deleted/i],
    lies: [/Confirm your account/],
  },
  {
    title: 'the inbox was emptied before the wait',
    server: 'dev',
    me: 'wanda.emptied',
    before: [
      { send: { to: '{me}', subject: 'Confirm your account' }, times: 2 },
      { call: 'DELETE /v1/inboxes/{id}/messages' },
    ],
    says: 'No message arrived in 10 s. 2 messages were deleted before.',
    first: 'deleted',
    facts: [/deleted/i],
  },
  {
    title: 'a wait that checks once',
    server: 'dev',
    me: 'xenia.once',
    wait: { timeoutSeconds: 0 },
    says: 'No message has arrived so far: this wait checked once, without waiting.',
    first: 'nothing_connected',
    facts: [/without waiting|once/i],
    lies: [/0 s\b/],
  },
];

const ends: Situation[] = [
  {
    title: 'the inbox has expired',
    server: 'serve',
    me: 'yara.expired',
    before: [{ call: 'POST /v1/inboxes/{id}/expire' }, { pass: 5 }],
    says: 'The inbox yara.expired@mayfly.test expired 5 s ago.',
    first: 'inbox_expired',
    facts: [/expired/i],
    lies: [/never/i, /another account/i, /deleted/i],
  },
  {
    title: 'the inbox expires while it is waited for',
    server: 'serve',
    me: 'zeno.expiring',
    during: [{ pass: 3 }, { call: 'POST /v1/inboxes/{id}/expire' }],
    says: 'The inbox zeno.expiring@mayfly.test expired during this wait.',
    first: 'inbox_expired',
    facts: [/expired/i],
    lies: [/never/i, /another account/i],
  },
  {
    title: 'the inbox is deleted while it is waited for',
    server: 'serve',
    me: 'aino.deleting',
    during: [{ pass: 3 }, { call: 'DELETE /v1/inboxes/{id}' }],
    says: 'The inbox was deleted during this wait.',
    first: 'not_found',
    facts: [/deleted/i, /during|while/i],
    lies: [/never/i, /another account/i, /expired/i],
  },
  {
    title: 'the inbox was deleted before',
    server: 'serve',
    me: 'bela.gone',
    before: [{ call: 'DELETE /v1/inboxes/{id}' }],
    says: 'No inbox has this id: it was deleted, has ended more than 24 hours ago, or was never one of this account.',
    first: 'not_found',
    facts: [/deleted/i],
  },
];

const refusals: Situation[] = [
  {
    title: 'the inbox is full',
    server: 'serve',
    me: 'cleo.full',
    before: [{ send: { to: '{me}', subject: 'Filler' }, times: 3 }],
    wait: { since: 'cursor', match: { subject: 'Confirm' } },
    during: [{ pass: 2 }, { send: { to: '{me}', subject: 'Confirm your account' } }],
    says: 'No message arrived in 10 s. Mail for cleo.full@mayfly.test was refused: the inbox is full (452 4.2.2). Delete messages or use a new inbox.',
    first: 'inbox_full',
    never: ['nothing_arrived', ...ELSEWHERE],
    facts: [/full/i, /452|delete|empty/i],
  },
  {
    title: 'a fault rule asks the sender to come again',
    server: 'serve',
    me: 'dina.fault',
    before: [
      {
        call: 'PUT /v1/inboxes/{id}/faults',
        body: { rules: [{ at: 'rcpt', reply: { code: 451, text: '4.7.1 Greylisted' } }] },
      },
    ],
    during: [{ pass: 1 }, { send: { to: '{me}', subject: 'Confirm your account' } }],
    says: 'No message arrived in 10 s. Fault rule 1 answered RCPT with "451 4.7.1 Greylisted", and the sender has not come again.',
    first: 'fault_rule',
    never: ['nothing_arrived', 'other_recipient'],
    facts: [/fault rule 1/i, /451 4\.7\.1 Greylisted/],
  },
  {
    title: 'a fault rule closes the connection',
    server: 'serve',
    me: 'egon.closing',
    before: [{ call: 'PUT /v1/inboxes/{id}/faults', body: { rules: [{ at: 'data', disconnect: true }] } }],
    during: [{ send: { to: '{me}', subject: 'Confirm your account' } }],
    says: 'No message arrived in 10 s. Fault rule 1 closed the connection at DATA.',
    first: 'fault_rule',
    facts: [/fault rule 1/i, /closed the connection/i],
  },
  {
    title: 'a fault rule still delays the sender when the wait ends',
    server: 'serve',
    me: 'finn.delayed',
    before: [{ call: 'PUT /v1/inboxes/{id}/faults', body: { rules: [{ at: 'rcpt', delayMs: 60_000 }] } }],
    during: [{ staying: ['EHLO app.example', 'MAIL FROM:<app@shop.example>', '!RCPT TO:<{me}>'] }],
    says: 'No message arrived in 10 s. Fault rule 1 delays the reply to RCPT by 60 s.',
    first: 'fault_rule',
    facts: [/fault rule 1/i, /60 s|60,?000 ms|1 min/],
  },
  {
    title: 'a message that is too large, after its bytes',
    server: 'serve',
    me: 'gabi.large',
    during: [{ send: { to: '{me}', subject: 'Big', bytes: 80_000 } }],
    says: 'No message arrived in 10 s. A message for gabi.large@mayfly.test was refused: it is larger than 64 KiB (552 5.3.4).',
    first: 'too_large',
    facts: [/larger|too large|size|exceeds/i, /552|KiB|MiB|bytes/],
  },
  {
    title: 'a message that is too large, by what MAIL declares',
    server: 'serve',
    me: 'hilda.declared',
    during: [{ send: { to: '{me}', subject: 'Big', declares: 9_000_000 } }],
    says: 'No message arrived in 10 s. A message of 9 MB was refused at MAIL, before it named a recipient: messages may have 64 KiB (552 5.3.4).',
    first: 'too_large',
    facts: [/larger|too large|size|exceeds/i],
  },
  {
    title: 'lines that end with LF alone',
    server: 'serve',
    me: 'iggy.bare',
    during: [{ send: { to: '{me}', subject: 'Bare', bareLf: true } }],
    says: 'No message arrived in 10 s. A message for iggy.bare@mayfly.test was refused: its lines end with LF alone (550 5.6.11). The sender must write CRLF, or set MAYFLY_SMTP_BARE_LINE_ENDINGS=normalise.',
    first: 'malformed',
    facts: [/LF|line end/i],
  },
  {
    title: 'the sender authenticates with a wrong password, by the address',
    server: 'serve',
    me: 'jana.auth',
    during: [{ send: { to: '{me}', auth: ['{me}', 'wrong-password'] } }],
    says: 'No message arrived in 10 s. A sender that authenticated as jana.auth@mayfly.test was refused: the password is not the read token of the inbox or an API key of its account (535 5.7.8).',
    first: 'auth_failed',
    never: ['nothing_arrived', ...ELSEWHERE],
    facts: [/535|password|authenticat/i],
  },
  {
    title: 'the sender authenticates with a wrong password, by the id',
    server: 'serve',
    me: 'kuno.auth',
    during: [{ send: { to: 'customer@shop.example', auth: ['{id}', 'wrong-password'] } }],
    says: 'No message arrived in 10 s. A sender that authenticated with the id of this inbox was refused: the password is not the read token of the inbox or an API key of its account (535 5.7.8).',
    first: 'auth_failed',
    facts: [/535|password|authenticat/i],
  },
  {
    title: 'the sender authenticates for another inbox, which gets the mail',
    server: 'serve',
    me: 'lotte.captured',
    before: [{ inbox: 'neighbour-box' }],
    during: [{ send: { to: '{me}', auth: ['{neighbour-box}', '{neighbour-box token}'] } }],
    says: 'No message arrived in 10 s. Mail for lotte.captured@mayfly.test is in neighbour-box@mayfly.test, because its sender authenticated for that inbox.',
    first: 'captured_elsewhere',
    never: ['nothing_arrived', 'similar_address'],
    facts: [/authenticated/i, /neighbour-box/],
  },
  {
    title: 'the mail was refused a moment before the inbox existed',
    server: 'serve',
    me: 'mirko.tooearly',
    earlier: [{ send: { to: 'mirko.tooearly@mayfly.test' } }, { pass: 4 }],
    says: 'No message arrived in 10 s. Mail for mirko.tooearly@mayfly.test was refused 4 s before the inbox was created: create the inbox first.',
    first: 'before_creation',
    facts: [/before (the|this) inbox (was created|existed)/i],
  },
  {
    title: 'the mail went to the sink a moment before the inbox existed',
    server: 'dev',
    me: 'nadja.tooearly',
    earlier: [{ send: { to: 'nadja.tooearly@mayfly.test' } }, { pass: 4 }],
    says: 'No message arrived in 10 s. The sink received mail for nadja.tooearly@mayfly.test 4 s before the inbox was created: create the inbox first.',
    first: 'before_creation',
    facts: [/\bsink\b/, /before (the|this) inbox (was created|existed)|did not exist/i],
  },
  {
    title: 'an old refusal, from hours before the inbox existed',
    server: 'serve',
    me: 'orla.reused',
    earlier: [{ send: { to: 'orla.reused@mayfly.test' } }, { pass: 10_800 }],
    says: 'No message arrived in 10 s. No client connected to the SMTP server in that time.',
    first: 'nothing_connected',
    never: ['before_creation'],
    facts: [/no message arrived/i],
    lies: [/before (the|this) inbox/i],
  },
  {
    title: 'the address is the 101st recipient of its message',
    server: 'serve',
    me: 'pippa.crowd',
    before: [{ inbox: 'crowd-box' }],
    during: [{ send: { to: '{me}', others: { count: 100, of: 'crowd-box' } } }],
    says: 'No message arrived in 10 s. A message with more than 100 recipients left out pippa.crowd@mayfly.test (452 4.5.3).',
    first: 'too_many_recipients',
    facts: [/recipients/i],
    lies: [/\bfull\b/],
  },
  {
    title: 'the connection is lost in the middle of the message',
    server: 'serve',
    me: 'quentin.cut',
    during: [
      {
        session: [
          'EHLO app.example',
          'MAIL FROM:<app@shop.example>',
          'RCPT TO:<{me}>',
          'DATA',
          '!Subject: Confirm your account\r\n\r\nHello',
        ],
      },
    ],
    says: 'No message arrived in 10 s. A sender named quentin.cut@mayfly.test, and its connection ended in the middle of the message.',
    first: 'sender_left',
    never: ['nothing_arrived'],
    facts: [/connection/i, /middle/i],
  },
];

const connections: Situation[] = [
  {
    title: 'nothing connects',
    server: 'serve',
    me: 'ragna.alone',
    says: 'No message arrived in 10 s. No client connected to the SMTP server in that time: check that the application has sent the mail, and to this server.',
    first: 'nothing_connected',
    never: ['nothing_arrived', TLS, ...ELSEWHERE],
    facts: [/no message arrived/i, /(no client|nothing|nobody) connected/i],
  },
  {
    title: 'a client leaves after EHLO',
    server: 'serve',
    me: 'sigrid.hello',
    during: [{ pass: 2 }, { session: ['EHLO app.example', 'QUIT'] }],
    says: 'No message arrived in 10 s. A client from 127.0.0.1 (app.example) connected and left after EHLO, without naming a recipient.',
    first: 'left_without_recipient',
    never: ['nothing_connected', 'similar_address'],
    facts: [/connected/i, /without naming a recipient|before (it named|naming) a recipient|no recipient/i],
  },
  {
    title: 'a client leaves after MAIL',
    server: 'serve',
    me: 'tilda.mail',
    during: [{ session: ['EHLO app.example', 'MAIL FROM:<app@shop.example>'] }],
    says: 'No message arrived in 10 s. A client from 127.0.0.1 (app.example) connected and left after MAIL, without naming a recipient.',
    first: 'left_without_recipient',
    facts: [/connected/i, /without naming a recipient|before (it named|naming) a recipient|no recipient/i],
  },
  {
    title: 'a client names the address and leaves without DATA',
    server: 'serve',
    me: 'urban.rcpt',
    during: [{ session: ['EHLO app.example', 'MAIL FROM:<app@shop.example>', 'RCPT TO:<{me}>', 'QUIT'] }],
    says: 'No message arrived in 10 s. A sender named urban.rcpt@mayfly.test, and left without sending the message.',
    first: 'sender_left',
    never: ['nothing_arrived'],
    facts: [/left|ended|closed/i, /without|before/i],
  },
  {
    title: 'other tests receive their mail, which would meet the conditions too',
    server: 'serve',
    me: 'vilma.quiet',
    wait: { match: { subject: 'Confirm' } },
    during: [
      { noise: 12, subject: 'Confirm your account' },
      { pass: 2 },
      { noise: 12, subject: 'Confirm it' },
    ],
    says: 'No message arrived in 10 s. No mail for vilma.quiet@mayfly.test was refused either.',
    first: 'nothing_arrived',
    never: [...ELSEWHERE, TLS],
    facts: [/no message arrived/i],
    lies: [/meets all/i, /noise/, /another inbox/i],
  },
  {
    title: 'other tests receive their mail while this address is mistyped',
    server: 'serve',
    me: 'wilma.loud',
    wait: { match: { subject: 'Confirm' } },
    during: [
      { noise: 8, subject: 'Confirm your account' },
      { send: { to: 'wilma.lowd@mayfly.test', subject: 'Confirm your account' } },
      { noise: 8, subject: 'Confirm it' },
    ],
    says: 'No message arrived in 10 s. Mail for wilma.lowd@mayfly.test was refused, because no inbox has that address: it is probably a typing error of wilma.loud@mayfly.test.',
    first: 'similar_address',
    never: ['other_recipient', 'captured_elsewhere'],
    facts: [/wilma\.lowd@mayfly\.test/],
    lies: [/meets all/i, /noise/],
  },
];

const handshakes: Situation[] = [
  {
    title: 'the sender does not trust the certificate',
    server: 'serve',
    me: 'xaver.tls',
    during: [{ pass: 2 }, { distrust: 1, helo: 'app.example' }],
    says: 'No message arrived in 10 s. A TLS handshake with 127.0.0.1 failed meanwhile: the client rejected the certificate. It may be the sender of this mail.',
    first: TLS,
    never: ['nothing_arrived', 'nothing_connected', 'left_without_recipient'],
    facts: [/TLS/, /certificate/i],
  },
  {
    title: 'the same while other tests receive their mail',
    server: 'serve',
    me: 'ylva.tls',
    wait: { match: { subject: 'Confirm' } },
    during: [
      { noise: 6, subject: 'Confirm your account' },
      { distrust: 1, helo: 'app.example' },
      { noise: 6 },
    ],
    says: 'No message arrived in 10 s. A TLS handshake with 127.0.0.1 failed meanwhile: the client rejected the certificate. It may be the sender of this mail.',
    first: TLS,
    never: ELSEWHERE,
    facts: [/TLS/, /certificate/i],
    lies: [/meets all/i, /noise/],
  },
  {
    title: 'the same for the read token',
    server: 'serve',
    me: 'zita.tls',
    as: 'token',
    during: [{ distrust: 1 }],
    says: 'No message arrived in 10 s. A TLS handshake with 127.0.0.1 failed meanwhile: the client rejected the certificate. It may be the sender of this mail.',
    first: TLS,
    facts: [/TLS/, /certificate/i],
  },
  {
    title: 'a handshake of an earlier test, minutes before',
    server: 'serve',
    me: 'anton.old',
    before: [{ distrust: 3 }, { pass: 240 }],
    says: 'No message arrived in 10 s. No client connected to the SMTP server in that time.',
    first: 'nothing_connected',
    never: [TLS],
    facts: [/no message arrived/i],
    lies: [/TLS|handshake|certificate/],
  },
  {
    title: 'a handshake from before the inbox existed',
    server: 'serve',
    me: 'berta.before',
    earlier: [{ distrust: 1 }, { pass: 2 }],
    during: [{ noise: 2 }],
    says: 'No message arrived in 10 s. No mail for berta.before@mayfly.test was refused either.',
    first: 'nothing_arrived',
    never: [TLS],
    facts: [/no message arrived/i],
    lies: [/TLS|handshake|certificate/],
  },
  {
    title: 'a handshake of another machine, while the mail of this one does not match',
    server: 'serve',
    me: 'cajus.other',
    wait: { match: { subject: 'Confirm' } },
    during: [{ send: { to: '{me}', subject: 'Welcome' } }, { distrust: 2, ip: '127.0.0.9' }],
    says: '1 message arrived; it does not have "Confirm" in its subject, which is "Welcome".',
    first: 'not_matching',
    never: [TLS],
    facts: [/1 message arrived/, /"Welcome"/],
    lies: [/TLS|handshake|certificate/],
  },
  {
    title: 'the sender tries again without TLS, and its mail does not match',
    server: 'serve',
    me: 'dorte.retry',
    wait: { match: { subject: 'Confirm' } },
    during: [
      { distrust: 1, helo: 'app.example' },
      { send: { to: '{me}', subject: 'Welcome', helo: 'app.example' } },
    ],
    says: '1 message arrived; it does not have "Confirm" in its subject, which is "Welcome".',
    first: 'not_matching',
    never: [TLS],
    facts: [/1 message arrived/, /"Welcome"/],
    lies: [/TLS|handshake|certificate/],
  },
  {
    title: 'the sender whose handshake failed delivers to its own inbox without TLS',
    server: 'serve',
    me: 'edda.innocent',
    before: [{ inbox: 'tls-test-box' }],
    during: [
      { distrust: 1, helo: 'tls-test.example' },
      { send: { to: 'tls-test-box@mayfly.test', helo: 'tls-test.example' } },
    ],
    says: 'No message arrived in 10 s. No mail for edda.innocent@mayfly.test was refused either.',
    first: 'nothing_arrived',
    never: [TLS],
    facts: [/no message arrived/i],
    lies: [/TLS|handshake|certificate/],
  },
  {
    title: 'another account shares the server: its failed handshakes are not shown',
    server: 'shared',
    me: 'fritz.shared',
    during: [{ distrust: 2, ip: '127.0.0.9' }],
    says: 'No message arrived in 10 s. No mail for fritz.shared@mayfly.test was refused either.',
    first: 'nothing_arrived',
    never: [TLS],
    facts: [/no message arrived/i],
    lies: [/TLS|handshake|certificate/],
  },
];

const several: Situation[] = [
  {
    title: 'a mistyped address and twenty-five failed handshakes of another test',
    server: 'serve',
    me: 'gesa.both',
    during: [{ distrust: 25, ip: '127.0.0.9' }, { send: { to: 'gesa.boht@mayfly.test' } }],
    says: 'No message arrived in 10 s. Mail for gesa.boht@mayfly.test was refused, because no inbox has that address: it is probably a typing error of gesa.both@mayfly.test. 25 TLS handshakes failed meanwhile, the last with 127.0.0.9.',
    first: 'similar_address',
    facts: [/gesa\.boht@mayfly\.test/],
  },
  {
    title: 'a full inbox and a mistyped address',
    server: 'serve',
    me: 'heiko.pair',
    before: [{ send: { to: '{me}', subject: 'Filler' }, times: 3 }],
    wait: { since: 'cursor' },
    during: [{ pass: 1 }, { send: { to: 'heiko.pear@mayfly.test' } }, { send: { to: '{me}' } }],
    says: 'No message arrived in 10 s. Mail for heiko.pair@mayfly.test was refused: the inbox is full (452 4.2.2). Mail for heiko.pear@mayfly.test was refused, because no inbox has that address.',
    first: 'inbox_full',
    also: ['similar_address'],
    facts: [/full.*heiko\.pear@/i],
  },
  {
    title: 'one mail was too large, another one does not match',
    server: 'serve',
    me: 'imke.mixed',
    wait: { match: { subject: 'Report' } },
    during: [
      { send: { to: '{me}', subject: 'Report', bytes: 80_000 } },
      { send: { to: '{me}', subject: 'Welcome' } },
    ],
    says: '1 message arrived; it does not have "Report" in its subject, which is "Welcome". A message for imke.mixed@mayfly.test was refused: it is larger than 64 KiB (552 5.3.4).',
    first: 'too_large',
    also: ['not_matching'],
    facts: [/1 message arrived/, /larger|too large|size|exceeds/i],
  },
  {
    title: 'the right mail came before since, another one after it',
    server: 'dev',
    me: 'jette.order',
    wait: { match: { subject: 'Confirm' }, since: 0 },
    before: [{ send: { to: '{me}', subject: 'Confirm your account' } }, { pass: 3 }],
    during: [{ pass: 1 }, { send: { to: '{me}', subject: 'Welcome' } }],
    says: '1 message arrived; it does not have "Confirm" in its subject. "Confirm your account" matches, but arrived 3 s before this wait\'s since.',
    first: 'before_since',
    also: ['not_matching'],
    facts: [/"Confirm your account"/, /3 s before .*since/],
  },
];

const cuts: Situation[] = [
  {
    title: 'the time limit of the test has cut the wait',
    server: 'dev',
    me: 'kjell.cut',
    wait: { timeoutSeconds: 0.9, askedSeconds: 60 },
    says: 'No message arrived in 0.9 s (cut from 60 s by the time limit of the test). No client connected to the SMTP server in that time.',
    first: 'cut_short',
    facts: [/0\.9 s/, /60 s/, /cut/],
  },
  {
    title: 'the last request of a wait that its client holds in several',
    server: 'serve',
    me: 'liv.chained',
    before: [{ pass: 3 }, { send: { to: 'liv.chaned@mayfly.test' } }, { pass: 47 }],
    wait: { timeoutSeconds: 10, waitedSeconds: 50 },
    says: 'No message arrived in 60 s. Mail for liv.chaned@mayfly.test was refused, because no inbox has that address: it is probably a typing error of liv.chained@mayfly.test.',
    first: 'similar_address',
    facts: [/60 s/, /liv\.chaned@mayfly\.test/],
    lies: [/before this wait/],
  },
];

const encoded = (text: string): string => `=?UTF-8?B?${Buffer.from(text).toString('base64')}?=`;
/** A message with some headers of its own. */
const mail = (headers: Record<string, string>, body = 'Hello'): string => {
  const all = { From: 'Shop <app@shop.example>', Subject: 'Hi', 'MIME-Version': '1.0', ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
};
const mixed = (...parts: string[]): string =>
  mail(
    { 'Content-Type': 'multipart/mixed; boundary=b' },
    [...parts.map((part) => `--b\r\n${part}\r\n`), '--b--'].join(''),
  );

/** One mail that does not match, and the end of what is said about it. */
const oneMail = (
  title: string,
  raw: string,
  match: object,
  end: string,
  first = 'not_matching',
): Situation => ({
  ...{ title, server: 'dev', me: `only.${title.replaceAll(/[^a-z]/g, '')}`, wait: { match } },
  during: [{ send: { to: '{me}', raw } }],
  ...{ says: end, first, facts: [new RegExp(end.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))] },
});

/** What a colleague adds who looks at the only mail that came. */
const hints: Situation[] = [
  oneMail(
    'accents are missing in the condition',
    mail({ Subject: encoded('Bestätigen') }),
    { subject: 'Bestatigen' },
    'Its subject is "Bestätigen". It differs only in accents, punctuation or spaces.',
  ),
  oneMail(
    'the words are in the text and not in the subject',
    mail({}, 'Confirm your address'),
    { subject: 'Confirm your address' },
    'Its subject is "Hi". Its text contains that: use the condition "text".',
  ),
  oneMail(
    'the words are in the subject and not in the text',
    mail({ Subject: 'Confirm' }),
    { text: 'confirm' },
    '"Confirm" begins with "Hello". Its subject contains that: use the condition "subject".',
  ),
  oneMail(
    'a pattern with a circumflex',
    mail({ Subject: 'Confirm' }),
    { subject: '^Confirm.*' },
    'The condition "subject" looks like a regular expression or pattern, but conditions are plain text that must be contained.',
    'impossible_condition',
  ),
  oneMail(
    'a link in an attachment',
    mixed(
      'Content-Type: text/plain\r\n\r\nSee it',
      'Content-Type: text/html\r\nContent-Disposition: attachment; filename=a.html\r\n\r\n<a href="https://shop.example/verify">Verify</a>',
    ),
    { link: true },
    'none has a link. Its subject is "Hi". Attachments are not searched; it has 1.',
  ),
  oneMail(
    'a code in place of a link',
    mail({ Subject: 'Verify' }, 'Your code is 482913.'),
    { link: { kind: 'verify' } },
    'Its subject is "Verify". It has a code: use the condition "code".',
  ),
  oneMail(
    'one of two conditions is not met',
    mail({ Subject: 'Confirm' }),
    { subject: 'confirm', from: 'bank@' },
    '"Confirm" meets all conditions but "from": it is from "Shop <app@shop.example>".',
  ),
  oneMail(
    'neither of two conditions is met',
    mail({ Subject: 'News' }),
    { subject: 'confirm', from: 'bank@' },
    '"News" does not meet "from" and "subject".',
  ),
];

/** What was learned from defects, after the first table. */
const later: Situation[] = [
  {
    title: 'the claim about all messages also holds for those that are not shown',
    server: 'dev',
    me: 'many.seen',
    wait: { match: { subject: 'confirm', code: true } },
    during: [
      { send: { to: '{me}', subject: 'Confirm your account' } },
      ...Array.from({ length: 25 }, (_, n) => ({
        send: { to: '{me}', subject: `Sign in ${n}`, text: `Your code is 48291${n % 10}.` },
      })),
    ],
    says: '26 messages arrived; none meets all conditions. Closest: "Confirm your account" meets all conditions but "code".',
    first: 'not_matching',
    facts: [/^26 messages arrived; none meets all conditions\./, /Closest: "Confirm your account"/],
  },
  {
    title: 'a read token does not see handshakes of other machines',
    server: 'serve',
    me: 'token.remote',
    as: 'token',
    during: [{ distrust: 1, ip: '127.0.0.9' }],
    says: 'No message arrived in 10 s. No mail for token.remote@mayfly.test was refused either.',
    first: 'nothing_arrived',
    never: [TLS],
    facts: [/no message arrived/i],
    lies: [/TLS|handshake/],
  },
  {
    title: 'a client that also left early before is a health check',
    server: 'serve',
    me: 'health.checked',
    before: [{ session: ['EHLO balancer.example', 'QUIT'] }, { pass: 35 }],
    during: [{ pass: 2 }, { session: ['EHLO balancer.example', 'QUIT'] }],
    says: 'No message arrived in 10 s. No mail for health.checked@mayfly.test was refused either.',
    first: 'nothing_arrived',
    never: ['left_without_recipient'],
    facts: [/no message arrived/i],
  },
  {
    title: 'a mistyped address among thousands of refused ones',
    server: 'serve',
    me: 'needle.straw',
    during: [{ send: { to: 'nedle.straw@mayfly.test' } }, { pass: 1 }, { refusedElsewhere: 2_000 }],
    says: 'No message arrived in 10 s. Mail for nedle.straw@mayfly.test was refused, because no inbox has that address.',
    first: 'similar_address',
    facts: [/nedle\.straw@mayfly\.test/],
  },
];

export const situations: Situation[] = [
  ...wrongAddress,
  ...conditions,
  ...times,
  ...ends,
  ...refusals,
  ...connections,
  ...handshakes,
  ...several,
  ...cuts,
  ...hints,
  ...later,
];
