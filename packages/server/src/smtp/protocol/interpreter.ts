import type { SmtpLimits } from '../limits.ts';
import { readMail, readRcpt } from './commands.ts';
import type { ProtocolEvent } from './events.ts';
import { isHelloName } from './hello-name.ts';
import { REPLIES, type Reply } from './replies.ts';
import { type AuthExchange, type AuthStep, beginAuth, continueAuth, MECHANISMS } from './sasl.ts';

/** Where AUTH is offered: nowhere, on encrypted connections, or on all. */
export type AuthOffer = 'off' | 'encrypted' | 'always';

export interface InterpreterOptions {
  /** The server's name, in the reply to EHLO. */
  name: string;
  /** The client's address, in the reply to EHLO. */
  peer: string;
  /** The size limit that EHLO announces. */
  maxMessageBytes: number;
  limits: Pick<SmtpLimits, 'maxRecipients' | 'maxCommandsPerMail'>;
  /** Whether the connection is encrypted from its beginning. */
  tls: boolean;
  /** Whether STARTTLS is offered while it is not. */
  startTls: boolean;
  /** Where AUTH is offered. */
  auth: AuthOffer;
  /** Whether a command line may end with a bare LF. */
  acceptsBareLf: boolean;
}

/** What a command leads to. Events that are to be answered have no reply yet. */
export interface Outcome {
  reply?: Reply;
  /** A reply of more than one line, each with its CRLF. */
  lines?: string;
  event?: ProtocolEvent;
  /** True where the session cannot go on. */
  closes?: boolean;
}

interface Transaction {
  smtputf8: boolean;
  /** How many were accepted. */
  recipients: number;
}

/** Commands of SMTP and its extensions that are not offered: 502, and not 500 (RFC 5321 section 4.2.4). */
const NOT_OFFERED = new Set(['BDAT', 'BURL', 'ETRN', 'EXPN', 'SAML', 'SEND', 'SOML', 'TURN']);
const WITHOUT_ARGUMENT = new Set(['DATA', 'RSET', 'QUIT']);
const HTTP_VERB = /^(?:CONNECT|DELETE|GET|HEAD|OPTIONS|PATCH|POST|PRI|PUT|TRACE) /i;
const PROXY_LINE = /^PROXY /i;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\x00-\x1f\x7f]/;

const say = (reply: Reply): Outcome => ({ reply });

/** What the command lines of one session mean (RFC 5321 section 4.1), and in which order they may come. */
export class Interpreter {
  readonly #options: InterpreterOptions;
  #tls: boolean;
  #isFirst = true;
  #commandsSinceMail = 0;
  /** Lower case; undefined before HELO or EHLO. */
  #helo: string | undefined;
  #authenticated = false;
  #exchange: AuthExchange | undefined;
  #transaction: Transaction | undefined;

  constructor(options: InterpreterOptions) {
    this.#options = options;
    this.#tls = options.tls;
  }

  get helo(): string | undefined {
    return this.#helo;
  }

  /** True while the next line is no command but the client's answer to a challenge of AUTH. */
  get awaitsAuthLine(): boolean {
    return this.#exchange !== undefined;
  }

  /** A line came that was too long to be read. */
  abandonAuth(): void {
    this.#exchange = undefined;
  }

