import type { ProtocolLimits } from '../limits.ts';
import { type BareLineEndings, DataReader } from './data-reader.ts';
import { isRequest, type ProtocolEvent, type Request } from './events.ts';
import { Interpreter, type InterpreterOptions } from './interpreter.ts';
import { LineReader } from './line-reader.ts';
import { hasProxySignature } from './proxy-header.ts';
import { REPLIES, type Reply, replyLine } from './replies.ts';
import { MAX_AUTH_LINE_BYTES } from './sasl.ts';

export interface EngineOptions extends Omit<InterpreterOptions, 'acceptsBareLf'> {
  /** `normalise` also accepts command lines that end with a bare LF. */
  bareLineEndings: BareLineEndings;
  limits: ProtocolLimits;
}

/**
 * Bytes that may wait: two reads of a socket, of 64 KiB each at most, and an incomplete line. The caller stops
 * reading while the engine wants nothing.
 */
export const MAX_BACKLOG_BYTES = 256 * 1024;
/** Lines read before a `yield`, so that a large read full of commands does not delay other connections. */
const LINES_PER_TURN = 100;
const NOTHING = Buffer.alloc(0);

const isPositive = ({ code }: Reply): boolean => code < 300;

/**
 * The server's side of one SMTP session (RFC 5321) as a state machine without I/O. Bytes are pushed in; events
 * come out of {@link next}, replies out of {@link takeOutput}. After an event that is to be answered nothing more
 * is read until its answer has come, so replies keep the order of their commands. What comes out depends only on
 * the bytes that went in, not on how they were cut, with one exception: the signature of version 2 of the PROXY
 * protocol, from a peer that is not trusted with it, is recognised in one piece only.
 */
export class SmtpEngine {
  readonly #options: EngineOptions;
  readonly #interpreter: Interpreter;
  readonly #lines: LineReader;
  #input: Buffer = NOTHING;
  #at = 0;
  #hasBegun = false;
  /** Whether the last {@link next} came to the end of the input. */
  #isExhausted = true;
  #inputEnded = false;
  #output = '';
  /** What is waited for: an answer of the caller, or the end of a TLS handshake. */
  #awaited: Request['type'] | 'handshake' | undefined;
  /** `closing` until the event `close` is returned. */
  #state: 'open' | 'closing' | 'closed' = 'open';
  #leaveWith: Reply | undefined;
  #linesRead = 0;
  /** The count of lines at which the next `yield` is due. */
  #yieldAt = LINES_PER_TURN;
  #errors = 0;
  #authFailures = 0;
  #data: DataReader | undefined;
  #refusalTold = false;
  #messageBytes = 0;

  constructor(options: EngineOptions) {
    this.#options = options;
    const acceptsBareLf = options.bareLineEndings === 'normalise';
    this.#interpreter = new Interpreter({ ...options, acceptsBareLf });
    this.#lines = new LineReader(options.limits.maxSkippedLineBytes);
  }

  /** True when all input was read, but for an incomplete line, and more is wanted. */
  get wantsInput(): boolean {
    return this.#isExhausted && this.#awaited === undefined;
  }

  /** Bytes pushed and not yet read. */
  get backlog(): number {
    return this.#input.length - this.#at;
  }

  /** True while an answer of the caller, or the end of a handshake, is waited for. */
  get isWaiting(): boolean {
    return this.#awaited !== undefined;
  }

  /** True when the session is over. */
  get isClosed(): boolean {
    return this.#state !== 'open';
  }

  /** True while bytes of a message are expected. */
  get isReceiving(): boolean {
    return this.#data !== undefined && !this.#awaited;
  }

  /** Bytes of the present or last message that were read, as they came. */
  get messageBytes(): number {
    return this.#messageBytes;
  }

  /** Whole lines read, commands and answers to challenges. */
  get linesRead(): number {
    return this.#linesRead;
  }

  /** The name that the client has sent; undefined before it has. */
  get helo(): string | undefined {
    return this.#interpreter.helo;
  }

