import { MayflyError } from './errors.ts';
import type * as api from './generated/api.ts';
import type { Match } from './match.ts';
import { type LinkMatch, Message } from './message.ts';
import type { RareMethods } from './rare.ts';
import { type FollowOptions, toSince } from './since.ts';
import type { RequestOptions, Transport } from './transport.ts';
import { waitForMessages } from './wait.ts';

export interface WaitOptions {
  /** Default: 30,000. The server is asked once more at the end, for which it has 5 seconds if it is very busy. */
  timeoutMs?: number | undefined;
  /** How long the test wanted to wait, where it has less time: an error then says that the wait was cut. */
  askedMs?: number | undefined;
  /**
   * Only messages after this. `last` (default): after the last message that a wait of this handle returned, at
   * first the beginning of the inbox. `start`: the beginning. Or a cursor, a message id or a time.
   */
  since?: 'last' | 'start' | (string & {}) | Date | undefined;
  signal?: AbortSignal | undefined;
}

export interface SilenceOptions extends Omit<WaitOptions, 'timeoutMs' | 'askedMs'> {
  forMs: number;
}

const DEFAULT_WAIT_MS = 30_000;
/** What is known of an inbox; of some only the id. */
type InboxData = { [Field in keyof api.CreatedInbox]?: api.CreatedInbox[Field] | undefined } & { id: string };

/**
 * Conditions that are none: text, a number, an array or a function (which have a length, or are no objects), a regular
 * expression, or options.
 */
const isNoMatch = (match: Match) =>
  Object(match) !== match || ['length', 'exec', 'timeoutMs'].some((name) => name in match);

/** An inbox. Each wait begins after the message that the last wait of this object returned. */
export class Inbox {
  readonly id: string;
  /** The read token; undefined for an inbox that was fetched with an API key. */
  readonly token: string | undefined;
  readonly consoleUrl: string;
  readonly #transport: Transport;
  #data: InboxData;
  /** Id of the newest message that a wait returned; ids sort by arrival. */
  #last: string | undefined;

  /** @param transport with a credential that may read the inbox */
  constructor(transport: Transport, data: InboxData) {
    this.#transport = transport;
    this.#data = data;
    this.id = data.id;
    this.token = data.token;
    this.consoleUrl = `${transport.url}/console/inboxes/${data.id}`;
  }

  /**
   * What the API last said about the inbox.
   * @throws MayflyError before the first {@link refresh} of `mayfly.inbox(id, token)`
   */
  get data(): api.Inbox {
    if (this.#data.address === undefined) {
      throw new MayflyError('not_fetched', `Only the id of ${this.id} is known: call refresh() first.`);
    }
    return this.#data as api.Inbox;
  }

  get address(): string {
    return this.data.address;
  }

  get expiresAt(): Date {
    return new Date(this.data.expiresAt);
  }

  /** Fetches the metadata, such as `messageCount` and `cursor`. */
  async refresh(options?: RequestOptions): Promise<api.Inbox> {
    return this.#update('GET', options);
  }

  /** The first message that matches, in full. @throws WaitTimeoutError */
  async waitForMessage(match: Match = {}, options: WaitOptions = {}): Promise<Message> {
    return (await this.waitForMessages(1, match, options))[0] as Message;
  }

