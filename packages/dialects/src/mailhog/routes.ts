import { NOT_FOUND, phrase, Refused } from '../api.ts';
import { idOf, type Mailbox } from '../mailbox.ts';
import { type Call, json, numberOf, type Reply, type Route, route, text } from '../route.ts';
import { fieldOf, mailHogMessage, partsOf } from './message.ts';

// MailHog's HTTP API (release 1.0), versions 1 and 2.

/** The content type of all JSON responses except searches. */
const textJson = (value: unknown): Reply => ({ ...json(value), type: 'text/json' });
const done = (): Reply => text('', 200, 'text/json');

const DEFAULT_LIMIT = 50;
/** Largest page: a list contains complete sources. */
const MAX_LIMIT = 250;

type Message = ReturnType<typeof mailHogMessage>;

async function messageOf(mailbox: Mailbox, id: string): Promise<Message> {
  const [message, raw] = await Promise.all([mailbox.read(id), mailbox.raw(id)]);
  return mailHogMessage(message, raw);
}

/** Fetches messages one after another, so that one request holds few sources in memory. */
async function messagesOf(mailbox: Mailbox, ids: readonly string[]): Promise<Message[]> {
  const messages: Message[] = [];
  for (const id of ids) messages.push(await messageOf(mailbox, id));
  return messages;
}

/** A page of a list in the format of version 2. */
async function page({ mailbox, query }: Call, ids: readonly string[]) {
  const start = numberOf(query, 'start', 0);
  const limit = Math.min(numberOf(query, 'limit', DEFAULT_LIMIT) || DEFAULT_LIMIT, MAX_LIMIT);
  const shown = ids.slice(start, start + limit);
  const items = await messagesOf(mailbox, shown);
  return { total: ids.length, count: items.length, start, items };
}

async function search(call: Call): Promise<Reply> {
  const kind = call.query.get('kind') ?? '';
  const words = (call.query.get('query') ?? '').trim();
  if (!/^(from|to|containing)$/.test(kind) || words === '') throw new Refused(400, '');
  const q = kind === 'containing' ? phrase(words) : `${kind}:${phrase(words)}`;
  return json(await page(call, (await call.mailbox.listWithin(q, call.wait)).map(idOf)));
}

function nullIfGone(error: unknown): null {
  if (error instanceof Refused && error.status === 404) return null;
  throw error;
}

const all = async ({ mailbox, wait }: Call): Promise<string[]> =>
  (await mailbox.listWithin('', wait)).map(idOf);

async function part({ mailbox, path }: Call): Promise<Reply> {
  const found = partsOf(await messageOf(mailbox, path.id ?? ''))[Number(path.part)];
  if (!found) throw new Refused(404, NOT_FOUND);
  const field = (name: string): string => fieldOf(found.Headers, name);
  const encoding = field('content-transfer-encoding').trim().toLowerCase();
  return {
    type: field('content-type') || 'text/plain',
    body: encoding === 'base64' ? Buffer.from(found.Body, 'base64') : found.Body,
    headers: {
      'content-disposition':
        field('content-disposition') || `attachment; filename="${path.id}-part-${path.part}"`,
    },
  };
}

async function download({ mailbox, path }: Call): Promise<Reply> {
  const id = path.id ?? '';
  const headers = { 'content-disposition': `attachment; filename="${id}.eml"` };
  return { type: 'message/rfc822', body: await mailbox.raw(id), headers };
}

/** MailHog's routes that its clients use. */
export const MAILHOG: readonly Route[] = [
  route('GET', '/api/v2/messages', async (call) => textJson(await page(call, await all(call)))),
  route('GET', '/api/v2/search', search),
  // Jim, MailHog's chaos monkey, is disabled.
  route('GET', '/api/v2/jim', async () => text('', 404)),
  route('GET', '/api/v2/outgoing-smtp', async () => json({})),
  route('GET', '/api/v1/messages', async (call) =>
    textJson(await messagesOf(call.mailbox, (await all(call)).slice(0, MAX_LIMIT))),
  ),
  route('DELETE', '/api/v1/messages', async ({ mailbox }) => {
    await mailbox.empty();
    return done();
  }),
  route('GET', '/api/v1/messages/:id', async ({ mailbox, path }) =>
    // MailHog returns null for an unknown message, and no error.
    textJson(await messageOf(mailbox, path.id ?? '').catch(nullIfGone)),
  ),
  route('DELETE', '/api/v1/messages/:id', async ({ mailbox, path }) => {
    await mailbox.remove([path.id ?? '']);
    return done();
  }),
  route('GET', '/api/v1/messages/:id/download', download),
  route('GET', '/api/v1/messages/:id/mime/part/:part/download', part),
  route('POST', '/api/v1/messages/:id/release', async () => text('', 404)),
];
