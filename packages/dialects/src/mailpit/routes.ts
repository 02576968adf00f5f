import type { api } from '@mayfly/client';
import { NOT_FOUND, Refused } from '../api.ts';
import { idOf, type Mailbox } from '../mailbox.ts';
import { type Call, json, numberOf, type Reply, type Route, route, text } from '../route.ts';
import { getChaos, setChaos } from './chaos.ts';
import { htmlCheckOf } from './html-check.ts';
import { isTag, readSearch, type Search, timeOf } from './search.ts';
import { composeMail, readJson } from './send.ts';
import { asSent, headersOf, linksOf, messageOf, rowOf, sortTags } from './shapes.ts';
import { BLANK_PICTURE } from './thumbnail.ts';

// Mailpit's HTTP API (release 1.30). Errors are plain text with status 400 or 404, as in Mailpit.

const DEFAULT_LIMIT = 50;
/**
 * Allows a mail's page to show itself and open links, but no scripts and no forms, because it has the console's origin.
 */
const PAGE_CSP =
  "script-src 'none'; object-src 'none'; base-uri 'none'; form-action 'none'; sandbox allow-same-origin allow-popups allow-popups-to-escape-sandbox";
const ok = (): Reply => text('ok');
const notFound = (words = NOT_FOUND): Refused => new Refused(404, words);
/** Replaces the error for an unknown id by Mailpit's error. */
const unknown = (instead: Refused) => (error: unknown) => {
  throw error instanceof Refused && error.status === 404 ? instead : error;
};

const EVERYTHING: Search = { q: '', matches: async () => true };
const searchOf = (query: URLSearchParams): Search =>
  readSearch((query.get('query') ?? '').trim(), query.get('tz') ?? 'UTC');

/** The messages that a search finds, newest first, at most `most`; waits up to `wait` seconds for the first. */
const find = (mailbox: Mailbox, search: Search, wait = 0, most = Number.POSITIVE_INFINITY) =>
  mailbox.listWithin(search.q, wait, async (found) => {
    const matching: api.MessageSummary[] = [];
    for await (const message of found) {
      if (await search.matches(message, () => mailbox.details(message))) matching.push(message);
      if (matching.length === most) break;
    }
    return matching;
  });

/** A page of a list, with the counts of the whole mailbox. */
async function page({ mailbox, query, wait }: Call, search: Search): Promise<Reply> {
  const isList = search === EVERYTHING;
  const before = timeOf(query.get('before') ?? '', 'UTC') ?? Number.POSITIVE_INFINITY;
  const start = numberOf(query, 'start', 0);
  const limit = numberOf(query, 'limit', DEFAULT_LIMIT);
  const matching = await find(mailbox, search, wait);
  const earlier = matching.filter(({ receivedAt }) => Date.parse(receivedAt) < before);
  // In Mailpit, the total of a list ignores `before`, and a limit of 0 means no limit.
  const found = isList ? matching : earlier;
  const all = isList ? found : await mailbox.all();
  const rows = isList && limit === 0 ? earlier : earlier.slice(start, start + limit);
  const unread = (messages: readonly api.MessageSummary[]) =>
    messages.filter(({ readAt }) => readAt === null).length;
  return json({
    total: all.length,
    unread: unread(all),
    count: rows.length,
    messages_count: found.length,
    messages_unread: unread(found),
    start,
    tags: tagsOf(all),
    messages: await Promise.all(
      rows.map(async (row) => rowOf(row, await mailbox.details(row), isList ? 'list' : 'search')),
    ),
  });
}

const tagsOf = (messages: readonly api.MessageSummary[]): string[] =>
  sortTags([...new Set(messages.flatMap(({ tags }) => tags))]);

/** @throws Refused 400 without a search */
function givenSearch(query: URLSearchParams): Search {
  if ((query.get('query') ?? '').trim() === '') throw new Refused(400, 'Error: no search query');
  return searchOf(query);
}

