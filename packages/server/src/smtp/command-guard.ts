import type { SmtpLimits } from './limits.ts';
import { REPLIES, type Reply } from './replies.ts';

/** Commands of SMTP and its extensions: 502 where they are not offered, and not 500 (RFC 5321 section 4.2.4). */
const KNOWN_COMMANDS = new Set([
  'AUTH',
  'BDAT',
  'BURL',
  'ETRN',
  'EXPN',
  'SAML',
  'SEND',
  'SOML',
  'STARTTLS',
  'TURN',
]);
const WITHOUT_ARGUMENT = new Set(['DATA', 'RSET', 'QUIT']);
const HTTP_VERB = /^(?:CONNECT|DELETE|GET|HEAD|OPTIONS|PATCH|POST|PRI|PUT|TRACE) /i;
const PROXY_LINE = /^PROXY /i;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\x00-\x1f\x7f]/;
/** Replies of another class than 421 after which nothing the client says can make sense. */
const LAST_WORDS = new Set<Reply>([REPLIES.notSmtp, REPLIES.untrustedProxy]);

/** True for a reply, no 421, after which the connection is to be closed. */
export const isLastWord = (reply: Reply): boolean => LAST_WORDS.has(reply);

/** Judges the command lines of one connection before any of them means something. */
export class CommandGuard {
  readonly #limits: Pick<SmtpLimits, 'maxCommandBytes' | 'maxCommandsPerMail'>;
  readonly #isSupported: (verb: string) => boolean;
  #isFirst = true;
  #commandsSinceMail = 0;

  /** @param isSupported tells whether there is a command of that name, upper case */
  constructor(
    limits: Pick<SmtpLimits, 'maxCommandBytes' | 'maxCommandsPerMail'>,
    isSupported: (verb: string) => boolean,
  ) {
    this.#limits = limits;
    this.#isSupported = isSupported;
  }

  /** A mail was taken: the commands that may be spent on the next one count anew. */
  mailTaken(): void {
    this.#commandsSinceMail = 0;
  }

  /**
   * The reply that refuses a command, or undefined for one to carry out.
   * @param command the line, less its line end
   * @param isFull whether the mail has all the recipients it may have
   */
  refusal(command: Buffer, isFull: boolean): Reply | undefined {
    const line = command.toString();
    const isFirst = this.#isFirst;
    this.#isFirst = false;
    if (isFirst && HTTP_VERB.test(line)) return REPLIES.notSmtp;
    if (isFirst && PROXY_LINE.test(line)) return REPLIES.untrustedProxy;
    // A RCPT past the limit costs next to nothing and has its own reply, however many there are.
    if (!isFull) this.#commandsSinceMail++;
    if (this.#commandsSinceMail > this.#limits.maxCommandsPerMail) return REPLIES.tooManyCommands;
    return this.#problemOf(command, line);
  }

  #problemOf(command: Buffer, line: string): Reply | undefined {
    const verb = line.split(' ', 1)[0]?.toUpperCase() ?? '';
    // An AUTH line that is too long has a reply of its own.
    const { maxCommandBytes } = this.#limits;
    if (verb !== 'AUTH' && command.length > maxCommandBytes) return REPLIES.lineTooLong;
    if (CONTROL.test(line)) return REPLIES.controlCharacter;
    if (!this.#isSupported(verb)) {
      return KNOWN_COMMANDS.has(verb) ? REPLIES.notImplemented : REPLIES.unknownCommand;
    }
    if (WITHOUT_ARGUMENT.has(verb) && line.trim().length > verb.length) return REPLIES.noArgument;
    return undefined;
  }
}
