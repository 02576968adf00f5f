import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Config } from '../config/config.ts';
import { isLoopback } from '../connection-limiter.ts';
import { type ByteBudget, IncomingMail } from '../inbound/incoming-mail.ts';
import type { Recipient } from '../inbound/receiver.ts';
import type { FindCaptureTarget, SmtpCredentials } from '../inbound/smtp-credentials.ts';
import type { MailEnvelope } from '../mail/mail.ts';
import { freeRead } from '../memory.ts';
import type { FaultPoint } from '../refusals/sql.ts';
import { DataReader, hasProxySignature, LineReader, type LineResult } from './input.ts';
import type { SmtpLimits } from './limits.ts';
import {
  isHelloName,
  MECHANISMS,
  type Outcome,
  REPLIES,
  type Reply,
  readCredentials,
  readMail,
  readRcpt,
  replyForError,
  replyLine,
} from './protocol.ts';
import { type ReportsContext, SessionReports, SessionTrail } from './reports.ts';

export interface SessionContext extends ReportsContext {
  config: Config;
  hostname: string;
  findCaptureTarget: FindCaptureTarget;
  budget: ByteBudget;
  limits: SmtpLimits;
}

export interface Transport {
  readonly id: string;
  readonly remoteAddress: string;
  readonly source: string;
  /** Epoch milliseconds. */
  readonly connectedAt: number;
  /** Resolves with the next bytes, or undefined at the end of input. The session may free the memory of the bytes. */
  read(): Promise<Buffer | undefined>;
  /** @returns undefined, or at backpressure a promise that resolves when more can be written */
  write(text: string): Promise<void> | undefined;
  /** Writes the last replies and closes the connection. `isDone`: the client sends no more. A read gets undefined. */
  end(text: string, isDone: boolean): void;
  /** Starts TLS and discards unread input. Resolves with protocol and cipher; never resolves if TLS fails. */
  encrypt(helo: string): Promise<string>;
  setDelayed(isDelayed: boolean): void;
}

/** The reply to a command; undefined if the command has already replied. */
type Given = Reply | Outcome | undefined;

interface Transaction {
  envelope: MailEnvelope;
  declaredBytes: number;
  smtputf8: boolean;
  recipients: Recipient[];
  /** Number of accepted postmaster recipients. Their mail is logged, not stored. */
  postmasters: number;
  /** Whether a fault rule rejected a command. This stored a refusal, so a disconnect stores no other. */
  metFault: boolean;
}

interface Message extends Transaction {
  begunAt: number;
  reader: DataReader;
  mail: IncomingMail;
}

const last = (reply: Reply): Outcome => ({ reply, disconnects: true });
/** Commands with a constant reply. Known commands that are not offered get 502 (RFC 5321 section 4.2.4). */
const REPLY_TO = new Map<string, Reply | Outcome>([
  ['NOOP', REPLIES.ok],
  ['HELP', REPLIES.help],
  ['QUIT', last(REPLIES.goodbye)],
  ...['BDAT', 'BURL', 'ETRN', 'EXPN', 'SAML', 'SEND', 'SOML', 'TURN'].map(
    (verb) => [verb, REPLIES.notImplemented] as const,
  ),
]);
const WITHOUT_ARGUMENT = new Set(['DATA', 'RSET', 'QUIT']);
const HTTP_VERB = /^(?:CONNECT|DELETE|GET|HEAD|OPTIONS|PATCH|POST|PRI|PUT|TRACE) /i;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern must find control characters
const CONTROL = /[\x00-\x1f\x7f]/;
const NOTHING = Buffer.alloc(0);

const hasFaults = ({ faultsOf }: Recipient): boolean => faultsOf !== undefined;

/**
 * One SMTP session (RFC 5321). Replies to commands that arrive in one read are written together. No reply
 * depends on the boundaries of reads, except that a PROXY signature (version 2) must arrive in one read.
 */