  /**
   * Adds bytes that the client sent. They belong to the engine now, which changes them.
   * @throws RangeError past {@link MAX_BACKLOG_BYTES}: the caller went on reading though nothing was wanted
   */
  push(bytes: Buffer): void {
    // Plaintext that follows STARTTLS is discarded (CVE-2011-0411).
    if (this.#state !== 'open' || this.#awaited === 'handshake') return;
    const { backlog } = this;
    if (backlog + bytes.length > MAX_BACKLOG_BYTES) throw new RangeError('The input was not paused');
    this.#input = backlog === 0 ? bytes : Buffer.concat([this.#input.subarray(this.#at), bytes]);
    this.#at = 0;
    this.#isExhausted = false;
    if (!this.#hasBegun && hasProxySignature(this.#input)) this.close(REPLIES.untrustedProxy);
    this.#hasBegun = true;
  }

  /** The client has closed its side: what it sent is read to its end, and then the session is over. */
  end(): void {
    this.#inputEnded = true;
  }

  /** Greets the client (RFC 5321 section 4.3.1). */
  greet(): void {
    this.#write(`220 ${this.#options.name} ESMTP\r\n`);
  }

  /** Replies that are to be written now. */
  takeOutput(): string {
    const output = this.#output;
    this.#output = '';
    return output;
  }

  /** The next event; undefined when the engine waits for input or for an answer. */
  next(): ProtocolEvent | undefined {
    while (this.#state === 'open' && !this.#awaited) {
      if (this.#linesRead >= this.#yieldAt && this.backlog > 0) {
        this.#yieldAt = this.#linesRead + LINES_PER_TURN;
        return { type: 'yield' };
      }
      const event = this.#data ? this.#readData(this.#data) : this.#readLine();
      if (event === 'incomplete') {
        this.#isExhausted = true;
        if (!this.#inputEnded) return undefined;
        this.#close();
      } else if (event) return event;
    }
    if (this.#state !== 'closing') return undefined;
    this.#state = 'closed';
    return { type: 'close' };
  }

  /** Answers the last request. Without effect when the session has ended meanwhile. */
  answer(reply: Reply): void {
    const awaited = this.#awaited;
    if (!awaited || awaited === 'handshake') return;
    this.#awaited = undefined;
    if (awaited === 'end-of-data') {
      this.#endData(reply);
      return;
    }
    if (awaited === 'rcpt' && isPositive(reply)) this.#interpreter.recipientAccepted();
    this.#reply(reply);
    if (awaited === 'auth') this.#endAuth(reply);
  }

  /**
   * Answers the last request as a fault rule says: the reply is no error of the client, so it is not counted.
   * @param reply null for none
   * @param disconnects whether the session ends then; it does after a 421
   */
  fail(reply: Reply | null, disconnects: boolean): void {
    const awaited = this.#awaited;
    if (!awaited || awaited === 'handshake') return;
    this.#awaited = undefined;
    if (awaited === 'end-of-data') {
      this.#data = undefined;
      this.#interpreter.mailEnded(false);
    }
    if (reply) this.#write(`${replyLine(reply)}\r\n`);
    if (disconnects || reply?.code === 421) this.#close();
    if (this.#leaveWith) this.close(this.#leaveWith);
  }

  /** Answers `data`: the message may come. @param maxBytes the size it may have */
  acceptData(maxBytes: number): void {
    if (this.#awaited !== 'data') return;
    this.#awaited = undefined;
    const { limits, bareLineEndings } = this.#options;
    const { maxDrainedBytes } = limits;
    this.#data = new DataReader({ maxBytes, maxDrainedBytes }, bareLineEndings, this.#lines.crlf);
    this.#refusalTold = false;
    this.#messageBytes = 0;
    this.#reply(REPLIES.startData);
  }

  /** Answers `starttls`: after the 220 nothing is read or written until {@link secured}. */
  acceptTls(): void {
    if (this.#awaited !== 'starttls') return;
    this.#reply(REPLIES.readyForTls);
    this.#discardInput();
    this.#awaited = 'handshake';
  }

  /** The TLS handshake is done: the session begins anew. */
  secured(): void {
    if (this.#awaited !== 'handshake') return;
    this.#awaited = undefined;
    this.#interpreter.secured();
  }

  /** Ends the session with a reply, whatever is going on. */
  close(reply: Reply): void {
    this.#reply(reply);
    this.#close();
  }

  /** Ends the session with a reply: after the message that is coming in or being stored, or else now. */
  leave(reply: Reply): void {
    if (this.#data) this.#leaveWith = reply;
    else this.close(reply);
  }

  #readLine(): ProtocolEvent | 'incomplete' | undefined {
    const lines = this.#lines;
    const isAuth = this.#beginsAuthLine();
    const maxBytes = isAuth ? MAX_AUTH_LINE_BYTES : this.#options.limits.maxCommandBytes;
    const result = lines.read(this.#input, this.#at, maxBytes);
    this.#at = lines.end;
    switch (result) {
      case 'line':
        this.#linesRead++;
        return this.#interpret();
      case 'too-long':
        this.#linesRead++;
        this.#reply(isAuth ? REPLIES.authLineTooLong : REPLIES.lineTooLong);
        this.#interpreter.abandonAuth();
        return undefined;
      case 'endless':
        this.close(REPLIES.endlessLine);
        return undefined;
      case 'incomplete':
        // Copied, so that an incomplete line does not keep a whole read in memory.
        if (this.#at > 0) this.#input = Buffer.from(this.#input.subarray(this.#at));
        this.#at = 0;
        return 'incomplete';
      default:
        return undefined;
    }
  }

  /** An AUTH command, or the client's answer to a challenge: they may be longer than others. */
  #beginsAuthLine(): boolean {
    if (this.#interpreter.awaitsAuthLine) return true;
    return /^auth /i.test(this.#input.toString('latin1', this.#at, this.#at + 5));
  }

  #interpret(): ProtocolEvent | undefined {
    const { reply, lines, event, closes } = this.#interpreter.interpret(this.#lines.line, this.#lines.crlf);
    if (lines !== undefined) this.#write(lines);
    if (reply) this.#reply(reply);
    if (closes) this.#close();
    if (event && isRequest(event)) this.#awaited = event.type;
    return event;
  }

  #readData(data: DataReader): ProtocolEvent | 'incomplete' | undefined {
    if (data.refusal && !this.#refusalTold) {
      this.#refusalTold = true;
      return { type: 'data-refused' };
    }
    if (data.ended || data.outOfStep) {
      this.#awaited = 'end-of-data';
      return { type: 'end-of-data', refusal: data.refusal ?? null };
    }
    if (this.backlog === 0) return 'incomplete';
    this.#at = data.read(this.#input, this.#at);
    this.#messageBytes = data.bytesRead;
    if (this.backlog === 0) this.#discardInput();
    return data.output && { type: 'bytes', bytes: data.output };
  }

  #endAuth(reply: Reply): void {
    if (isPositive(reply)) this.#interpreter.authenticated();
    if (reply.code < 500) return;
    this.#authFailures++;
    if (this.#authFailures >= this.#options.limits.maxAuthFailures) this.#reply(REPLIES.tooManyFailedAuths);
  }

  #endData(reply: Reply): void {
    const outOfStep = this.#data?.outOfStep === true;
    this.#data = undefined;
    this.#interpreter.mailEnded(isPositive(reply));
    if (isPositive(reply)) this.#errors = 0;
    this.#reply(reply);
    if (outOfStep) this.#close();
    if (this.#leaveWith) this.close(this.#leaveWith);
  }

  /** A 421 ends the session, and so does one error too many. */
  #reply(reply: Reply): void {
    this.#write(`${replyLine(reply)}\r\n`);
    if (reply.code === 421) this.#close();
    if (reply.code < 500) return;
    this.#errors++;
    if (this.#errors >= this.#options.limits.maxErrors) this.#reply(REPLIES.tooManyErrors);
  }

  /** Nothing is written in a handshake, nor after the last reply. */
  #write(text: string): void {
    if (this.#state === 'open' && this.#awaited !== 'handshake') this.#output += text;
  }

  #close(): void {
    if (this.#state === 'open') this.#state = 'closing';
    this.#awaited = undefined;
    this.#data = undefined;
    this.#discardInput();
  }

  #discardInput(): void {
    this.#input = NOTHING;
    this.#at = 0;
  }
}
