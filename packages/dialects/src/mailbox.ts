import type { api } from '@mayfly/client';
import { LRUCache } from 'lru-cache';
import { type Answer, type Api, NOT_FOUND, Refused } from './api.ts';
import type { Change } from './changes.ts';

/** The largest page of the API. */
const PAGE = 200;
/** How long one request waits for new messages, seconds. */
const HELD_SECONDS = 30;
/** Identifies the sink by its label. */
const SINK = { 'label.mayfly': 'sink' };

type Summary = api.MessageSummary;

/**
 * Fields of a list row that the summary lacks. A message never changes, so they are fetched once and cached.
 */
export interface Details {
  rfcMessageId: string;
  bcc: api.MailAddress[];
  replyTo: api.MailAddress[];
  /** The beginning of the HTML's text, or of the text without HTML. */
  snippet: string;
}

/** Enough for the lists of one test suite: 2,000 rows of usual mail. */
const DETAILS_BYTES = 1024 * 1024;
const details = new LRUCache<string, Details>({
  maxSize: DETAILS_BYTES,
  sizeCalculation: (of) => JSON.stringify(of).length,
});

/** An id that combines message and inbox, because the imitated programs have no inboxes. */
export const idOf = ({ id, inboxId }: Summary): string => `${id}-${inboxId}`;

export const detailsOf = (message: api.Message): Details => ({
  rfcMessageId: (message.rfcMessageId ?? '').replace(/^<|>$/g, ''),
  bcc: [...message.bcc, ...unnamed(message)],
  replyTo: message.replyTo,
  snippet: snippetOf(message),
});

const SNIPPET_BYTES = 200;

function snippetOf({ htmlText, text }: api.Message): string {
  const words = (htmlText || text || '').replaceAll(/\s+/g, ' ').trim();
  const bytes = Buffer.from(words);
  if (bytes.length <= SNIPPET_BYTES) return words;
  // A character cut in two decodes as U+FFFD.
  return `${bytes.toString('utf8', 0, SNIPPET_BYTES).replace(/\uFFFD$/, '')}...`;
}

/** Envelope recipients that no header names: those of Bcc. */
function unnamed({ to, cc, bcc, envelope }: api.Message): api.MailAddress[] {
  const named = new Set([...to, ...cc, ...bcc].map(({ address }) => address.toLowerCase()));
  return envelope.rcptTo
    .filter((address) => !named.has(address.toLowerCase()))
    .map((address) => ({ address, name: '' }));
}

async function collect(found: AsyncIterable<Summary>): Promise<Summary[]> {
  const all: Summary[] = [];
  for await (const message of found) all.push(message);
  return all;
}

/** All mail that one caller may read: of an account, or of the one inbox of a read token. */
export class Mailbox {
  readonly api: Api;
  /** The inbox of a read token; undefined for an account. */
  readonly #inboxId: string | undefined;
  /** Called after each change made here. */
  readonly changed: (change: Change) => void;

  constructor(api: Api, inboxId: string | undefined, changed: (change: Change) => void = () => undefined) {
    this.api = api;
    this.#inboxId = inboxId;
    this.changed = changed;
  }

  /**
   * Yields the messages that a search of the API finds, newest first, page by page; all messages for `''`.
   */
  async *list(q: string): AsyncGenerator<Summary> {
    for (let before: string | undefined; ; ) {
      const page = await this.#page({ ...(q && { q }), ...(before && { before }), limit: PAGE });
      yield* page.messages;
      if (page.next === undefined) return;
      before = page.next;
    }
  }

  all(): Promise<Summary[]> {
    return collect(this.list(''));
  }

