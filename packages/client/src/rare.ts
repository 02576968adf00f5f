/**
 * Methods of an inbox that few tests use. Loaded by the first call of one, so that programs that only wait stay
 * small.
 */
import { MayflyError } from './errors.ts';
import { silenceText } from './explain.ts';
import { UnexpectedMessageError, WaitTimeoutError } from './failures.ts';
import type * as api from './generated/api.ts';
import type { Inbox, SilenceOptions, WaitOptions } from './inbox.ts';
import type { Match } from './match.ts';
import { pages } from './pages.ts';
import { type FollowOptions, toSince } from './since.ts';
import type { RequestOptions, Transport } from './transport.ts';

const OPTIONS = ['timeoutMs', 'since', 'signal', 'askedMs'];
const invalid = (text: string) => new MayflyError('invalid_option', text);
const isPlain = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !(value instanceof RegExp) && !Array.isArray(value);
const shown = (value: unknown) =>
  typeof value === 'number' || value instanceof RegExp
    ? String(value)
    : (JSON.stringify(value) ?? typeof value);

/** The path of a URL of the server, without the folder that a reverse proxy has for it. */
const pathOf = (url: URL) => url.pathname.replace(/^.*?(?=\/(?:v1|preview)\/)/, '');

/** The methods of {@link Inbox} with the same names, which document them. */
export class RareMethods {
  readonly #inbox: Inbox;
  readonly #transport: Transport;

  constructor(inbox: Inbox, transport: Transport) {
    this.#inbox = inbox;
    this.#transport = transport;
  }

  /** The error of arguments of a wait that are no objects, not known, or mean nothing. */
  invalidWait(match: unknown, options: unknown = {}): MayflyError {
    if (!isPlain(match))
      return invalid(
        `The conditions of a wait must be an object such as { subject: 'confirm' } or { where: (message) => true }, not ${shown(match)}.`,
      );
    if ('timeoutMs' in match)
      return invalid(
        `"timeoutMs" is an option and not a condition: pass it in the second argument, after the conditions, as in waitForCode({}, { timeoutMs: 5000 }).`,
      );
    if (!isPlain(options))
      return invalid(
        `The options of a wait must be an object such as { timeoutMs: 5000 }, not ${shown(options)}.`,
      );
    const unknown = Object.keys(options).find((name) => !OPTIONS.includes(name));
    if (!unknown)
      return invalid(
        `"timeoutMs" must be a number of milliseconds, not ${shown((options as WaitOptions).timeoutMs)}.`,
      );
    const known = OPTIONS.map((name) => `"${name}"`).join(', ');
    return invalid(
      `"${unknown}" is not an option of a wait. Options are ${known}; conditions of the message go into the first argument.`,
    );
  }

  async expectSilence(match: Match, options: SilenceOptions): Promise<void> {
    const { forMs, ...rest } = Object(options) as SilenceOptions;
    if (typeof forMs !== 'number' || 'timeoutMs' in rest)
      throw invalid(
        `expectSilence() needs how long to wait as its second argument, such as { forMs: 2000 }, not ${shown(options)}.`,
      );
    const inbox = this.#inbox;
    const mail = await inbox.waitForMessage(match, { ...rest, timeoutMs: forMs }).catch((error: unknown) => {
      if (error instanceof WaitTimeoutError && error.isFinal) return undefined;
      throw error;
    });
    if (mail) throw new UnexpectedMessageError(silenceText(inbox.name, match, forMs, mail), mail);
  }

  async *messages(options: FollowOptions & { follow?: boolean }): AsyncGenerator<api.MessageSummary> {
    const path = `/v1/inboxes/${this.#inbox.id}`;
    if (options.follow) {
      const { follow } = await import('./stream.ts');
      for await (const { message } of follow(this.#transport, `${path}/events`, options)) yield message;
      return;
    }
    const { since, signal } = options;
    const query = { since: toSince(since) };
    yield* pages<api.MessageSummary>(this.#transport, `GET ${path}/messages`, 'messages', { signal }, query);
  }

  async list(options: FollowOptions = {}): Promise<api.MessageSummary[]> {
    const all: api.MessageSummary[] = [];
    for await (const message of this.messages(options)) all.push(message);
    return all;
  }

  async raw(id: string, options?: RequestOptions): Promise<Uint8Array> {
    return (await this.#send('GET', `/messages/${id}/raw`, options)) as Uint8Array;
  }

  async attachment({ url }: api.Attachment, options?: RequestOptions): Promise<Uint8Array> {
    return (await this.#transport.send(
      `GET ${pathOf(new URL(url, this.#transport.url))}`,
      options,
    )) as Uint8Array;
  }

  async preview(
    id: string,
    { remoteContent, ...options }: RequestOptions & { remoteContent?: boolean } = {},
  ): Promise<{ url: string; expiresAt: Date }> {
    const body = remoteContent === undefined ? {} : { remoteContent };
    const preview = (await this.#send('POST', `/messages/${id}/preview`, {
      ...options,
      body,
    })) as api.Preview;
    // A server that does not know its public URL knows neither the scheme nor the folder that a proxy has for it.
    const own = this.#transport.url;
    const url = new URL(preview.url, own);
    const isHere = url.host === new URL(own).host;
    return { url: isHere ? own + pathOf(url) : url.href, expiresAt: new Date(preview.expiresAt) };
  }

  async timeline(id: string, options?: RequestOptions): Promise<api.TimelineEvent[]> {
    return ((await this.#send('GET', `/messages/${id}/timeline`, options)) as api.Timeline).events;
  }

  async lint(id: string, options?: RequestOptions): Promise<api.LintFinding[]> {
    return ((await this.#send('GET', `/messages/${id}/lint`, options)) as api.LintReport).findings;
  }

  async setFaults(rules: api.FaultRule[], options?: RequestOptions): Promise<api.FaultState[]> {
    return ((await this.#send('PUT', '/faults', { ...options, body: { rules } })) as api.Faults).rules;
  }

  async faults(options?: RequestOptions): Promise<api.FaultState[]> {
    return ((await this.#send('GET', '/faults', options)) as api.Faults).rules;
  }

  async clearFaults(options?: RequestOptions): Promise<void> {
    await this.#send('DELETE', '/faults', options);
  }

  #send(method: string, path: string, input?: object): Promise<unknown> {
    return this.#transport.send(`${method} /v1/inboxes/${this.#inbox.id}${path}`, input);
  }
}
