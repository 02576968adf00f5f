import { MayflyError, UnexpectedMessageError, WaitTimeoutError } from './errors.ts';
import type * as api from './generated/api.ts';
import type { Match } from './match.ts';
import { type LinkMatch, Message } from './message.ts';
import { type FollowOptions, toSince } from './since.ts';
import type { RequestOptions, Transport } from './transport.ts';
import { type WaitTarget, waitForMessages } from './wait.ts';

export interface WaitOptions {
  /** Default: 30,000. The server is asked once more at the end, for which it has 5 seconds if it is very busy. */
  timeoutMs?: number | undefined;
  /**
   * Only messages after this. `last` (default): after the last message that a wait of this handle returned, at
   * first the beginning of the inbox. `start`: the beginning. Or a cursor, a message id or a time.
   */
  since?: 'last' | 'start' | (string & {}) | Date | undefined;
  signal?: AbortSignal | undefined;
}

export interface SilenceOptions extends Omit<WaitOptions, 'timeoutMs'> {
  forMs: number;
}

const DEFAULT_WAIT_MS = 30_000;
const OPTIONS = ['timeoutMs', 'forMs', 'since', 'signal'];

/** An option that does nothing would be a wait with another meaning than its author's. */
function checkOptions(options: object): void {
  const unknown = Object.keys(options).find((name) => !OPTIONS.includes(name));
  if (unknown) {
    throw new MayflyError(
      'invalid_option',
      `"${unknown}" is not an option of a wait. Options: ${OPTIONS.join(', ')}. Conditions of the message go into the first argument.`,
    );
  }
}

/** An inbox. Each wait begins after the message that the last wait of this object returned. */
export class Inbox {
  readonly id: string;
  /** The read token; undefined for an inbox that was fetched with an API key. */
  readonly token: string | undefined;
  readonly consoleUrl: string;
  readonly #transport: Transport;
  #data: Partial<api.CreatedInbox>;
  /** Id of the newest message that a wait returned; ids sort by arrival. */
  #last: string | undefined;

  /** @param transport with a credential that may read the inbox */
  constructor(transport: Transport, data: Partial<api.CreatedInbox> & { id: string }) {
    this.#transport = transport;
    this.#data = data;
    this.id = data.id;
    this.token = data.token;
    this.consoleUrl = `${transport.url}/console/inboxes/${data.id}`;
  }

