import { Refused } from '../api.ts';
import { idOf, type Mailbox } from '../mailbox.ts';
import { messageLines } from './lines.ts';

/** The most that the largest built-in plan keeps in an inbox. A session shows only the newest messages. */
const MAX_MESSAGES = 10_000;
/** Failed logins of a session, as in SMTP: clients try several mechanisms and forms of the user name. */
const MAX_LOGIN_FAILURES = 5;
/** Failed commands of a session, as in SMTP. */
const MAX_ERRORS = 20;

export interface Credentials {
  username: string;
  password: string;
}

/** An inbox, opened with valid credentials. */
export interface Maildrop {
  mailbox: Mailbox;
  /** Yields the source of a message in pieces. @throws Refused */
  raw(id: string): AsyncIterable<Uint8Array>;
}

/** The functions of a connection that a session uses. */
export interface Pop3Transport {
  /** False without TLS on other machines, because a password must not cross a network in plain text. */
  mayLogIn(): boolean;
  /** Whether STLS is possible: TLS is offered and not active. */
  mayEncrypt(): boolean;
  /** Whether the client has sent more than the current line. */
  hasUnread(): boolean;
  /** @returns undefined for all wrong credentials, whatever the reason */
  logIn(credentials: Credentials): Promise<Maildrop | undefined>;
}

interface Entry {
  id: string;
  size: number;
  isDeleted: boolean;
}

type Answer = string | Promise<string> | AsyncIterable<string>;

const ok = (text: string): string => `+OK ${text}\r\n`;
const lines = (first: string, others: readonly string[]): string =>
  `${ok(first)}${others.map((line) => `${line}\r\n`).join('')}.\r\n`;

/** A command failed; the session continues. */
class Failed extends Error {}

const NO_MESSAGE = 'There is no such message.';
const WRONG = '[AUTH] The user name or the password is wrong.';

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const NUMBER = /^\d{1,9}$/;

/** The reply for an error of the API. Replies quote nothing from requests. */
function explain(error: unknown): string {
  if (error instanceof Failed) return error.message;
  if (!(error instanceof Refused)) throw error;
  if (error.status === 404) return 'The message or its inbox does not exist any more.';
  if (error.status === 401 || error.status === 403) return '[AUTH] The API key or token does not allow this.';
  if (error.status === 429) return '[SYS/TEMP] The account has reached a limit of its plan. Retry later.';
  return '[SYS/TEMP] The server cannot do this now. Retry later.';
}

/** A POP3 session (RFC 1939) without I/O: takes lines and yields replies. Shows the messages that existed at login. */
export class Pop3Session {
  /** Next step after a reply: `encrypt` to begin TLS, `ended` to close the connection. */
  next: 'command' | 'encrypt' | 'ended' = 'command';
  readonly #transport: Pop3Transport;
  #user: string | undefined;
  #isAnswerToAuth = false;
  #loginFailures = 0;
  #errors = 0;
  #maildrop: Maildrop | undefined;
  #entries: Entry[] = [];

  constructor(transport: Pop3Transport) {
    this.#transport = transport;
  }

  static readonly greeting: string = ok('Mayfly POP3 server is ready.');

  get isLoggedIn(): boolean {
    return this.#maildrop !== undefined;
  }

  /**
   * Processes a line without its line ending and yields the reply. @throws an error that leaves the reply
   * incomplete, so the connection must be closed
   */
  async *answer(line: string): AsyncGenerator<string> {
    this.next = 'command';
    let hasBegun = false;
    try {
      const answer = await this.#run(line);
      if (typeof answer === 'string') yield answer;
      else
        for await (const piece of answer) {
          hasBegun = true;
          yield piece;
        }
    } catch (error) {
      if (hasBegun) throw error;
      const text = explain(error);
      this.#errors += 1;
      if (this.#errors >= MAX_ERRORS) this.next = 'ended';
      yield `-ERR ${text}\r\n`;
    }
  }

  #run(line: string): Answer {
    if (this.#isAnswerToAuth) return this.#logInPlain(line);
    const [, name = '', given = ''] = /^(\S*)(?: (.*))?$/.exec(line) ?? [];
    const command = name.toUpperCase();
    if (command === 'CAPA') return this.#capabilities();
    if (command === 'QUIT') return this.#quit();
    const run = this.#maildrop ? this.#transaction(command) : this.#authorization(command);
    if (run) return run(given);
    throw new Failed('There is no such command, or not now.');
  }

  #authorization(command: string): ((given: string) => Answer) | undefined {
    const commands: Record<string, (given: string) => Answer> = {
      STLS: () => this.#startTls(),
      USER: (given) => this.#takeUser(given),
      PASS: (given) => this.#takePassword(given),
      AUTH: (given) => this.#authenticate(given),
    };
    return Object.hasOwn(commands, command) ? commands[command] : undefined;
  }

  #transaction(command: string): ((given: string) => Answer) | undefined {
    const commands: Record<string, (given: string) => Answer> = {
      STAT: () => ok(this.#sum()),
      LIST: (given) => this.#list(given, ({ size }) => String(size)),
      UIDL: (given) => this.#list(given, ({ id }) => id.split('-')[0] ?? ''),
      RETR: (given) => this.#read(this.#entry(given)),
      TOP: (given) => this.#top(given),
      DELE: (given) => this.#delete(given),
      RSET: () => this.#reset(),
      NOOP: () => ok(''),
    };
    return Object.hasOwn(commands, command) ? commands[command] : undefined;
  }