/** The newest message that matches `query`. */
async function newest({ query, mailbox, wait }: Call): Promise<string | undefined> {
  const [latest] = await find(mailbox, searchOf(query), wait, 1);
  return latest && idOf(latest);
}

/** The id in the path, or of the newest message. @throws Refused 404 */
async function messageId(call: Call, words = 'Message not found'): Promise<string> {
  const { id = '' } = call.path;
  const found = id === 'latest' ? await newest(call) : id;
  if (found === undefined) throw notFound(words);
  return found;
}

/** Reads a message and marks it as read. */
async function open(call: Call, include?: 'attachmentContent'): Promise<api.Message> {
  const id = await messageId(call);
  const message = await call.mailbox.read(id, include);
  if (message.readAt === null) await call.mailbox.mark([id], { read: true });
  return message;
}

/** The ids of messages that a request changes: given ids, the results of a search, or all. */
async function chosen({ mailbox, query }: Call, ids: unknown, search: unknown): Promise<string[]> {
  const given = Array.isArray(ids) ? ids.map(String) : [];
  const words = typeof search === 'string' ? search : '';
  if (given.length > 0 && words !== '')
    throw new Refused(400, 'You may specify either IDs or a search query, not both');
  if (given.length > 0) return given;
  return (await find(mailbox, readSearch(words, query.get('tz') ?? 'UTC'))).map(idOf);
}

const NO_TAG = /[^A-Za-z0-9\-. _@]/g;
const MAX_TAG = 100;
const cleanTag = (tag: unknown): string =>
  String(tag).replaceAll(NO_TAG, ' ').replaceAll(/ +/g, ' ').trim().slice(0, MAX_TAG);

/**
 * Replaces a tag on all messages that have it. @param to undefined removes the tag @throws Refused 400 if no
 * message has it
 */
async function replaceTag(mailbox: Mailbox, tag: string, to?: string): Promise<Reply> {
  if (to === tag) return ok();
  const all = await mailbox.all();
  const tagged = all.filter(({ tags }) => tags.some(isTag(tag)));
  if (tagged.length === 0) throw new Refused(400, `tag not found: ${tag}`);
  if (to !== undefined && !isTag(to)(tag) && all.some(({ tags }) => tags.some(isTag(to))))
    throw new Refused(400, `tag already exists: ${to}`);
  for (const message of tagged) {
    const tags = message.tags.flatMap((one) => (isTag(tag)(one) ? (to ?? []) : one));
    await mailbox.mark([idOf(message)], { tags });
  }
  mailbox.changed({ Type: 'prune', Data: null });
  return ok();
}