  /** What the API last said about the inbox. @throws MayflyError before the first {@link refresh} of `mayfly.inbox(id, token)` */
  get data(): api.Inbox {
    if (this.#data.address === undefined) {
      throw new MayflyError('not_fetched', `Nothing is known about ${this.id} yet: call refresh() first.`);
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
    this.#data = { ...this.#data, ...((await this.#call('GET', '', options)) as api.Inbox) };
    return this.data;
  }

  /** The first message that matches, in full. @throws WaitTimeoutError */
  async waitForMessage(match: Match = {}, options: WaitOptions = {}): Promise<Message> {
    return (await this.waitForMessages(1, match, options))[0] as Message;
  }

  /** As many messages as asked for (1 to 50), oldest first. @throws WaitTimeoutError */
  async waitForMessages(count: number, match: Match = {}, options: WaitOptions = {}): Promise<Message[]> {
    checkOptions(options);
    const { timeoutMs = DEFAULT_WAIT_MS, since = 'last', signal } = options;
    const from = since === 'last' ? this.#last : since === 'start' ? undefined : toSince(since);
    const messages = await waitForMessages(this.#target(), { match, count, timeoutMs, since: from, signal });
    for (const { id } of messages) if (!this.#last || id > this.#last) this.#last = id;
    return messages;
  }

  /**
   * The one-time code of the first message that matches and has one.
   * @param match with `pattern` for formats of your own: the first group of the expression is the code
   */
  async waitForCode(match: Match & { pattern?: RegExp } = {}, options?: WaitOptions): Promise<string> {
    const { pattern, where, ...rest } = match;
    const wanted: Match = pattern
      ? { ...rest, where: (message) => message.find(pattern) !== undefined && (where?.(message) ?? true) }
      : { ...rest, code: true, ...(where && { where }) };
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
    const { href, text, kind, ...rest } = match;
    const link: LinkMatch = { ...(href && { href }), ...(text && { text }), ...(kind && { kind }) };
    const message = await this.waitForMessage(
      { ...rest, link: Object.keys(link).length > 0 ? link : true },
      options,
    );
    return message.link(link);
  }

  /** Resolves when no message matches until the time is over. @throws UnexpectedMessageError at once if one does */
  async expectSilence(match: Match, options: SilenceOptions): Promise<void> {
    checkOptions(options);
    const { forMs, ...rest } = options;
    const mail = await this.waitForMessage(match, { ...rest, timeoutMs: forMs }).catch((error: unknown) => {
      if (error instanceof WaitTimeoutError && error.isFinal) return undefined;
      throw error;
    });
    if (!mail) return;
    const { silenceText } = await import('./explain.ts');
    throw new UnexpectedMessageError(silenceText(this.#name, match, forMs, mail), mail);
  }

  /**
   * The messages as lists show them: newest first, or with `follow` as they arrive, without an end.
   */
  async *messages(options: FollowOptions & { follow?: boolean } = {}): AsyncGenerator<api.MessageSummary> {
    if (options.follow) {
      const { follow } = await import('./stream.ts');
      for await (const { message } of follow(this.#transport, `/v1/inboxes/${this.id}/events`, options))
        yield message;
      return;
    }
    const { signal } = options;
    let before: string | undefined;
    for (let hasMore = true; hasMore; ) {
      const query = { limit: 200, since: toSince(options.since), before };
      const page = (await this.#call('GET', '/messages', { query, signal })) as api.MessageList;
      yield* page.messages;
      ({ hasMore } = page);
      before = page.messages.at(-1)?.id;
    }
  }

  /** All messages as lists show them, newest first. */
  async list(options?: { since?: string | Date; signal?: AbortSignal }): Promise<api.MessageSummary[]> {
    const all: api.MessageSummary[] = [];
    for await (const message of this.messages(options)) all.push(message);
    return all;
  }

  async read(messageId: string, options?: RequestOptions): Promise<Message> {
    return new Message((await this.#call('GET', `/messages/${messageId}`, options)) as api.Message);
  }

  /** The raw source, byte for byte. */
  async raw(messageId: string, options?: RequestOptions): Promise<Uint8Array> {
    return (await this.#call('GET', `/messages/${messageId}/raw`, options)) as Uint8Array;
  }

  /** The decoded bytes of an attachment of a message in full. */
  async attachment({ url }: api.Attachment, options?: RequestOptions): Promise<Uint8Array> {
    const request = `GET ${new URL(url, this.#transport.url).pathname}`;
    return (await this.#transport.send(request, options)) as Uint8Array;
  }

  /** A link to the message as a browser shows it, valid for some minutes. */
  async preview(
    messageId: string,
    options?: RequestOptions & { remoteContent?: boolean },
  ): Promise<{ url: string; expiresAt: Date }> {
    const { remoteContent, ...rest } = options ?? {};
    const body = remoteContent === undefined ? {} : { remoteContent };
    const answer = (await this.#call('POST', `/messages/${messageId}/preview`, { ...rest, body })) as {
      url: string;
      expiresAt: string;
    };
    return { url: new URL(answer.url, this.#transport.url).href, expiresAt: new Date(answer.expiresAt) };
  }

  /** When what happened to a message, from its Date header to each webhook attempt. */
  async timeline(messageId: string, options?: RequestOptions): Promise<api.TimelineEvent[]> {
    return ((await this.#call('GET', `/messages/${messageId}/timeline`, options)) as api.Timeline).events;
  }

  /** What is wrong with a message, the most severe first. */
  async lint(messageId: string, options?: RequestOptions): Promise<api.LintFinding[]> {
    return ((await this.#call('GET', `/messages/${messageId}/lint`, options)) as api.LintReport).findings;
  }

  /**
   * Lets mail to the inbox fail: senders meet the rules in their order, each `times` times, then normal service.
   * Replaces the rules before. Needs an API key.
   */
  async setFaults(rules: api.FaultRule[], options?: RequestOptions): Promise<api.FaultState[]> {
    const input = { ...options, body: { rules } };
    return ((await this.#call('PUT', '/faults', input)) as api.Faults).rules;
  }

  /** The fault rules, with how often each still applies. Needs an API key. */
  async faults(options?: RequestOptions): Promise<api.FaultState[]> {
    return ((await this.#call('GET', '/faults', options)) as api.Faults).rules;
  }

  /** Removes the fault rules. Needs an API key. */
  async clearFaults(options?: RequestOptions): Promise<void> {
    await this.#call('DELETE', '/faults', options);
  }

  /** Lets it live so many minutes from now. Needs an API key. */
  async extend(ttlMinutes: number, options?: RequestOptions): Promise<void> {
    this.#data = {
      ...this.#data,
      ...((await this.#call('PATCH', '', { ...options, body: { ttlMinutes } })) as api.Inbox),
    };
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

  get #name(): string {
    return this.#data.address ?? this.id;
  }

  #target(): WaitTarget {
    return { transport: this.#transport, inboxId: this.id, name: this.#name, url: `${this.consoleUrl}/why` };
  }

  #call(method: string, path: string, input?: object): Promise<unknown> {
    return this.#transport.send(`${method} /v1/inboxes/${this.id}${path}`, input);
  }
}
