import { invalid, MayflyError, UnexpectedMessageError, WaitTimeoutError } from './errors.ts';
import { mailLines, repeats, seconds } from './explain.ts';
import type * as api from './generated/api.ts';
import { describeMatch, type Match } from './match.ts';
import { type LinkMatch, Message, MessageSummary } from './message.ts';
import { follow, type StreamOptions, toSince } from './stream.ts';
import { allowedTime, type TestTime } from './test-time.ts';
import {
  type ListOptions,
  type Milliseconds,
  type RequestOptions,
  splitOptions,
  type Transport,
} from './transport.ts';
import { waitForMessages } from './wait.ts';

export interface WaitOptions {
  /** Default: 30,000; less in test runners with shorter limits. */
  timeout?: Milliseconds | undefined;
  /**
   * Only messages after this position. `last` (default): after the last message that a wait of this object
   * returned, or from the beginning. `start`: from the beginning of the inbox. Or a cursor, a message id, or
   * a time of the server's clock.
   */
  since?: 'last' | 'start' | (string & {}) | Date | undefined;
  signal?: AbortSignal | undefined;
}

/** The conditions and options of a wait. */
export interface MessageWait extends Omit<Match, 'pattern'>, WaitOptions {}
export interface CodeWait extends Match, WaitOptions {}
/** `text` is the text of the link. */
export interface LinkWait extends LinkMatch, Omit<Match, 'text' | 'link' | 'pattern'>, WaitOptions {}
export interface Silence extends Omit<MessageWait, 'timeout'> {
  /** Milliseconds in which no message may match. Default: 2,000. */
  within?: Milliseconds | undefined;
}

/** `since` is `start` by default. */
export interface Exactly extends MessageWait {
  /** Milliseconds after the last message in which no further one may arrive. Default: 2,000. */
  within?: Milliseconds | undefined;
}

type Paging = 'since' | 'before' | 'limit' | 'wait';
type Filters = NonNullable<api.Operations['GET /v1/inboxes/{id}/messages']['query']>;
/** Filters of a list of messages. */
export interface MessageQuery extends Omit<Filters, Paging>, ListOptions {
  since?: string | Date | undefined;
}

const DEFAULT_SILENCE = 2_000;
/** The largest number of messages that a wait of the server returns. */
const MAX_COUNT = 50;
/** The known data of an inbox; sometimes only the id. */
export type InboxData = { [Field in keyof api.CreatedInbox]?: api.CreatedInbox[Field] | undefined } & {
  id: string;
};

/** Fields that the methods accept. */
const ALL = ['from', 'to', 'rcptTo', 'subject', 'text', 'hasAttachments', 'code', 'where', 'since', 'signal'];
const MESSAGE = [...ALL, 'link', 'timeout'];
const CODE = [...MESSAGE, 'pattern'];
const LINK = [...ALL, 'href', 'kind', 'timeout'];
const SILENCE = [...ALL, 'link', 'within'];
const EXACTLY = [...MESSAGE, 'within'];

const shown = (value: unknown) =>
  typeof value === 'number' || value instanceof RegExp
    ? String(value)
    : (JSON.stringify(value) ?? typeof value);

/** @throws MayflyError for an argument that is not an object of known conditions and options */
function assertWait(wait: unknown, others: unknown[], known: string[]): void {
  // Arrays, regular expressions and functions are objects too, but have no conditions.
  if (Object.prototype.toString.call(wait) !== '[object Object]')
    throw invalid(
      `The conditions of a wait must be an object such as { subject: 'confirm', timeout: 5000 } or { where: (message) => true }, not ${shown(wait)}.`,
    );
  if (others.length > 0)
    throw invalid(
      "Conditions and options of a wait are one object, such as { subject: 'confirm', timeout: 5000 }.",
    );
  const unknown = Object.keys(wait as object).find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw invalid(
      `"${unknown}" is not a condition or an option of this wait. There are: ${known.join(', ')}.`,
    );
}

/** console.log() of Node.js shows its result instead of the fields. */
const INSPECT: unique symbol = Symbol.for('nodejs.util.inspect.custom') as never;

/** An inbox. Each wait begins after the message that the last wait of this object returned. */
export class Inbox {
  readonly id: string;
  readonly consoleUrl: string;
  readonly #transport: Transport;
  readonly #token: string | undefined;
  readonly #test: TestTime | undefined;
  #data: Omit<InboxData, 'token'>;
  /** The newest message that a wait returned; ids sort by arrival. */
  #last: Message | undefined;