/** The HTML body with its inline images linked to the parts of the message. */
function pageOf({ html, attachments }: api.Message, id: string): string {
  const places = new Map(attachments.map(({ contentId, id: part }) => [contentId?.toLowerCase(), part]));
  return asSent(html ?? '').replaceAll(/(=["']?)cid:([^"'\s>;]+)/gi, (whole, start: string, cid: string) => {
    const part = places.get(cid.toLowerCase());
    return part === undefined ? whole : `${start}/api/v1/message/${id}/part/${part}`;
  });
}

const redirect = (location: string): Reply => ({
  ...text(`<a href="${location}">Found</a>.\n\n`, 302, 'text/html; charset=utf-8'),
  headers: { location },
});

async function view(call: Call): Promise<Reply> {
  const [, id = '', kind] = /^(.*?)(?:\.(html|txt))?$/.exec(call.path.file ?? '') ?? [];
  if (kind === undefined) {
    if (id === 'latest') {
      const found = await newest(call);
      return redirect(found === undefined ? '/' : `/view/${found}`);
    }
    const [message, inbox] = id.split('-');
    return redirect(encodeURI(`/console/inboxes/${inbox}/messages/${message}`));
  }
  const message = await open({ ...call, path: { id } }).catch(unknown(notFound('Message not found')));
  if (kind === 'txt') return text(messageOf(message).Text, 200, 'text/plain; charset=utf-8');
  if (!message.html) throw notFound('This message does not contain a HTML part');
  const headers = { 'content-security-policy': PAGE_CSP };
  return { ...text(pageOf(message, idOf(message)), 200, 'text/html; charset=utf-8'), headers };
}

async function attachment({ mailbox, path: { partId = '' } }: Call, id: string) {
  const { attachments } = await mailbox.read(id);
  const named = attachments.find((one) => one.id === partId);
  if (!named) throw notFound();
  const { headers, body } = await mailbox.attachment(id, partId);
  const name = encodeURIComponent(named.filename || (named.contentId ?? ''));
  const type = headers['content-type'] ?? 'application/octet-stream';
  return { type, body, headers: { 'content-disposition': `filename="${name}"` } };
}

async function part(call: Call): Promise<Reply> {
  const { headers, ...reply } = await attachment(call, await messageId(call));
  return { ...reply, headers: { 'content-disposition': `inline; ${headers['content-disposition']}` } };
}

/** An image in its original size; a blank one for other attachments. */
async function thumbnail(call: Call): Promise<Reply> {
  const noPart = unknown(new Refused(400, 'attachment not found'));
  const reply = await attachment(call, call.path.id ?? '').catch(noPart);
  return reply.type.startsWith('image/') ? reply : { ...reply, ...BLANK_PICTURE };
}

async function info({ mailbox }: Call): Promise<Reply> {
  const all = await mailbox.all();
  const bytes = all.reduce((sum, { size }) => sum + size, 0);
  const tags: Record<string, number> = {};
  for (const tag of all.flatMap((message) => message.tags)) tags[tag] = (tags[tag] ?? 0) + 1;
  return json({
    Version: 'Mayfly',
    LatestVersion: 'disabled',
    Database: '',
    DatabaseSize: bytes,
    Messages: all.length,
    Unread: all.filter(({ readAt }) => readAt === null).length,
    Tags: tags,
    RuntimeStats: {
      Uptime: Math.floor(process.uptime()),
      Memory: process.memoryUsage.rss(),
      ...{ SMTPAccepted: all.length, SMTPAcceptedSize: bytes, SMTPRejected: 0, SMTPIgnored: 0 },
      MessagesDeleted: 0,
    },
  });
}

/** Settings of Mailpit's web interface. */
const WEB_UI = {
  Label: '',
  MessageRelay: {
    ...{ Enabled: false, SMTPServer: '', ReturnPath: '', AllowedRecipients: '', BlockedRecipients: '' },
    ...{ OverrideFrom: '', PreserveMessageIDs: false, RecipientAllowlist: '' },
  },
  SpamAssassin: false,
  ChaosEnabled: true,
  DuplicatesIgnored: false,
  HideDeleteAllButton: false,
};

async function send({ mailbox, body }: Call): Promise<Reply> {
  try {
    const { raw, from, recipients, tags } = await composeMail(body);
    const id = await mailbox.send(raw, from, recipients);
    if (tags.length > 0) await mailbox.mark([id], { tags: tags.map(cleanTag) });
    return json({ ID: id });
  } catch (error) {
    if (!(error instanceof Refused) || error.status !== 400) throw error;
    return { ...json({ Error: error.message }), status: 400 };
  }
}

async function setTags({ mailbox, body }: Call): Promise<Reply> {
  const { IDs, Tags } = readJson(body) as { IDs?: unknown; Tags?: unknown };
  const tags = (Array.isArray(Tags) ? Tags : []).map(cleanTag).filter(Boolean);
  if (Array.isArray(IDs)) await mailbox.mark(IDs.map(String), { tags });
  return ok();
}

async function setRead(call: Call): Promise<Reply> {
  const { IDs, Search: search, Read } = readJson(call.body) as Record<string, unknown>;
  await call.mailbox.mark(await chosen(call, IDs, search), { read: Read === true });
  return ok();
}

async function remove({ mailbox, body }: Call): Promise<Reply> {
  // As in Mailpit, a body that is not JSON deletes all messages.
  const { IDs: ids } = readJson(body, {}) as { IDs?: unknown };
  if (Array.isArray(ids) && ids.length > 0) await mailbox.remove(ids.map(String));
  else await mailbox.empty();
  return ok();
}

async function raw(call: Call): Promise<Reply> {
  const id = await messageId(call);
  const isDownload = call.query.get('dl') === '1';
  const headers = { ...(isDownload && { 'content-disposition': `attachment; filename="${id}.eml"` }) };
  return { type: 'text/plain; charset=utf-8', body: await call.mailbox.raw(id), headers };
}

async function htmlCheck(call: Call): Promise<Reply> {
  const id = await messageId(call, NOT_FOUND);
  const { html } = await call.mailbox.read(id);
  if (!html) throw new Refused(400, 'message does not contain HTML');
  return json(htmlCheckOf(await call.mailbox.lint(id), html));
}

const off = (words: string) => async (): Promise<Reply> => text(words, 400);
/** Mailpit's routes that its clients use. */
export const MAILPIT: readonly Route[] = [
  route('GET', '/api/v1/messages', (call) => page(call, EVERYTHING)),
  route('PUT', '/api/v1/messages', setRead),
  route('DELETE', '/api/v1/messages', remove),
  route('GET', '/api/v1/search', (call) => page(call, givenSearch(call.query))),
  route('DELETE', '/api/v1/search', async ({ mailbox, query }) => {
    await mailbox.remove((await find(mailbox, givenSearch(query))).map(idOf));
    return ok();
  }),
  route('POST', '/api/v1/send', send),
  route('GET', '/api/v1/tags', async ({ mailbox }) => json(tagsOf(await mailbox.all()))),
  route('PUT', '/api/v1/tags', setTags),
  route('PUT', '/api/v1/tags/:tag', async ({ mailbox, path, body }) => {
    const to = cleanTag((readJson(body) as { Name?: unknown }).Name ?? '');
    if (to === '') throw new Refused(400, 'invalid tag name: ');
    return replaceTag(mailbox, path.tag ?? '', to);
  }),
  route('DELETE', '/api/v1/tags/:tag', ({ mailbox, path }) => replaceTag(mailbox, path.tag ?? '')),
  route('GET', '/api/v1/message/:id', async (call) => json(messageOf(await open(call, 'attachmentContent')))),
  route('GET', '/api/v1/message/:id/headers', async (call) => {
    const id = await messageId(call);
    return json(headersOf(await call.mailbox.read(id), await call.mailbox.raw(id)));
  }),
  route('GET', '/api/v1/message/:id/raw', raw),
  route('GET', '/api/v1/message/:id/part/:partId', part),
  route('GET', '/api/v1/message/:id/part/:partId/thumb', thumbnail),
  route('GET', '/api/v1/message/:id/html-check', htmlCheck),
  route('GET', '/api/v1/message/:id/link-check', async (call) =>
    json(linksOf(await call.mailbox.read(await messageId(call, NOT_FOUND)))),
  ),
  route('GET', '/api/v1/message/:id/sa-check', async () => text('File not found\n', 404)),
  route('POST', '/api/v1/message/:id/release', off('SMTP relay is not configured')),
  route('GET', '/api/v1/chaos', async ({ mailbox }) => json(await getChaos(mailbox))),
  route('PUT', '/api/v1/chaos', async ({ mailbox, body }) => json(await setChaos(mailbox, body))),
  route('GET', '/api/v1/info', info),
  route('GET', '/api/v1/webui', async () => json(WEB_UI)),
  route('GET', '/view/:file', view),
];