  /** As many messages as asked for (1 to 50), oldest first. @throws WaitTimeoutError */
  async waitForMessages(count: number, match: Match = {}, options: WaitOptions = {}): Promise<Message[]> {
    const { timeoutMs = DEFAULT_WAIT_MS, askedMs, since = 'last', signal, ...unknown } = options ?? 0;
    if (isNoMatch(match) || Object(options) !== options || Object.keys(unknown)[0] || !(timeoutMs >= 0))
      throw (await this.#rare()).invalidWait(match, options);
    const from = since === 'last' ? this.#last : since === 'start' ? undefined : toSince(since);
    const messages = await waitForMessages(this.#transport, this, {
      match,
      count,
      timeoutMs: +timeoutMs,
      askedMs,
      since: from,
      signal,
    });
    for (const { id } of messages) if (!this.#last || id > this.#last) this.#last = id;
    return messages;
  }

  /**
   * The one-time code of the first message that matches and has one.
   * @param match with `pattern` for formats of your own: the first group of the expression is the code
   */
  async waitForCode(match: Match & { pattern?: RegExp } = {}, options?: WaitOptions): Promise<string> {
    if (isNoMatch(match)) throw (await this.#rare()).invalidWait(match);
    const pattern = match.pattern && new RegExp(match.pattern);
    const wanted = pattern ? { ...match, pattern } : { ...match, code: true };
    return (await this.waitForMessage(wanted, options)).code(pattern);
  }

  /**
   * The target of the link that meets the conditions, of the first message that has one. The link is not followed.
   * @throws AmbiguousError when several different links of the message fit
   */
  async waitForLink(
    match: LinkMatch & Omit<Match, 'text' | 'link'> = {},
    options?: WaitOptions,
  ): Promise<string> {
    if (isNoMatch(match)) throw (await this.#rare()).invalidWait(match);
    const { href, text, kind, ...rest } = match;
    const link = { href, text, kind } as LinkMatch;
    return (await this.waitForMessage({ ...rest, link }, options)).link(link);
  }

  /** Resolves when no message matches until the time is over. @throws UnexpectedMessageError at once if one does */
  async expectSilence(match: Match, options: SilenceOptions): Promise<void> {
    return (await this.#rare()).expectSilence(match, options);
  }

  /**
   * The messages as lists show them: newest first, or with `follow` as they arrive, without an end.
   */
  async *messages(options: FollowOptions & { follow?: boolean } = {}): AsyncGenerator<api.MessageSummary> {
    yield* (await this.#rare()).messages(options);
  }

  /** All messages as lists show them, newest first. */
  async list(options?: { since?: string | Date; signal?: AbortSignal }): Promise<api.MessageSummary[]> {
    return (await this.#rare()).list(options);
  }

  async read(messageId: string, options?: RequestOptions): Promise<Message> {
    return new Message((await this.#call('GET', `/messages/${messageId}`, options)) as api.Message);
  }

  /** The raw source, byte for byte. */
  async raw(messageId: string, options?: RequestOptions): Promise<Uint8Array> {
    return (await this.#rare()).raw(messageId, options);
  }

  /** The decoded bytes of an attachment of a message in full. */
  async attachment(attachment: api.Attachment, options?: RequestOptions): Promise<Uint8Array> {
    return (await this.#rare()).attachment(attachment, options);
  }

  /** A link to the message as a browser shows it, valid for some minutes. */
  async preview(
    messageId: string,
    options?: RequestOptions & { remoteContent?: boolean },
  ): Promise<{ url: string; expiresAt: Date }> {
    return (await this.#rare()).preview(messageId, options);
  }

  /** When what happened to a message, from its Date header to each webhook attempt. */
  async timeline(messageId: string, options?: RequestOptions): Promise<api.TimelineEvent[]> {
    return (await this.#rare()).timeline(messageId, options);
  }

  /** What is wrong with a message, the most severe first. */
  async lint(messageId: string, options?: RequestOptions): Promise<api.LintFinding[]> {
    return (await this.#rare()).lint(messageId, options);
  }

  /**
   * Lets mail to the inbox fail: senders meet the rules in their order, each `times` times, then normal service.
   * Replaces the rules before. Needs an API key.
   */
  async setFaults(rules: api.FaultRule[], options?: RequestOptions): Promise<api.FaultState[]> {
    return (await this.#rare()).setFaults(rules, options);
  }

  /** The fault rules, with how often each still applies. Needs an API key. */
  async faults(options?: RequestOptions): Promise<api.FaultState[]> {
    return (await this.#rare()).faults(options);
  }

  /** Removes the fault rules. Needs an API key. */
  async clearFaults(options?: RequestOptions): Promise<void> {
    return (await this.#rare()).clearFaults(options);
  }

  /** Lets it live so many minutes from now. Needs an API key. */
  async extend(ttlMinutes: number, options?: RequestOptions): Promise<void> {
    await this.#update('PATCH', { ...options, body: { ttlMinutes } });
  }

  /** Deletes it with all its messages; resolves also when it is gone already. Needs an API key. */
  async delete(options?: RequestOptions): Promise<void> {
    await this.#call('DELETE', '', options).catch((error) => {
      if (error.status !== 404 && error.status !== 410) throw error;
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.delete();
  }

  /** For people: the address where it is known, else the id. */
  get name(): string {
    return this.#data.address ?? this.id;
  }

  /** Its labels; none where they are not known. */
  get labels(): Record<string, string> {
    return this.#data.labels ?? {};
  }

  async #update(method: string, input?: object): Promise<api.Inbox> {
    this.#data = { ...this.#data, ...((await this.#call(method, '', input)) as api.Inbox) };
    return this.data;
  }

  #call(method: string, path: string, input?: object): Promise<unknown> {
    return this.#transport.send(`${method} /v1/inboxes/${this.id}${path}`, input);
  }

  async #rare(): Promise<RareMethods> {
    return new (await import('./rare.ts')).RareMethods(this, this.#transport);
  }
}
