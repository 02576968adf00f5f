import { readFileSync, writeFileSync } from 'node:fs';
import { createTransport } from 'nodemailer';

/*
 * One order of calls, before and after the mails of mails.json, for a server with the interface of Mailpit or
 * MailHog, and its answers: those of Mailpit 1.30.5, empty and with --enable-chaos, and of MailHog 1.0.1, are recorded
 * in the same files by `node calls.ts mailpit http://127.0.0.1:8025 1025`, and compared by recorded.test.ts.
 */

/** What a client sees of an answer, without what differs from run to run. */
export interface Answer {
  status: number;
  type: string;
  location?: string;
  disposition?: string;
  body: unknown;
}

interface Recorded extends Answer {
  /** Method, path and body: JSON, or a text that is sent as it is. */
  call: [method: string, path: string, body?: unknown];
}

export interface Recording {
  before: Record<string, Recorded>;
  after: Record<string, Recorded>;
}

export type Dialect = 'mailpit' | 'mailhog';

const LISTS: Record<Dialect, string> = { mailpit: '/api/v1/messages', mailhog: '/api/v2/messages' };
/** The search whose answer is recorded in full. */
const SHOWN = '/api/v1/search?query=from:shop';

const readJson = (name: string) => JSON.parse(readFileSync(new URL(name, import.meta.url), 'utf8'));
export const recordingOf = (dialect: Dialect): Recording => readJson(`${dialect}-recorded.json`);
/** Envelope recipients, and the lines of the source. */
const MAILS: { to: string[]; source: string[] }[] = readJson('mails.json');

/** Differ in each run, or by the length of what a server writes on top. */
const VOLATILE =
  /^(ID|PartID|Created|Helo|Size|Database|DatabaseSize|Version|LatestVersion|RuntimeStats|Received)$/;
const shapeOf = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.slice(0, 1).map(shapeOf)
    : value !== null && typeof value === 'object'
      ? Object.fromEntries(Object.entries(value).map(([key, one]) => [key, shapeOf(one)]))
      : value === null
        ? 'null'
        : typeof value;

/** Lines that a server writes on top. */
const withoutTrace = (source: string): string =>
  source.replace(/^(?:Return-Path|Received): (?:.*\r\n[ \t])*.*\r\n/gm, '');

function steady(value: unknown, key = ''): unknown {
  if (VOLATILE.test(key) || (key === 'MessageID' && !/^(welcome|second)@/.test(String(value))))
    return shapeOf(value);
  if (key === 'Message-ID' && !/welcome|second/.test(String(value))) return shapeOf(value);
  if (key === 'Data') return withoutTrace(String(value));
  if (key === 'Date' && typeof value === 'string')
    return value.startsWith('20') && !value.startsWith('2020') ? 'now' : Date.parse(value);
  if (Array.isArray(value)) return value.map((one) => steady(one));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, steady(one, name)]));
}

/** The platforms that a report names are those of its data. */
const checkOf = (report: unknown): unknown =>
  typeof report === 'string'
    ? report
    : shapeOf({
        ...(report as object),
        Platforms: Object.values((report as { Platforms: object }).Platforms),
      });

/** One answer of a search and of a list is recorded in full; of the others whom they found. */
function briefly(path: string, body: unknown): unknown {
  const { messages, items } = (body ?? {}) as {
    messages?: { Subject: string }[];
    items?: { Content: { Headers: { Subject: string[] } } }[];
  };
  if (messages && path.startsWith('/api/v1/search?') && path !== SHOWN)
    return messages.map(({ Subject }) => Subject);
  if (!items || path === LISTS.mailhog) return body;
  return { ...(body as object), items: items.map(({ Content }) => Content.Headers.Subject) };
}

/** @param ids of messages and parts, which are put into paths and bodies and taken out of answers */
async function answerTo(
  { call: [method, path, body] }: Recorded,
  base: string,
  headers: Record<string, string>,
  ids: Record<string, string>,
): Promise<Answer> {
  const filled = (given: string): string => given.replaceAll(/\{(\w+)\}/g, (all, name) => ids[name] ?? all);
  const sent = typeof body === 'string' ? body : JSON.stringify(body);
  const response = await fetch(base + filled(path), {
    method,
    redirect: 'manual',
    // The original states no type of what it compresses.
    headers: {
      ...headers,
      'accept-encoding': 'identity',
      ...(sent && { 'content-type': 'application/json' }),
    },
    ...(sent && { body: filled(sent) }),
  });
  const type = response.headers.get('content-type') ?? '';
  const content = await response.text();
  const named = (given: string): string =>
    Object.entries(ids).reduce(
      (text, [name, id]) => (id.length > 9 ? text.replaceAll(id, `{${name}}`) : text),
      given,
    );
  const shown =
    /^(application|text)\/json/.test(type) && content !== ''
      ? briefly(path, steady(JSON.parse(content)))
      : named(withoutTrace(content).replaceAll(/\/part\/[\w.]+/g, '/part/{part}'));
  const location = response.headers.get('location');
  const disposition = response.headers.get('content-disposition');
  return {
    status: response.status,
    type,
    ...(location && { location: named(location) }),
    ...(disposition && { disposition: named(disposition) }),
    body: path.includes('html-check') ? checkOf(shown) : type.startsWith('image/') ? 'bytes' : shown,
  };
}

interface Listed {
  total: number;
  messages?: { ID: string }[];
  items?: { ID: string }[];
}

/** Makes all calls to an empty server. */
export async function makeCalls(
  dialect: Dialect,
  url: string,
  smtp: { host: string; port: number },
  headers: Record<string, string> = {},
): Promise<Recording> {
  const calls = recordingOf(dialect);
  const ids: Record<string, string> = {};
  const make = async (group: Record<string, Recorded>) => {
    const answers: Record<string, Recorded> = {};
    for (const [name, one] of Object.entries(group))
      answers[name] = { call: one.call, ...(await answerTo(one, url, headers, ids)) };
    return answers;
  };
  const ask = async (path: string) => (await fetch(url + path, { headers })).json();
  const before = await make(calls.before);
  const transport = createTransport({ ...smtp, secure: false, ignoreTLS: true });
  for (const [index, { to, source }] of MAILS.entries()) {
    const raw = source.map((line) => `${line}\r\n`).join('');
    await transport.sendMail({ envelope: { from: 'shop@example.com', to }, raw });
    let listed: Listed;
    do listed = (await ask(LISTS[dialect])) as Listed;
    while (listed.total <= index);
    ids[['welcome', 'second', 'odd'][index] ?? ''] = (listed.messages ?? listed.items)?.[0]?.ID ?? '';
  }
  transport.close();
  if (dialect === 'mailpit') {
    const shown = await ask(`/api/v1/message/${ids.welcome}`);
    const { Attachments, Inline } = shown as Record<'Attachments' | 'Inline', [{ PartID: string }]>;
    Object.assign(ids, { file: Attachments[0].PartID, picture: Inline[0].PartID });
  }
  return { before, after: await make(calls.after) };
}

if (import.meta.main) {
  const [dialect, url = '', port] = process.argv.slice(2);
  const made = await makeCalls(dialect as Dialect, url, { host: '127.0.0.1', port: Number(port) });
  const rows = (group: Record<string, Recorded>) =>
    Object.entries(group).map(([name, one]) => `${JSON.stringify(name)}: ${JSON.stringify(one)}`);
  const groups = Object.entries(made).map(([name, group]) => `"${name}": {\n${rows(group).join(',\n')}\n}`);
  writeFileSync(new URL(`${dialect}-recorded.json`, import.meta.url), `{${groups.join(',\n')}}\n`);
}