export class Session {
  /** Whether the client waits for the server: for a reply, or for memory for its message. */
  isWaiting = false;
  /** When the last complete command arrived or got its reply, monotonic milliseconds. */
  commandAt: number;
  reader: DataReader | undefined;
  readonly #context: SessionContext;
  readonly #transport: Transport;
  readonly #offersStartTls: boolean;
  readonly #lines: LineReader;
  readonly #trail: SessionTrail;
  readonly #reports: SessionReports;
  /** Received bytes. Those before `#at` are processed. */
  #input: Buffer = NOTHING;
  #at = 0;
  #output = '';
  #isOver = false;
  #isLeaving = false;
  #linesRead = 0;
  #commandsSinceMail = 0;
  #errors = 0;
  #authFailures = 0;
  #isEncrypted = false;
  #helo: string | undefined;
  #isAuthenticated = false;
  #transaction: Transaction | undefined;
  /** True from the 354 reply to DATA until the reply to the message. */
  #isInMessage = false;
  #mail: IncomingMail | undefined;
  #delay: AbortController | undefined;
  /** Whether the client sent RCPT or a refusal was stored. If neither, a disconnect is reported as early. */
  #hasTrace = false;

  constructor(context: SessionContext, transport: Transport, startTls: boolean) {
    const { clock, limits } = context;
    this.#context = context;
    this.#transport = transport;
    this.#offersStartTls = startTls;
    this.commandAt = clock.monotonic();
    this.#lines = new LineReader(limits);
    this.#trail = new SessionTrail(clock, transport.connectedAt);
    this.#reports = new SessionReports(transport, context);
  }