  /**
   * @param transport with a credential that may read the inbox
   * @param test the time limit of the current test, for test runners that disclose it
   */
  constructor(transport: Transport, { token, ...data }: InboxData, test?: TestTime) {
    this.#transport = transport;
    this.#token = token;
    this.#test = test;
    this.#data = data;
    this.id = data.id;
    this.consoleUrl = `${transport.url}/console/inboxes/${data.id}`;
  }

  /** The read token; undefined for an inbox that was fetched with an API key. */
  get token(): string | undefined {
    return this.#token;
  }

  /**
   * The metadata from the last response.
   * @throws MayflyError before the first {@link refresh} of `mayfly.inbox(id, token)`
   */
  get data(): api.Inbox {
    if (this.#data.address === undefined)
      throw new MayflyError('not_fetched', `Only the id of ${this.id} is known: call refresh() first.`);
    return this.#data as api.Inbox;
  }

  get address(): string {
    return this.data.address;
  }

  /**
   * The phone number that receives SMS: `+15125550123`.
   * @throws MayflyError for an inbox without one; `data.phoneNumber` is null there
   */
  get phoneNumber(): string {
    const { phoneNumber } = this.data;
    if (phoneNumber) return phoneNumber;
    throw invalid(`${this.name} has no telephone number: create the inbox with { sms: true }.`);
  }

  get expiresAt(): Date {
    return new Date(this.data.expiresAt);
  }

  /** The labels of the inbox; empty if they are unknown. */
  get labels(): Record<string, string> {
    return this.#data.labels ?? {};
  }

  /** For people: the address if it is known, else the id. */
  get name(): string {
    return this.#data.address ?? this.id;
  }

  toJSON(): object {
    return this.#data;
  }

  [INSPECT](): string {
    return `Inbox ${this.name} (${this.consoleUrl})`;
  }

  /** Fetches current metadata, such as `messageCount` and `cursor`. */
  refresh(options?: RequestOptions): Promise<api.Inbox> {
    return this.#update('GET', options);
  }

  /** Waits for the first message that matches, and returns it in full. @throws WaitTimeoutError */
  async waitForMessage(wait: MessageWait = {}, ...others: []): Promise<Message> {
    assertWait(wait, others, MESSAGE);
    return (await this.#wait(1, wait))[0] as Message;
  }

  /** Waits for `count` messages (1 to 50) and returns them oldest first. @throws WaitTimeoutError */
  async waitForMessages(count: number, wait: MessageWait = {}, ...others: []): Promise<Message[]> {
    assertWait(wait, others, MESSAGE);
    return this.#wait(count, wait);
  }

  /**
   * Waits for the first message that matches and has a one-time code, and returns the code. To get a link of
   * the same mail too, use `waitForMessage()`.
   * @param wait with `pattern` for custom formats: the first group of the expression is the code
   */
  async waitForCode(wait: CodeWait = {}, ...others: []): Promise<string> {
    assertWait(wait, others, CODE);
    const pattern = wait.pattern && new RegExp(wait.pattern);
    const [mail] = await this.#wait(1, pattern ? { ...wait, pattern } : { ...wait, code: true });
    return (mail as Message).code(pattern);
  }

  /**
   * Waits for the first message with a link that meets the conditions, and returns the target of the link
   * without following it.
   * @throws AmbiguousError when several different links of the message fit
   */
  async waitForLink(wait: LinkWait = {}, ...others: []): Promise<string> {
    assertWait(wait, others, LINK);
    const { href, text, kind, ...rest } = wait;
    const link = { href, text, kind } as LinkMatch;
    const [mail] = await this.#wait(1, { ...rest, link });
    return (mail as Message).link(link);
  }

  /**
   * Resolves when no message has matched within the time.
   * @throws UnexpectedMessageError immediately when one does
   */
  async expectSilence(silence: Silence = {}, ...others: []): Promise<void> {
    assertWait(silence, others, SILENCE);
    const { within = DEFAULT_SILENCE, ...wait } = silence;
    const mail = await this.#firstWithin(within, wait);
    if (!mail) return;
    throw new UnexpectedMessageError(
      `A mail${describeMatch(wait)} reached ${this.name} within ${seconds(within)}, and none was expected.\n${mailLines([mail])}`,
      mail,
    );
  }

  /**
   * Resolves when exactly `count` messages match, oldest first: waits for them, and then makes sure that no
   * further one arrives. Does not change where the next wait begins.
   * @param count 0 to 50
   * @throws WaitTimeoutError for fewer, UnexpectedMessageError for more
   */
  async expectExactly(count: number, exactly: Exactly = {}, ...others: []): Promise<Message[]> {
    assertWait(exactly, others, EXACTLY);
    if (!(Number.isInteger(count) && count >= 0 && count <= MAX_COUNT))
      throw invalid(
        `The number of messages must be a whole number from 0 to ${MAX_COUNT}, not ${shown(count)}. "mf report --expect" checks more.`,
      );
    const { within = DEFAULT_SILENCE, ...wait } = { since: 'start', ...exactly };
    const found = count === 0 ? [] : await this.#hold(count, wait);
    const { timeout: _, ...silence } = { ...wait, since: found.at(-1)?.id ?? wait.since };
    const more = await this.#firstWithin(within, silence);
    if (!more) return found;
    throw new UnexpectedMessageError(
      `More than ${count} mail${count === 1 ? '' : 's'}${describeMatch(wait)} reached ${this.name}.${repeats(more, found)}\n${mailLines([...found, more])}`,
      more,
    );
  }

  /** The first message that matches within the time, if any. @throws MayflyError if the test ends before */
  async #firstWithin(within: Milliseconds, wait: MessageWait): Promise<Message | undefined> {
    const { timeout, cut } = allowedTime(within, this.#test);
    if (cut)
      throw invalid(`A silence of ${seconds(within)} cannot be awaited, only ${seconds(timeout)}. ${cut}`);
    const [mail] = await this.#hold(1, { ...wait, timeout: within }).catch((error: unknown) => {
      if (error instanceof WaitTimeoutError && error.isFinal) return [];
      throw error;
    });
    return mail;
  }