  recipientAccepted(): void {
    if (this.#transaction) this.#transaction.recipients++;
  }

  /** The message is over; one that was accepted lets the client spend commands on the next one. */
  mailEnded(accepted: boolean): void {
    this.#transaction = undefined;
    if (accepted) this.#commandsSinceMail = 0;
  }

  authenticated(): void {
    this.#authenticated = true;
  }

  /** The TLS handshake is done: nothing is known of the client any more (RFC 3207 section 4.2). */
  secured(): void {
    this.#tls = true;
    this.#helo = undefined;
    this.#authenticated = false;
    this.#transaction = undefined;
  }

  /**
   * @param bytes a line without its line end
   * @param crlf whether that was CRLF
   */
  interpret(bytes: Buffer, crlf: boolean): Outcome {
    const line = bytes.toString();
    if (this.#exchange) {
      const step = continueAuth(this.#exchange, line);
      this.#exchange = undefined;
      return this.#follow(step);
    }
    const isFirst = this.#isFirst;
    this.#isFirst = false;
    if (isFirst && HTTP_VERB.test(line)) return { reply: REPLIES.notSmtp, closes: true };
    if (isFirst && PROXY_LINE.test(line)) return { reply: REPLIES.untrustedProxy, closes: true };
    // A RCPT past the limit costs next to nothing and has its own reply, however many there are.
    if (!this.#isFull) this.#commandsSinceMail++;
    if (this.#commandsSinceMail > this.#options.limits.maxCommandsPerMail) {
      return say(REPLIES.tooManyCommands);
    }
    if (CONTROL.test(line)) return say(REPLIES.controlCharacter);
    if (!crlf && !this.#options.acceptsBareLf) return say(REPLIES.bareLineFeed);
    return this.#command(line.trimEnd());
  }

  get #isFull(): boolean {
    return (this.#transaction?.recipients ?? 0) >= this.#options.limits.maxRecipients;
  }

  get #offersAuth(): boolean {
    const { auth } = this.#options;
    return auth === 'always' || (auth === 'encrypted' && this.#tls);
  }

  #command(line: string): Outcome {
    const space = line.indexOf(' ');
    const verb = (space < 0 ? line : line.slice(0, space)).toUpperCase();
    if (space >= 0 && WITHOUT_ARGUMENT.has(verb)) return say(REPLIES.noArgument);
    switch (verb) {
      case 'EHLO':
      case 'HELO':
        return this.#hello(line, verb === 'EHLO');
      case 'MAIL':
        return this.#helo === undefined ? say(REPLIES.needHello) : this.#mail(line, this.#helo);
      case 'RCPT':
        return this.#helo === undefined ? say(REPLIES.needHello) : this.#rcpt(line);
      case 'DATA':
        return this.#helo === undefined ? say(REPLIES.needHello) : this.#data();
      case 'RSET':
        this.#transaction = undefined;
        return say(REPLIES.flushed);
      case 'AUTH':
        return this.#auth(line);
      case 'STARTTLS':
        return this.#startTls(space >= 0);
      default:
        return this.#other(verb, space >= 0);
    }
  }

  #other(verb: string, hasArgument: boolean): Outcome {
    switch (verb) {
      case 'NOOP':
        return say(REPLIES.ok);
      case 'QUIT':
        return { reply: REPLIES.goodbye, closes: true };
      case 'HELP':
        return say(REPLIES.help);
      case 'VRFY':
        return say(hasArgument ? REPLIES.cannotVerify : REPLIES.verifySyntax);
      default:
        return say(NOT_OFFERED.has(verb) ? REPLIES.notImplemented : REPLIES.unknownCommand);
    }
  }

  /** A greeting also ends a transaction (RFC 5321 section 4.1.4). */
  #hello(line: string, isExtended: boolean): Outcome {
    const [, hostname = '', ...more] = line.split(/ +/);
    if (more.length > 0 || !isHelloName(hostname)) return say(REPLIES.helloSyntax);
    this.#helo = hostname.toLowerCase();
    this.#transaction = undefined;
    const { name, peer, maxMessageBytes, startTls } = this.#options;
    const lines = [`${name} greets [${peer}]`];
    if (isExtended) {
      lines.push('PIPELINING', '8BITMIME', 'SMTPUTF8', 'ENHANCEDSTATUSCODES');
      if (this.#offersAuth && !this.#authenticated) lines.push(`AUTH ${MECHANISMS.join(' ')}`);
      if (startTls && !this.#tls) lines.push('STARTTLS');
      lines.push(`SIZE ${maxMessageBytes}`);
    }
    const last = lines.length - 1;
    return { lines: lines.map((text, i) => `250${i < last ? '-' : ' '}${text}\r\n`).join('') };
  }

  #mail(line: string, helo: string): Outcome {
    if (this.#transaction) return say(REPLIES.nestedMail);
    const allowsAuth = this.#authenticated || this.#offersAuth;
    const command = readMail(line, allowsAuth);
    if ('code' in command) return say(command);
    const { mailFrom, declaredBytes } = command;
    if (declaredBytes > this.#options.maxMessageBytes) {
      const reply = REPLIES.messageTooLarge;
      return { reply, event: { type: 'rejected', command: 'MAIL', reply, mailFrom, declaredBytes, helo } };
    }
    this.#transaction = { smtputf8: command.smtputf8, recipients: 0 };
    return { reply: REPLIES.senderOk, event: { type: 'mail', ...command, helo, tls: this.#tls } };
  }

  #rcpt(line: string): Outcome {
    const transaction = this.#transaction;
    if (!transaction) return say(REPLIES.needMail);
    const command = readRcpt(line, transaction.smtputf8);
    if ('code' in command) return rejectedRcpt(command);
    const { rcptTo } = command;
    if (this.#isFull) return rejectedRcpt(REPLIES.tooManyRecipients, rcptTo);
    return { event: { type: 'rcpt', rcptTo } };
  }

  #data(): Outcome {
    if (!this.#transaction) return say(REPLIES.needMail);
    return this.#transaction.recipients === 0 ? say(REPLIES.needRecipient) : { event: { type: 'data' } };
  }

  #startTls(hasArgument: boolean): Outcome {
    if (this.#tls && this.#options.startTls) return say(REPLIES.tlsActive);
    if (!this.#options.startTls) return say(REPLIES.notImplemented);
    return hasArgument ? say(REPLIES.noArgument) : { event: { type: 'starttls' } };
  }

  #auth(line: string): Outcome {
    if (this.#options.auth === 'off') return say(REPLIES.notImplemented);
    if (this.#helo === undefined) return say(REPLIES.needHello);
    if (!this.#offersAuth) return say(REPLIES.authNeedsTls);
    if (this.#authenticated) return say(REPLIES.alreadyAuthenticated);
    if (this.#transaction) return say(REPLIES.authInTransaction);
    return this.#follow(beginAuth(line));
  }

  #follow(step: AuthStep): Outcome {
    if ('rejected' in step) return say(step.rejected);
    if ('credentials' in step) return { event: { type: 'auth', credentials: step.credentials } };
    this.#exchange = step.exchange;
    return say(step.challenge);
  }
}

function rejectedRcpt(reply: Reply, rcptTo: string | null = null): Outcome {
  return { reply, event: { type: 'rejected', command: 'RCPT', reply, rcptTo } };
}
