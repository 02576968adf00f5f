import { AmbiguousError, invalid, NoCodeError } from './errors.ts';
import type * as api from './generated/api.ts';
import { type RequestOptions, splitOptions, type Transport } from './transport.ts';

/** Conditions of one link. A string must be contained, ignoring case. */
export interface LinkMatch {
  href?: string | RegExp;
  text?: string | RegExp;
  kind?: api.MailLink['kind'];
}

/** True if the text contains the string, ignoring case, or the expression matches. */
export const isIn = (text: string, wanted: string | RegExp | undefined): boolean =>
  wanted === undefined ||
  (typeof wanted === 'string' ? text.toLowerCase().includes(wanted.toLowerCase()) : text.search(wanted) >= 0);

/**
 * The first group of the pattern, or the whole match without groups, in the text or else in the text of the
 * HTML.
 */
export function find({ text, htmlText }: api.Message, pattern: RegExp): string | undefined {
  for (const body of [text, htmlText]) {
    const [found, group = found] =
      (body && new RegExp(pattern, pattern.flags.replace(/[gy]/g, '')).exec(body)) || [];
    if (group !== undefined) return group;
  }
  return undefined;
}

/** The path of a URL of the server, without the path prefix of a reverse proxy. */
const pathOf = (url: URL) => url.pathname.replace(/^.*?(?=\/(?:v1|preview)\/)/, '');

/** A message as lists return it: the fields of the API, and methods. */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: the constructor assigns all fields.
export class MessageSummary {
  readonly #transport: Transport;

  constructor(transport: Transport, fields: api.MessageSummary) {
    this.#transport = transport;
    Object.assign(this, fields);
  }

  /** The message in full. */
  async read(options?: RequestOptions): Promise<Message> {
    return new Message(this.#transport, await this.#send<api.Message>('GET', '', options));
  }

  /** The raw source, byte for byte. */
  raw(options?: RequestOptions): Promise<Uint8Array> {
    return this.#send('GET', '/raw', options);
  }

  /** A link to the message as a browser shows it, valid for some minutes. */
  async previewUrl(given: RequestOptions & { remoteContent?: boolean } = {}): Promise<string> {
    const [options, body] = splitOptions(given);
    const preview = await this.#send<api.Preview>('POST', '/preview', { ...options, body });
    // A server without a configured public URL knows neither the scheme nor the path prefix of a proxy.
    const own = this.#transport.url;
    const url = new URL(preview.url, own);
    return url.host === new URL(own).host ? own + pathOf(url) : url.href;
  }

  /** Events of the message in order of time, from its Date header to each webhook attempt. */
  async timeline(options?: RequestOptions): Promise<api.TimelineEvent[]> {
    return (await this.#send<api.Timeline>('GET', '/timeline', options)).events;
  }

  /** Lint findings of the message, the most severe first. */
  async lint(options?: RequestOptions): Promise<api.LintFinding[]> {
    return (await this.#send<api.LintReport>('GET', '/lint', options)).findings;
  }

  /**
   * Marks the message as read or unread, or replaces its tags. Needs an API key.
   * @returns the changed message
   */
  async mark(given: api.MarkMessage & RequestOptions): Promise<MessageSummary> {
    const [options, body] = splitOptions(given);
    const input = { ...options, body };
    return new MessageSummary(this.#transport, await this.#send<api.MessageSummary>('PATCH', '', input));
  }

  /**
   * Replies to the message from the inbox. Needs an API key.
   * @returns the queued reply, as in `inbox.sent()`
   */
  reply(text: string, given: Omit<api.Reply, 'text'> & RequestOptions = {}): Promise<api.SentRecord> {
    const [options, rest] = splitOptions(given);
    return this.#send('POST', '/reply', { ...options, body: { ...rest, text } });
  }

  /** Needs an API key. */
  delete(options?: RequestOptions): Promise<void> {
    return this.#send('DELETE', '', options);
  }

  /** @param url of an attachment @internal */
  protected bytesAt(url: string, options?: RequestOptions): Promise<Uint8Array> {
    const path = pathOf(new URL(url, this.#transport.url));
    return this.#transport.send(`GET ${path}`, options) as Promise<Uint8Array>;
  }

  #send<Result>(method: string, path: string, input?: object): Promise<Result> {
    const operation = `${method} /v1/inboxes/{id}/messages/{messageId}${path}`;
    const of = { id: this.inboxId, messageId: this.id };
    return this.#transport.send(operation, { ...input, path: of }) as Promise<Result>;
  }
}
export interface MessageSummary extends api.MessageSummary {}

/** A message in full. */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: the constructor assigns all fields.
export class Message extends MessageSummary {
  /**
   * The code of the message.
   * @param pattern for custom formats: searched in text and HTML; its first group is the code
   * @throws NoCodeError that shows what the message contains instead
   */
  code(pattern?: RegExp): string {
    const code = pattern ? find(this, pattern) : this.codes[0]?.value;
    if (code !== undefined) return code;
    throw new NoCodeError(
      `The message ${JSON.stringify(this.subject)} has no code${pattern ? ` like ${pattern}` : ''}. It begins: ${this.preview}`,
    );
  }

  /** All links that meet the conditions. */
  linksLike({ href, text, kind }: LinkMatch): api.MailLink[] {
    return this.links.filter(
      (link) => isIn(link.href, href) && isIn(link.text, text) && (kind === undefined || link.kind === kind),
    );
  }

  /**
   * The target of the one link that meets the conditions.
   * @throws AmbiguousError with all links unless exactly one target fits
   */
  link(match: LinkMatch = {}): string {
    const fitting = this.linksLike(match);
    const hrefs = [...new Set(fitting.map(({ href }) => href))];
    if (hrefs.length === 1) return hrefs[0] as string;
    const candidates = hrefs.length > 0 ? fitting : this.links;
    throw new AmbiguousError(
      `${hrefs.length || 'None'} of the ${this.links.length} links of ${JSON.stringify(this.subject)} fit${hrefs.length ? ': narrow the conditions' : ''}.${candidates.map(({ kind, href, text }) => `\n  ${kind.padEnd(11)} ${href}   ${JSON.stringify(text)}`).join('')}`,
      candidates,
    );
  }

  /** The decoded bytes of an attachment. @param which one of `attachments`, or its file name */
  async attachment(which: api.Attachment | string, options?: RequestOptions): Promise<Uint8Array> {
    const found =
      typeof which === 'string' ? this.attachments.find(({ filename }) => filename === which) : which;
    if (found) return this.bytesAt(found.url, options);
    const names = this.attachments.map(({ filename }) => JSON.stringify(filename)).join(', ') || 'none';
    throw invalid(`The message has no attachment ${JSON.stringify(which)}. Attachments: ${names}.`);
  }
}
export interface Message extends api.Message {}