  /**
   * As {@link Mailbox.list}, but waits up to `wait` seconds until `choose` returns a result. `choose` need
   * not read the list.
   */
  async listWithin(
    q: string,
    wait: number,
    choose: (found: AsyncIterable<Summary>) => Promise<Summary[]> = collect,
  ): Promise<Summary[]> {
    const end = performance.now() + wait * 1_000;
    // The end of the list is requested first, so that messages that arrive between the two requests are not
    // missed.
    let since = wait > 0 ? (await this.#page({ limit: 1 })).cursor : '';
    for (;;) {
      const found = await choose(this.list(q));
      const left = Math.ceil((end - performance.now()) / 1_000);
      if (found.length > 0 || left <= 0) return found;
      since = (await this.#page({ ...(q && { q }), since, wait: left, limit: 1 })).cursor;
    }
  }

  /**
   * Yields new messages, oldest first, as they arrive, and `null` if more arrived than fit into a page.
   * @throws Refused when the caller's credential is no longer valid
   */
  async *arrivals(signal: AbortSignal): AsyncGenerator<Summary[] | null> {
    for (let { cursor } = await this.#page({ limit: 1 }); !signal.aborted; ) {
      const page = await this.#page({ since: cursor, wait: HELD_SECONDS, limit: PAGE }, signal);
      cursor = page.cursor;
      yield page.next === undefined ? page.messages.toReversed() : null;
    }
  }

  async #page(
    query: api.Operations['GET /v1/messages']['query'] & object,
    signal?: AbortSignal,
  ): Promise<{ messages: Summary[]; cursor: string; next: string | undefined }> {
    if (this.#inboxId === undefined) {
      const { messages, cursor, before } = await this.api.call('GET /v1/messages', { query, signal });
      return { messages, cursor, next: before ?? undefined };
    }
    const path = { id: this.#inboxId };
    const page = await this.api.call('GET /v1/inboxes/{id}/messages', { path, query, signal });
    const last = page.searchedTo ?? page.messages.at(-1)?.id;
    return { ...page, next: page.hasMore ? last : undefined };
  }

  async details(message: Summary): Promise<Details> {
    const known = details.get(message.id);
    if (known) return known;
    const made = detailsOf(await this.read(idOf(message)));
    details.set(message.id, made);
    return made;
  }

  async read(id: string, include?: 'attachmentContent'): Promise<api.Message> {
    const input = { path: this.#pathOf(id), query: { ...(include && { include }) } };
    return this.api.call('GET /v1/inboxes/{id}/messages/{messageId}', input);
  }

  async raw(id: string): Promise<Buffer> {
    const path = this.#pathOf(id);
    return (await this.api.answer('GET /v1/inboxes/{id}/messages/{messageId}/raw', { path })).body;
  }

  async attachment(id: string, attachmentId: string): Promise<Answer> {
    const path = { ...this.#pathOf(id), attachmentId };
    return this.api.answer('GET /v1/inboxes/{id}/messages/{messageId}/attachments/{attachmentId}', { path });
  }

  async lint(id: string): Promise<api.LintReport> {
    return this.api.call('GET /v1/inboxes/{id}/messages/{messageId}/lint', { path: this.#pathOf(id) });
  }

  /** Skips messages that no longer exist, because other clients may delete concurrently. */
  async mark(ids: readonly string[], marks: api.MarkMessage): Promise<void> {
    const operation = 'PATCH /v1/inboxes/{id}/messages/{messageId}';
    for (const id of ids)
      await unlessGone(async () => {
        const { readAt, tags } = await this.api.call(operation, { path: this.#pathOf(id), body: marks });
        const Data = marks.tags ? { ID: id, Tags: tags } : { ID: id, Read: readAt !== null };
        this.changed({ Type: 'update', Data });
      });
  }

  async remove(ids: readonly string[]): Promise<void> {
    const operation = 'DELETE /v1/inboxes/{id}/messages/{messageId}';
    for (const id of ids)
      await unlessGone(async () => {
        await this.api.call(operation, { path: this.#pathOf(id) });
        this.changed({ Type: 'delete', Data: { ID: id } });
      });
  }

  /** Deletes all messages, possibly including some that arrive meanwhile. */
  async empty(): Promise<void> {
    const inboxes = new Set((await this.all()).map(({ inboxId }) => inboxId));
    for (const id of inboxes)
      await unlessGone(() => this.api.call('DELETE /v1/inboxes/{id}/messages', { path: { id } }));
    this.changed({ Type: 'truncate', Data: null });
  }

  /** @throws Refused 400 if there are more inboxes than fit into a page */
  async inboxIds(): Promise<string[]> {
    if (this.#inboxId !== undefined) return [this.#inboxId];
    const { inboxes, hasMore } = await this.api.call('GET /v1/inboxes', { query: { limit: PAGE } });
    if (!hasMore) return inboxes.map(({ id }) => id);
    throw new Refused(400, `This works for up to ${PAGE} inboxes.`);
  }

  /**
   * Delivers a mail as SMTP would: to the inboxes of its recipients, else to the sink. @returns the id of the
   * first copy @throws Refused when no inbox receives mail for the recipients
   */
  async send(raw: Buffer, mailFrom: string, recipients: readonly string[]): Promise<string> {
    const targets = new Map<string, string>();
    for (const address of recipients) {
      const inbox = this.#inboxId ?? (await this.#inboxFor(address));
      if (inbox !== undefined && !targets.has(inbox)) targets.set(inbox, address);
    }
    let first: string | undefined;
    for (const [id, rcptTo] of targets) {
      const input = { path: { id }, query: { mailFrom, rcptTo }, body: raw };
      const made = await this.api.call('POST /v1/inboxes/{id}/messages', input);
      first ??= idOf(made);
    }
    if (first !== undefined) return first;
    throw new Refused(400, 'No inbox takes mail for these recipients, and this server has no sink.');
  }

  async #inboxFor(address: string): Promise<string | undefined> {
    for (const query of [{ address }, SINK]) {
      const { inboxes } = await this.api.call('GET /v1/inboxes', { query });
      if (inboxes[0]) return inboxes[0].id;
    }
    return undefined;
  }

  #pathOf(id: string): { id: string; messageId: string } {
    const [messageId = '', inboxId = ''] = id.split('-');
    if (this.#inboxId === undefined || inboxId === this.#inboxId) return { id: inboxId, messageId };
    throw new Refused(404, NOT_FOUND);
  }
}

const unlessGone = (call: () => Promise<unknown>): Promise<unknown> =>
  call().catch((error) => {
    if (!(error instanceof Refused && error.status === 404)) throw error;
  });