  /** The stored messages, newest first. */
  async messages({ since, ...query }: MessageQuery = {}): Promise<MessageSummary[]> {
    const wanted = { ...query, since: toSince(since) };
    const items = await this.#transport.list<api.MessageSummary>(
      'GET /v1/inboxes/{id}/messages',
      'messages',
      wanted,
      { id: this.id },
    );
    return items.map((fields) => new MessageSummary(this.#transport, fields));
  }

  /** Yields each message once as it arrives. Reconnects after interruptions; never ends by itself. */
  async *stream(options: StreamOptions = {}): AsyncGenerator<MessageSummary> {
    for await (const { message } of follow(this.#transport, `/v1/inboxes/${this.id}/events`, options))
      yield new MessageSummary(this.#transport, message);
  }

  /** A message in full. */
  async read(messageId: string, options?: RequestOptions): Promise<Message> {
    return new Message(this.#transport, await this.#send('GET', `/messages/${messageId}`, options));
  }

  /**
   * The explanation of a failed wait, for 24 hours. With an API key also after the end of the inbox.
   * @param waitId from the error, or from the report of a run
   */
  failedWait(waitId: string, options?: RequestOptions): Promise<api.FailedWait> {
    return this.#send('GET', `/waits/${waitId}`, options);
  }

  /** Adds a message to the inbox without SMTP. @param source the raw message (RFC 5322) */
  async inject(
    source: string | Uint8Array,
    given: RequestOptions & { mailFrom?: string; rcptTo?: string } = {},
  ): Promise<Message> {
    const [options, query] = splitOptions(given);
    const input = { ...options, query, body: source };
    return new Message(this.#transport, await this.#send('POST', '/messages', input));
  }

  /** Deletes all messages of the inbox. Needs an API key. */
  empty(options?: RequestOptions): Promise<void> {
    return this.#send('DELETE', '/messages', options);
  }

  /** A recording for `mayfly.importInbox()`: a zip archive with all messages. */
  export(options?: RequestOptions): Promise<Uint8Array> {
    return this.#send('GET', '/export', options);
  }

  /**
   * Makes mail to the inbox fail: each rule applies to `times` attempts, in order, and then delivery is
   * normal. Replaces earlier rules. Needs an API key.
   */
  async setFaults(rules: api.FaultRule[], options?: RequestOptions): Promise<api.FaultState[]> {
    return (await this.#send<api.Faults>('PUT', '/faults', { ...options, body: { rules } })).rules;
  }

  /** The fault rules with the remaining number of their applications. Needs an API key. */
  async faults(options?: RequestOptions): Promise<api.FaultState[]> {
    return (await this.#send<api.Faults>('GET', '/faults', options)).rules;
  }

  /** Removes the fault rules. Needs an API key. */
  clearFaults(options?: RequestOptions): Promise<void> {
    return this.#send('DELETE', '/faults', options);
  }

  /**
   * Simulates outcomes of accepted messages, such as bounces: each rule applies to `times` messages, in
   * order. Replaces earlier rules. Needs an API key.
   */
  async setOutcomes(rules: api.OutcomeRule[], options?: RequestOptions): Promise<api.OutcomeState[]> {
    return (await this.#send<api.Outcomes>('PUT', '/outcomes', { ...options, body: { rules } })).rules;
  }

  /**
   * Makes the next messages bounce after they were accepted. Replaces earlier outcome rules. Needs an API
   * key.
   */
  async bounceNext(times = 1, options?: RequestOptions): Promise<void> {
    await this.setOutcomes([{ outcome: 'bounce', times }], options);
  }

  /** The outcome rules with the remaining number of their applications. Needs an API key. */
  async outcomes(options?: RequestOptions): Promise<api.OutcomeState[]> {
    return (await this.#send<api.Outcomes>('GET', '/outcomes', options)).rules;
  }

  /** Removes the outcome rules. Needs an API key. */
  clearOutcomes(options?: RequestOptions): Promise<void> {
    return this.#send('DELETE', '/outcomes', options);
  }

  /**
   * Advances the inbox's clock for scheduled mails by a span such as `'3d'`, `'2h'` or `'30m'`; spans add up.
   * Needs an API key.
   * @returns the number of mails that became due
   */
  async advance(span: string, options?: RequestOptions): Promise<number> {
    const [, count, unit] = /^(\d+)(m|h|d)$/.exec(span) ?? [];
    if (!unit)
      throw invalid(`The span ${shown(span)} must be a number with a unit, such as "3d", "2h" or "30m".`);
    const minutes = Number(count) * { m: 1, h: 60, d: 1440 }[unit as 'm'];
    const input = { ...options, body: { minutes } };
    return (await this.#send<api.Advanced>('POST', '/advance', input)).released;
  }

  /**
   * Replies, provider events and delivery reports that were sent for the inbox, newest first, with their
   * results.
   */
  async sent(given: { before?: string; limit?: number } & RequestOptions = {}): Promise<api.SentRecord[]> {
    const [options, query] = splitOptions(given);
    return (await this.#send<api.SentList>('GET', '/sent', { ...options, query })).sent;
  }

  /** The messages and replies by thread, newest thread first. */
  async threads(options?: RequestOptions): Promise<api.Thread[]> {
    return (await this.#send<api.ThreadList>('GET', '/threads', options)).threads;
  }

  /** Expires the inbox now, as at the end of its lifetime. Needs an API key. */
  expire(options?: RequestOptions): Promise<void> {
    return this.#send('POST', '/expire', options);
  }

  /** Sets the end of its lifetime to `ttlMinutes` from now. Needs an API key. */
  async extend(ttlMinutes: number, options?: RequestOptions): Promise<void> {
    await this.#update('PATCH', { ...options, body: { ttlMinutes } });
  }

  /** Deletes the inbox with all its messages; also resolves if it is already gone. Needs an API key. */
  async delete(options?: RequestOptions): Promise<void> {
    await this.#send('DELETE', '', options).catch((error) => {
      if (error.status !== 404 && error.status !== 410) throw error;
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.delete();
  }

  async #wait(count: number, wait: CodeWait): Promise<Message[]> {
    const messages = await this.#hold(count, wait);
    for (const message of messages) if (!this.#last || message.id > this.#last.id) this.#last = message;
    return messages;
  }

  async #hold(count: number, wait: CodeWait): Promise<Message[]> {
    const { since = 'last', signal } = wait;
    if (wait.timeout !== undefined && !(typeof wait.timeout === 'number' && wait.timeout >= 0))
      throw invalid(`"timeout" must be a number of milliseconds, not ${shown(wait.timeout)}.`);
    const last = since === 'last' ? this.#last : undefined;
    const wanted = {
      match: matchOf(wait),
      count,
      ...allowedTime(wait.timeout ?? this.#transport.waitTimeout, this.#test),
      since: since === 'last' ? last?.id : since === 'start' ? undefined : toSince(since),
      last,
      signal: this.#untilEnd(signal),
    };
    return waitForMessages(this.#transport, this, wanted);
  }

  /**
   * Aborts with the signal of the wait or at the end of the test, so that a wait without `await` fails in its
   * own test.
   */
  #untilEnd(own: AbortSignal | undefined): AbortSignal | undefined {
    const ended = this.#test?.ended;
    if (ended?.aborted)
      throw invalid(
        `The inbox ${this.name} ended with the test or hook that created it. Create one for several tests with mayfly.createInbox().`,
      );
    return own && ended ? AbortSignal.any([own, ended]) : (own ?? ended);
  }

  async #update(method: string, input?: object): Promise<api.Inbox> {
    this.#data = { ...this.#data, ...(await this.#send<api.Inbox>(method, '', input)) };
    return this.data;
  }

  #send<Result>(method: string, path: string, input?: object): Promise<Result> {
    return this.#transport.send(`${method} /v1/inboxes/${this.id}${path}`, input) as Promise<Result>;
  }
}

/** The conditions of a wait, without its options. */
function matchOf({ timeout: _, since: __, signal: ___, ...match }: CodeWait): Match {
  return match;
}