  /** Runs the session; never rejects. @param cipher of a connection that is already encrypted, else null */
  async run(cipher: string | null): Promise<void> {
    try {
      if (cipher) this.#encrypted(cipher);
      this.#write(`220 ${this.#context.hostname} ESMTP`);
      while (!this.#isOver) {
        const line = await this.#readLine(false);
        const answer = line && this.#command(line.toString());
        const given = answer instanceof Promise ? await answer : answer;
        if (given) this.#give(given);
      }
    } catch (error) {
      this.close(this.#replyFor(error));
    }
  }

  close(reply?: Reply, isDone = false): void {
    if (this.#isOver) return;
    if (reply) this.#write(replyLine(reply));
    this.ended();
    this.#transport.end(this.#output, isDone && this.#at >= this.#input.length);
  }

  /** Ends the session, after the current message if there is one. Ends delays by fault rules at once. */
  leave(): void {
    this.#isLeaving = true;
    this.#delay?.abort();
    if (!this.#isInMessage) this.close(REPLIES.shuttingDown);
  }

  ended(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#delay?.abort();
    this.#mail?.release();
    if (this.#isInMessage) return;
    const transaction = this.#transaction;
    const { visits, clock } = this.#context;
    const { remoteAddress } = this.#transport;
    if (transaction && !transaction.metFault && transaction.recipients.length > 0)
      this.#reports.missed(transaction);
    else if (this.#helo !== undefined && !this.#hasTrace)
      visits.leftEarly({ at: clock.now(), remoteAddress, helo: this.#helo });
  }

  /** @param isAnswer to an AUTH challenge @returns undefined if the line is too long or the session ended */
  async #readLine(isAnswer: boolean): Promise<Buffer | undefined> {
    let found = this.#nextLine(isAnswer);
    while (found === 'incomplete' && !this.#isOver) {
      await this.#fill();
      found = this.#nextLine(isAnswer);
    }
    if (found === 'endless') this.close(REPLIES.endlessLine);
    if (this.#isOver) return undefined;
    this.#linesRead++;
    this.commandAt = this.#context.clock.monotonic();
    // Yield to the event loop, so that many commands in one read do not delay other connections.
    if (this.#linesRead % 100 === 0 && this.#at < this.#input.length) {
      await this.#flush();
      await nextTurn();
    }
    if (found === 'line') return this.#isOver ? undefined : this.#lines.line;
    this.#reply(this.#lines.isAuth ? REPLIES.authLineTooLong : REPLIES.lineTooLong);
    return undefined;
  }

  #nextLine(isAnswer: boolean): LineResult {
    const found = this.#lines.read(this.#input, this.#at, isAnswer);
    this.#at = this.#lines.end;
    return found;
  }

  async #fill(): Promise<void> {
    // Copy an incomplete line: a view would keep the whole read in memory.
    const isIncomplete = this.#at < this.#input.length;
    if (this.#at > 0) this.#input = isIncomplete ? Buffer.from(this.#input.subarray(this.#at)) : NOTHING;
    this.#at = 0;
    const congested = this.#flush();
    if (congested) await congested;
    const bytes = await this.#transport.read();
    if (!bytes) return this.close();
    this.#input = isIncomplete ? Buffer.concat([this.#input, bytes]) : bytes;
    if (this.#linesRead === 0 && hasProxySignature(this.#input)) this.close(REPLIES.untrustedProxy);
  }

  #flush(): Promise<void> | undefined {
    const text = this.#output;
    if (text === '' || this.#isOver) return undefined;
    this.#output = '';
    return this.#transport.write(text);
  }

  #write(line: string): void {
    if (!this.#isOver) this.#output += `${line}\r\n`;
  }

  #reply(reply: Reply): void {
    this.#write(replyLine(reply));
    if (reply.code === 421) this.close();
    if (reply.code < 500) return;
    this.#errors++;
    if (this.#errors >= this.#context.limits.maxErrors) this.close(REPLIES.tooManyErrors);
  }

  #give(given: Reply | Outcome): void {
    if ('code' in given) this.#reply(given);
    else {
      if (given.reply) this.#write(replyLine(given.reply));
      if (given.disconnects || given.reply?.code === 421)
        this.close(undefined, given.reply === REPLIES.goodbye);
    }
  }

  async #wait<T>(answer: Promise<T>): Promise<T> {
    this.isWaiting = true;
    // Flush later: most promises resolve before setImmediate runs, and then several replies share one write.
    if (this.#output !== '') setImmediate(() => void this.#flush());
    try {
      return await answer;
    } finally {
      this.isWaiting = false;
      this.commandAt = this.#context.clock.monotonic();
    }
  }

  #command(line: string): Given | Promise<Given> {
    const { config, limits } = this.#context;
    const isFirst = this.#linesRead === 1;
    if (isFirst && HTTP_VERB.test(line)) return last(REPLIES.notSmtp);
    if (isFirst && /^PROXY /i.test(line)) return last(REPLIES.untrustedProxy);
    // When the recipient limit is reached, commands do not count: each further RCPT only gets the reply 452.
    if (!this.#isFull) this.#commandsSinceMail++;
    if (this.#commandsSinceMail > limits.maxCommandsPerMail) return REPLIES.tooManyCommands;
    if (CONTROL.test(line)) return REPLIES.controlCharacter;
    if (!this.#lines.crlf && config.smtpBareLineEndings === 'refuse') return REPLIES.bareLineFeed;
    return this.#answer(line.trimEnd());
  }

  #answer(line: string): Given | Promise<Given> {
    const space = line.indexOf(' ');
    const verb = (space < 0 ? line : line.slice(0, space)).toUpperCase();
    if (space >= 0 && WITHOUT_ARGUMENT.has(verb)) return REPLIES.noArgument;
    switch (verb) {
      case 'EHLO':
      case 'HELO':
        return this.#hello(line, verb === 'EHLO');
      case 'MAIL':
        return this.#mailFrom(line);
      case 'RCPT':
        return this.#rcptTo(line);
      case 'DATA':
        return this.#data();
      case 'RSET':
        this.#transaction = undefined;
        return REPLIES.flushed;
      case 'AUTH':
        return this.#auth(line);
      case 'STARTTLS':
        return this.#startTls(space >= 0);
      case 'VRFY':
        return space >= 0 ? REPLIES.cannotVerify : REPLIES.verifySyntax;
      default:
        return REPLY_TO.get(verb) ?? REPLIES.unknownCommand;
    }
  }

  /** HELO and EHLO also end a transaction (RFC 5321 section 4.1.4). */
  #hello(line: string, isExtended: boolean): Given {
    const [, hostname = '', ...more] = line.split(/ +/);
    if (more.length > 0 || !isHelloName(hostname)) return REPLIES.helloSyntax;
    this.#helo = hostname.toLowerCase();
    this.#transaction = undefined;
    const { hostname: ownName, maxMessageBytes } = this.#context;
    const text = `${ownName} greets [${this.#transport.remoteAddress}]`;
    if (!isExtended) return { code: 250, enhanced: '', text };
    const lines = [text, 'PIPELINING', '8BITMIME', 'SMTPUTF8', 'ENHANCEDSTATUSCODES'];
    if (this.#offersAuth && !this.#isAuthenticated) lines.push(`AUTH ${MECHANISMS}`);
    if (this.#offersStartTls && !this.#isEncrypted) lines.push('STARTTLS');
    for (const one of lines) this.#write(`250-${one}`);
    return { code: 250, enhanced: '', text: `SIZE ${maxMessageBytes}` };
  }

  /** Without TLS, AUTH is offered only on loopback or if configured, to protect the password. */
  get #offersAuth(): boolean {
    const { smtpAuth, smtpAuthPlaintext } = this.#context.config;
    if (smtpAuth === 'off') return false;
    return this.#isEncrypted || smtpAuthPlaintext === 'on' || isLoopback(this.#transport.remoteAddress);
  }

  #mailFrom(line: string): Reply {
    if (this.#helo === undefined) return REPLIES.needHello;
    if (this.#transaction) return REPLIES.nestedMail;
    const command = readMail(line, this.#isAuthenticated || this.#offersAuth);
    if ('code' in command) return command;
    const { mailFrom, ...parameters } = command;
    const { remoteAddress } = this.#transport;
    const envelope = { mailFrom, helo: this.#helo, remoteAddress, tls: this.#isEncrypted };
    if (parameters.declaredBytes > this.#context.maxMessageBytes) {
      this.#hasTrace = true;
      return this.#reports.sender(envelope, parameters.declaredBytes);
    }
    this.#transaction = { envelope, ...parameters, recipients: [], postmasters: 0, metFault: false };
    this.#context.visits.lastAt = this.#context.clock.now();
    this.#trail.add('mail-from');
    return REPLIES.senderOk;
  }

  get #isFull(): boolean {
    const { recipients = [], postmasters = 0 } = this.#transaction ?? {};
    return recipients.length + postmasters >= this.#context.limits.maxRecipients;
  }

  #rcptTo(line: string): Given | Promise<Given> {
    if (this.#helo === undefined) return REPLIES.needHello;
    const transaction = this.#transaction;
    if (!transaction) return REPLIES.needMail;
    this.#hasTrace = true;
    const { envelope, smtputf8 } = transaction;
    const command = readRcpt(line, smtputf8);
    if ('code' in command) {
      this.#context.metrics.refusal(command.code);
      return command;
    }
    const { rcptTo } = command;
    if (this.#isFull) return this.#reports.recipient(envelope, rcptTo, REPLIES.tooManyRecipients);
    if (!this.#reports.target && this.#isPostmaster(rcptTo)) {
      transaction.postmasters++;
      return REPLIES.recipientOk;
    }
    return this.#wait(this.#accept(transaction, rcptTo));
  }

  async #accept(transaction: Transaction, rcptTo: string): Promise<Given> {
    const { declaredBytes, recipients } = transaction;
    try {
      const recipient = await this.#context.receiver.accept(rcptTo, declaredBytes, this.#reports.target);
      const fault = hasFaults(recipient) && (await this.#meet('rcpt', [recipient], transaction));
      if (fault) return fault;
      recipients.push(recipient);
      this.#trail.add('rcpt-to');
      return REPLIES.recipientOk;
    } catch (error) {
      return this.#reports.recipient(transaction.envelope, rcptTo, this.#replyFor(error));
    }
  }

  #isPostmaster(rcptTo: string): boolean {
    const { postmaster, domains } = this.#context.config;
    if (postmaster !== 'log') return false;
    const [local, domain] = rcptTo.toLowerCase().split('@');
    return local === 'postmaster' && (domain === undefined || domains.includes(domain));
  }

  async #data(): Promise<Given> {
    const transaction = this.#transaction;
    if (this.#helo === undefined) return REPLIES.needHello;
    if (!transaction) return REPLIES.needMail;
    const { recipients, postmasters } = transaction;
    if (recipients.length + postmasters === 0) return REPLIES.needRecipient;
    if (recipients.some(hasFaults)) {
      const met = this.#meet('data', recipients, transaction).catch((error) => this.#replyFor(error));
      const given = await this.#wait(met);
      if (given || this.#isOver) return given;
    }
    this.#isInMessage = true;
    await this.#takeMessage(transaction);
    this.#isInMessage = false;
    if (this.#isLeaving) this.close(REPLIES.shuttingDown);
    return undefined;
  }

  async #takeMessage(transaction: Transaction): Promise<void> {
    const { clock, config, limits, budget, maxMessageBytes } = this.#context;
    const { recipients, postmasters } = transaction;
    const largest = Math.max(...recipients.map((recipient) => recipient.maxMessageBytes));
    const maxBytes = postmasters > 0 ? maxMessageBytes : Math.min(largest, maxMessageBytes);
    const sizes = { maxBytes, maxDrainedBytes: limits.maxDrainedBytes };
    const reader = new DataReader(sizes, config.smtpBareLineEndings, this.#lines.crlf);
    const revoke = () => this.close(REPLIES.slowerThanOthersNeed);
    const mail = new IncomingMail({ budget, source: this.#transport.source, maxBytes, revoke });
    const message = { ...transaction, begunAt: clock.monotonic(), reader, mail };
    this.#trail.add('data');
    this.#reply(REPLIES.startData);
    await this.#receive(reader, mail);
    if (this.#isOver) {
      mail.release();
      this.#reports.message(message, reader.bytesRead, null);
      return;
    }
    const given = await this.#wait(this.#finish(message));
    this.#transaction = undefined;
    if ('code' in given && given.code < 300) {
      this.#commandsSinceMail = 0;
      this.#errors = 0;
    }
    this.#give(given);
    if (reader.outOfStep) this.close();
  }

  async #receive(reader: DataReader, mail: IncomingMail): Promise<void> {
    this.#mail = mail;
    this.reader = reader;
    while (!this.#isOver && !reader.ended && !reader.outOfStep) {
      if (this.#at === this.#input.length) {
        await this.#fill();
        continue;
      }
      this.#at = reader.read(this.#input, this.#at);
      if (reader.refusal) mail.release();
      const granted = reader.output && mail.append(reader.output);
      if (granted) await this.#wait(granted);
      if (this.#at === this.#input.length) this.#discardInput();
    }
    this.reader = undefined;
    // Next, the message is stored. From here, closing the connection must not release its bytes.
    this.#mail = undefined;
  }

  #discardInput(): void {
    freeRead(this.#input);
    this.#input = NOTHING;
    this.#at = 0;
  }

  async #finish(message: Message): Promise<Reply | Outcome> {
    const { recipients, reader, mail } = message;
    const bytes = reader.refusal ? reader.bytesRead : mail.length;
    let given: Given = reader.refusal;
    let delayMs = 0;
    let stored: string[] = [];
    try {
      if (!given && recipients.some(hasFaults))
        ({ given, delayMs } = await this.#findFault('end-of-data', recipients, message));
      if (!given) stored = await this.#store(message);
    } catch (error) {
      given = this.#replyFor(error);
    }
    // Release the memory before the delay, because other messages may wait for it.
    mail.release();
    this.#reports.message(message, bytes, given ?? REPLIES.stored);
    await this.#delayBy(delayMs);
    if (!given && !this.#isOver) this.#context.receiver.replied(stored);
    return given ?? REPLIES.stored;
  }

  async #store({ envelope, recipients, postmasters, mail }: Message): Promise<string[]> {
    const { receiver, log } = this.#context;
    const { id } = this.#transport;
    const received = mail.finish();
    if (postmasters > 0)
      log.info({ session: id, bytes: received.length, ...envelope }, 'A message to postmaster came');
    if (recipients.length === 0) return [];
    const trace = { id, protocol: 'SMTP' as const, authenticated: this.#isAuthenticated };
    const trail = this.#trail.endOfData(recipients);
    const stored = await receiver.deliver({ envelope, recipients, received, trace, trail });
    this.#trail.stored();
    return stored;
  }

  async #meet(at: FaultPoint, recipients: readonly Recipient[], transaction: Transaction): Promise<Given> {
    const { given, delayMs } = await this.#findFault(at, recipients, transaction);
    if (given) transaction.metFault = true;
    if (given?.reply) this.#context.metrics.refusal(given.reply.code);
    await this.#delayBy(delayMs);
    return given;
  }

  /** Applies the next fault rule of each inbox in order of RCPT, until a rule replies or disconnects. */
  async #findFault(at: FaultPoint, recipients: readonly Recipient[], { envelope }: Transaction) {
    const { receiver, log } = this.#context;
    const asked = new Set<string>();
    let delayMs = 0;
    for (const recipient of recipients.filter(hasFaults)) {
      const { inboxId } = recipient;
      const met = asked.has(inboxId) ? undefined : await receiver.meetFault(recipient, at, envelope);
      asked.add(inboxId);
      if (!met) continue;
      delayMs += met.delayMs;
      log.info({ session: this.#transport.id, inbox: inboxId, ...met }, 'A fault rule was applied');
      this.#trail.fault(met, inboxId);
      const { reply, disconnect: disconnects } = met;
      if (reply || disconnects)
        return { delayMs, given: { reply: reply && { ...reply, enhanced: '' }, disconnects } };
    }
    return { delayMs };
  }

  async #delayBy(ms: number): Promise<void> {
    if (ms === 0 || this.#isLeaving || this.#isOver) return;
    this.#delay = new AbortController();
    this.#transport.setDelayed(true);
    await this.#context.clock.sleep(ms, this.#delay.signal);
    this.#transport.setDelayed(false);
  }

  /** Unknown errors are defects. They get a temporary reply, so that the client may retry. */
  #replyFor(error: unknown): Reply {
    const reply = replyForError(error);
    if (!reply) this.#logDefect(error, 'An SMTP session failed unexpectedly');
    return reply ?? REPLIES.tryLater;
  }

  #logDefect(err: unknown, message: string): void {
    this.#context.log.error({ session: this.#transport.id, err }, message);
  }

  async #startTls(hasArgument: boolean): Promise<Given> {
    if (!this.#offersStartTls) return REPLIES.notImplemented;
    if (this.#isEncrypted) return REPLIES.tlsActive;
    if (hasArgument) return REPLIES.noArgument;
    this.#reply(REPLIES.readyForTls);
    this.#flush();
    // Discard plaintext that was pipelined after STARTTLS (CVE-2011-0411).
    this.#discardInput();
    const cipher = this.#transport.encrypt(this.#helo ?? '');
    // Without a HELO name, `ended` does not also report a failed handshake as an early disconnect.
    this.#helo = undefined;
    this.#encrypted(await cipher);
    return undefined;
  }

  /** Discards all state from before TLS (RFC 3207 section 4.2). */
  #encrypted(cipher: string): void {
    this.#isEncrypted = true;
    this.#helo = undefined;
    this.#isAuthenticated = false;
    this.#reports.target = null;
    this.#transaction = undefined;
    this.#trail.add('tls', cipher);
  }

  async #auth(line: string): Promise<Given> {
    const { config, limits } = this.#context;
    if (config.smtpAuth === 'off') return REPLIES.notImplemented;
    if (this.#helo === undefined) return REPLIES.needHello;
    if (!this.#offersAuth) return REPLIES.authNeedsTls;
    if (this.#isAuthenticated) return REPLIES.alreadyAuthenticated;
    if (this.#transaction) return REPLIES.authInTransaction;
    const found = await readCredentials(line, async (challenge) => {
      this.#reply(challenge);
      return (await this.#readLine(true))?.toString();
    });
    if (!found || 'code' in found) return found;
    const reply = await this.#wait(this.#authenticate(found));
    this.#reply(reply);
    if (reply.code >= 500) this.#authFailures++;
    return this.#authFailures >= limits.maxAuthFailures ? REPLIES.tooManyFailedAuths : undefined;
  }

  async #authenticate(credentials: SmtpCredentials): Promise<Reply> {
    const { findCaptureTarget, config } = this.#context;
    try {
      this.#reports.target = (await findCaptureTarget(credentials)) ?? null;
    } catch (error) {
      if (!replyForError(error)) this.#logDefect(error, 'SMTP authentication failed unexpectedly');
      return REPLIES.authUnavailable;
    }
    if (!this.#reports.target && config.smtpAuth === 'inbox') {
      this.#hasTrace = true;
      return this.#reports.refusedCredentials(credentials, REPLIES.badCredentials);
    }
    this.#isAuthenticated = true;
    this.#trail.add('authenticated', this.#reports.target ? 'inbox' : undefined);
    this.#reports.authenticated(credentials);
    return REPLIES.authenticated;
  }
}
