import type { SmtpLimits } from '../limits.ts';
import { REPLIES, type Reply, replyLine } from '../replies.ts';
import { type BareLineEndings, DataReader } from './data-reader.ts';
import { isRequest, type ProtocolEvent, type Request } from './events.ts';
import { Interpreter, type InterpreterOptions } from './interpreter.ts';
import { LineReader } from './line-reader.ts';
import { hasProxySignature } from './proxy-header.ts';
import { PROTOCOL_REPLIES } from './replies.ts';
import { MAX_AUTH_LINE_BYTES } from './sasl.ts';

export interface EngineOptions extends Omit<InterpreterOptions, 'acceptsBareLf'> {
  /** `normalise` also accepts command lines that end with a bare LF. */
  bareLineEndings: BareLineEndings;
  limits: Pick<
    SmtpLimits,
    | 'maxRecipients'
    | 'maxErrors'
    | 'maxAuthFailures'
    | 'maxCommandsPerMail'
    | 'maxCommandBytes'
    | 'maxSkippedLineBytes'
    | 'maxDrainedBytes'
  >;
}

/**
 * Bytes that may wait to be read: two reads of a socket, of 64 KiB each at most, and an incomplete line. The
 * caller stops reading from its socket while {@link SmtpEngine.backlog} is not 0.
 */
export const MAX_BACKLOG_BYTES = 256 * 1024;
/** Lines read before a `yield`, so that a piece full of commands does not hold up other connections. */
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
  #inputEnded = false;
  #output = '';
  /** What is waited for: an answer of the caller, or the end of a TLS handshake. */
  #awaited: Request['type'] | 'handshake' | undefined;
  /** `closing` until the event `close` was told. */
  #state: 'open' | 'closing' | 'closed' = 'open';
  #leaveWith: Reply | undefined;
  #linesThisTurn = 0;
  #errors = 0;
  #authFailures = 0;
  #data: DataReader | undefined;
  #refusalTold = false;

  constructor(options: EngineOptions) {
    this.#options = options;
    const acceptsBareLf = options.bareLineEndings === 'normalise';
    this.#interpreter = new Interpreter({ ...options, acceptsBareLf });
    this.#lines = new LineReader(options.limits.maxSkippedLineBytes);
  }

  /** Bytes pushed and not yet read. */
  get backlog(): number {
    return this.#input.length - this.#at;
  }

  /** True while an answer of the caller, or the end of a handshake, is waited for. */
  get isWaiting(): boolean {
    return this.#awaited !== undefined;
  }

  /** Bytes read since DATA, as they came; null while no message is coming in. */
  get dataBytes(): number | null {
    return this.#data && !this.#awaited ? this.#data.bytesRead : null;
  }

  /**
   * Adds bytes that the client sent. They belong to the engine now, which changes them.
   * @throws RangeError past {@link MAX_BACKLOG_BYTES}: the caller went on reading in spite of the backlog
   */
  push(bytes: Buffer): void {
    // Plaintext behind STARTTLS is neither read nor kept (CVE-2011-0411).
    if (this.#state !== 'open' || this.#awaited === 'handshake') return;
    const { backlog } = this;
    if (backlog + bytes.length > MAX_BACKLOG_BYTES) throw new RangeError('The input was not paused');
    this.#input = backlog === 0 ? bytes : Buffer.concat([this.#input.subarray(this.#at), bytes]);
    this.#at = 0;
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

  /** What the caller has to know or to do next; undefined when only more input or an answer leads on. */
  next(): ProtocolEvent | undefined {
    while (this.#state === 'open' && !this.#awaited) {
      if (this.#linesThisTurn >= LINES_PER_TURN) {
        this.#linesThisTurn = 0;
        return { type: 'yield' };
      }
      const event = this.#data ? this.#readData(this.#data) : this.#readLine();
      if (event === 'incomplete') {
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

  /** Answers `data`: the message may come. @param maxBytes the size it may have */
  acceptData(maxBytes: number): void {
    if (this.#awaited !== 'data') return;
    this.#awaited = undefined;
    const { limits, bareLineEndings } = this.#options;
    const { maxDrainedBytes } = limits;
    this.#data = new DataReader({ maxBytes, maxDrainedBytes }, bareLineEndings, this.#lines.crlf);
    this.#refusalTold = false;
    this.#reply(PROTOCOL_REPLIES.startData);
  }

  /** Answers `starttls`: after the 220 nothing is read or written until {@link secured}. */
  acceptTls(): void {
    if (this.#awaited !== 'starttls') return;
    this.#reply(PROTOCOL_REPLIES.readyForTls);
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
    const result = lines.read(this.#input, this.#at, this.#maxLineBytes());
    this.#at = lines.end;
    switch (result) {
      case 'line':
        this.#linesThisTurn++;
        return this.#interpret();
      case 'too-long':
        this.#linesThisTurn++;
        this.#reply(this.#interpreter.awaitsAuthLine ? REPLIES.authLineTooLong : REPLIES.lineTooLong);
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

  #maxLineBytes(): number {
    const isAuth =
      this.#interpreter.awaitsAuthLine ||
      /^auth /i.test(this.#input.toString('latin1', this.#at, this.#at + 5));
    return isAuth ? MAX_AUTH_LINE_BYTES : this.#options.limits.maxCommandBytes;
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