  /** The CAPA command (RFC 2449). */
  #capabilities(): string {
    const mayLogIn = this.#transport.mayLogIn() && !this.isLoggedIn;
    return lines('Capabilities follow.', [
      ...['TOP', 'UIDL', 'PIPELINING', 'RESP-CODES', 'AUTH-RESP-CODE'],
      ...(mayLogIn ? ['USER', 'SASL PLAIN'] : []),
      ...(this.#transport.mayEncrypt() && !this.isLoggedIn ? ['STLS'] : []),
      'IMPLEMENTATION Mayfly',
    ]);
  }

  /** The STLS command (RFC 2595 section 4). Pipelined plaintext could be injected by an attacker (CVE-2011-0411). */
  #startTls(): string {
    if (!this.#transport.mayEncrypt()) throw new Failed('TLS is not offered, or has begun.');
    if (this.#transport.hasUnread()) {
      this.next = 'ended';
      throw new Failed('Commands came after STLS and before TLS.');
    }
    this.#user = undefined;
    this.next = 'encrypt';
    return ok('Begin TLS.');
  }

  #assertMayLogIn(): void {
    if (this.#transport.mayLogIn()) return;
    throw new Failed('Other machines log in with TLS only, unless MAYFLY_SMTP_AUTH_PLAINTEXT is on.');
  }

  #takeUser(given: string): string {
    this.#assertMayLogIn();
    if (given === '') throw new Failed('USER needs the address of an inbox, or its id.');
    this.#user = given;
    return ok('Send the API key or the read token as password.');
  }

  #takePassword(password: string): Promise<string> {
    this.#assertMayLogIn();
    const username = this.#user;
    this.#user = undefined;
    if (username === undefined) throw new Failed('Send USER first.');
    return this.#logIn({ username, password });
  }

  /** The AUTH command (RFC 5034) with the mechanism PLAIN. */
  #authenticate(given: string): Answer {
    this.#assertMayLogIn();
    const [mechanism = '', initial] = given.split(' ');
    if (given === '') return lines('Mechanisms follow.', ['PLAIN']);
    if (mechanism.toUpperCase() !== 'PLAIN') throw new Failed('The only mechanism is PLAIN.');
    if (initial !== undefined) return this.#logInPlain(initial);
    this.#isAnswerToAuth = true;
    return '+ \r\n';
  }

  #logInPlain(response: string): Promise<string> {
    this.#isAnswerToAuth = false;
    const isText = BASE64.test(response);
    const [authorizeAs, username = '', password = '', ...more] = isText
      ? Buffer.from(response, 'base64').toString().split('\0')
      : [];
    const isWhole = username !== '' && password !== '' && more.length === 0;
    if (!isWhole) throw new Failed('This is no response of the mechanism PLAIN.');
    const isOther = authorizeAs !== '' && authorizeAs !== username;
    return this.#logIn({ username, password: isOther ? '' : password });
  }

  async #logIn(credentials: Credentials): Promise<string> {
    const maildrop = await this.#transport.logIn(credentials);
    if (!maildrop) {
      this.#loginFailures += 1;
      if (this.#loginFailures >= MAX_LOGIN_FAILURES) this.next = 'ended';
      throw new Failed(WRONG);
    }
    const entries: Entry[] = [];
    for await (const message of maildrop.mailbox.list('')) {
      entries.push({ id: idOf(message), size: message.size, isDeleted: false });
      if (entries.length >= MAX_MESSAGES) break;
    }
    this.#entries = entries.reverse();
    this.#maildrop = maildrop;
    return ok(this.#sum());
  }

  #sum(): string {
    const left = this.#entries.filter(({ isDeleted }) => !isDeleted);
    return `${left.length} ${left.reduce((sum, { size }) => sum + size, 0)}`;
  }

  /** The message with this number. @throws Failed */
  #entry(number: string): Entry {
    const entry = NUMBER.test(number) ? this.#entries[Number(number) - 1] : undefined;
    if (entry && !entry.isDeleted) return entry;
    throw new Failed(NO_MESSAGE);
  }

  #list(given: string, show: (entry: Entry) => string): string {
    if (given !== '') return ok(`${Number(given)} ${show(this.#entry(given))}`);
    const shown = this.#entries.map((entry, index) => (entry.isDeleted ? '' : `${index + 1} ${show(entry)}`));
    return lines(this.#sum(), shown.filter(Boolean));
  }

  #top(given: string): AsyncIterable<string> {
    const [number = '', count = '', ...more] = given.split(' ');
    if (!NUMBER.test(count) || more.length > 0)
      throw new Failed('TOP needs a message and a number of lines.');
    return this.#read(this.#entry(number), Number(count));
  }

  async *#read({ id }: Entry, bodyLines?: number): AsyncGenerator<string> {
    if (!this.#maildrop) return;
    let first = ok('The message follows.');
    for await (const text of messageLines(this.#maildrop.raw(id), bodyLines)) {
      yield first + text;
      first = '';
    }
    yield `${first}.\r\n`;
  }

  #delete(given: string): string {
    this.#entry(given).isDeleted = true;
    return ok('The message is deleted at QUIT.');
  }

  #reset(): string {
    for (const entry of this.#entries) entry.isDeleted = false;
    return ok(this.#sum());
  }

  /** Deletes the marked messages; only QUIT does (UPDATE state, RFC 1939 section 6). */
  async #quit(): Promise<string> {
    this.next = 'ended';
    const ids = this.#entries.filter(({ isDeleted }) => isDeleted).map(({ id }) => id);
    try {
      await this.#maildrop?.mailbox.remove(ids);
    } catch (error) {
      throw new Failed(`Messages were not deleted: ${explain(error)}`);
    }
    return ok('Goodbye.');
  }
}
