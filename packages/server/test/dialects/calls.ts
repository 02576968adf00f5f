import { createTransport } from 'nodemailer';

/*
 * One order of mails and calls for a server with the interface of Mailpit or MailHog: made against Mayfly by recorded.test.ts, and once
 * against Mailpit 1.30.5, empty and with --enable-chaos, and against MailHog 1.0.1:
 * `node calls.ts mailpit http://127.0.0.1:8025 1025 > mailpit-recorded.json`
 */

/** What a client sees of an answer, without what differs from run to run. */
export interface Answer {
  status: number;
  type: string;
  location?: string;
  disposition?: string;
  body: unknown;
}

const lines = (...all: string[]): string => `${all.join('\r\n')}\r\n`;
const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** Envelope recipients and source. */
const MAILS: readonly [string[], string][] = [
  [
    ['ada@example.org', 'bob@example.org', 'carl@example.net'],
    lines(
      'From: Shop <shop@example.com>',
      'To: Ada <ada@example.org>',
      'Cc: bob@example.org',
      'Reply-To: help@example.com',
      'Subject: Welcome Ada',
      'Message-ID: <welcome@example.com>',
      'Date: Thu, 02 Jan 2020 03:04:05 +0000',
      'List-Unsubscribe: <https://example.com/u>, <mailto:u@example.com>',
      'MIME-Version: 1.0',
      'Content-Type: multipart/mixed; boundary="m"',
      '',
      '--m',
      'Content-Type: multipart/related; boundary="r"',
      '',
      '--r',
      'Content-Type: multipart/alternative; boundary="a"',
      '',
      '--a',
      'Content-Type: text/plain; charset=utf-8',
      '',
      'Your code is 482913',
      'See https://example.com/plain',
      '--a',
      'Content-Type: text/html; charset=utf-8',
      '',
      '<p style="gap: 1px">Hi <img src="cid:logo@x"> <img src="http://192.168.0.1/far.png">',
      '<a href="https://127.0.0.1/confirm?t=1">confirm</a></p>',
      '--a--',
      '--r',
      'Content-Type: image/png; name=logo.png',
      'Content-ID: <logo@x>',
      'Content-Disposition: inline; filename=logo.png',
      'Content-Transfer-Encoding: base64',
      '',
      PIXEL,
      '--r--',
      '--m',
      'Content-Type: text/plain; name=a.txt',
      'Content-Disposition: attachment; filename=a.txt',
      'Content-Transfer-Encoding: base64',
      '',
      'aGVsbG8=',
      '--m--',
    ),
  ],
  [
    ['eve@example.org'],
    lines(
      'From: shop@example.com',
      'To: eve@example.org',
      'Subject: Second mail',
      'Message-ID: <second@example.com>',
      'Date: Thu, 02 Jan 2020 03:05:05 +0200',
      'Content-Type: text/plain; charset=utf-8',
      '',
      'plain   only,',
      'in two lines',
    ),
  ],
  [['x@example.org'], lines('Subject: no from, no to', '', 'body')],
];

const SEARCHES = [
  ...['to:eve', 'to:bob', 'to:carl', 'to:"Ada"', 'cc:bob', 'bcc:carl', 'bcc:x@example.org'],
  ...['to:x@example.org'],
  ...['reply-to:help', 'addressed:carl', 'from:shop', 'from:Shop', 'is:unread', 'is:read', 'has:attachment'],
  ...['has:inline', '-subject:second', '!to:eve', '-to:bob', '"Welcome Ada"', 'welcome second', 'larger:1k'],
  ...['smaller:1k', 'after:2020-01-01', 'before:2020-01-01', 'before:2100-01-01', '-before:2020-01-01'],
  ...['after:"1 Jan 2020"', 'before:2020/01/31', 'tag:x', '-tag:x', 'is:tagged', '-is:read'],
  ...['-has:attachment'],
  ...['message-id:second', 'confirm', 'hi confirm', 'elc', 'subject:elcom', 'subject:"welcome ada"'],
  ...['plain only'],
  ...['"plain only"', 'bogus:value', 'is:nonsense', 'larger:x', 'after:nonsense', '""', '-', 'TO:EVE'],
  ...['482913'],
  ...['example.com/plain', 'a.txt', 'help@example.com', '"your code"', '127.0.0.1/confirm', '"only, in"'],
];

const SHOWN = '/api/v1/search?query=from:shop';
type Call = [name: string, method: string, path: string, body?: unknown];
const json = (value: unknown): string => JSON.stringify(value);
const get = (name: string, path: string): Call => [name, 'GET', path];
const message = (path: string): string => `/api/v1/message/${path}`;
const FROM = { Email: 'me@example.com', Name: 'Me' };
const YOU = [{ Email: 'you@example.com', Name: 'You' }];

const EMPTY: readonly Call[] = [
  get('list of none', '/api/v1/messages'),
  get('search of none', SHOWN),
  get('latest of none', message('latest')),
  get('headers of none', message('latest/headers')),
  get('check of none', message('latest/html-check')),
  get('page of none', '/view/latest.html'),
  get('newest page of none', '/view/latest'),
  get('tags of none', '/api/v1/tags'),
  get('info', '/api/v1/info'),
  get('configuration', '/api/v1/webui'),
  get('alive', '/livez'),
  get('ready', '/readyz'),
];

const READING: readonly Call[] = [
  get('list', '/api/v1/messages'),
  get('list of one', '/api/v1/messages?limit=1'),
  get('list from the second', '/api/v1/messages?start=1&limit=1'),
  get('list behind the end', '/api/v1/messages?start=9'),
  get('list without a limit', '/api/v1/messages?limit=0'),
  get('list with a bad limit', '/api/v1/messages?limit=x&start=-1'),
  get('list before', '/api/v1/messages?before=2020-01-01'),
  get('search', SHOWN),
  get('search with a limit of 0', '/api/v1/search?query=from:shop&limit=0'),
  get('search from the second', '/api/v1/search?query=from:shop&start=1'),
  get('search without a match', '/api/v1/search?query=nothing-like-it'),
  get('search without a query', '/api/v1/search'),
  get('search in a zone', '/api/v1/search?query=after:2020-01-01&tz=Europe/Berlin'),
  get('search in no zone', '/api/v1/search?query=after:2020-01-01&tz=Nowhere'),
  ...SEARCHES.map((query) => get(`search ${query}`, `/api/v1/search?query=${encodeURIComponent(query)}`)),
  get('message', message('{welcome}')),
  get('message of a plain mail', message('{second}')),
  get('message without fields', message('{odd}')),
  get('message, unknown', message('nope')),
  get('latest', message('latest')),
  get('latest of a search', message('latest?query=subject:welcome')),
  get('latest of a search without a match', message('latest?query=nope')),
  get('headers', message('{welcome}/headers')),
  get('headers, unknown', message('nope/headers')),
  get('raw', message('{second}/raw')),
  get('raw to keep', message('{second}/raw?dl=1')),
  get('raw, unknown', message('nope/raw')),
  get('part', message('{welcome}/part/{file}')),
  get('part, inline', message('{welcome}/part/{picture}')),
  get('part, unknown', message('{welcome}/part/99')),
  get('part of an unknown message', message('nope/part/1')),
  get('small picture', message('{welcome}/part/{picture}/thumb')),
  get('small picture of a file', message('{welcome}/part/{file}/thumb')),
  get('small picture, unknown', message('{welcome}/part/99/thumb')),
  get('page', '/view/{welcome}.html'),
  get('page of a plain mail', '/view/{second}.html'),
  get('page, unknown', '/view/nope.html'),
  get('text', '/view/{welcome}.txt'),
  get('text of a plain mail', '/view/{second}.txt'),
  get('text, unknown', '/view/nope.txt'),
  get('newest page', '/view/latest'),
  get('newest page of a search', '/view/latest?query=subject:welcome'),
  get('newest page of a search without a match', '/view/latest?query=nope'),
  get('HTML check', message('{welcome}/html-check')),
  get('HTML check of a plain mail', message('{second}/html-check')),
  get('HTML check, unknown', message('nope/html-check')),
  get('link check of a plain mail', message('{second}/link-check')),
  get('link check', message('{welcome}/link-check')),
  get('link check, unknown', message('nope/link-check')),
  get('SpamAssassin', message('{welcome}/sa-check')),
  get('no such call', '/api/v1/nothing'),
];

const CHANGING: readonly Call[] = [
  ['mark all as read', 'PUT', '/api/v1/messages', json({ Read: true })],
  ['mark a search as unread', 'PUT', '/api/v1/messages', json({ Search: 'to:ada', Read: false })],
  ['mark an unknown one', 'PUT', '/api/v1/messages', json({ IDs: ['nope'], Read: true })],
  ['mark by both', 'PUT', '/api/v1/messages', json({ IDs: ['{welcome}'], Search: 'x', Read: false })],
  ['mark without JSON', 'PUT', '/api/v1/messages', 'not json'],
  ['mark without a body', 'PUT', '/api/v1/messages'],
  get('what is unread', '/api/v1/search?query=is:unread'),
  ['tag', 'PUT', '/api/v1/tags', json({ IDs: ['{welcome}'], Tags: ['one', 'Two words', 'b#d', 'a@b', ' '] })],
  ['tag none', 'PUT', '/api/v1/tags', json({})],
  ['tag without JSON', 'PUT', '/api/v1/tags', 'x'],
  get('tags', '/api/v1/tags'),
  get('search of a tag', '/api/v1/search?query=tag:"two words"'),
  get('list with tags', '/api/v1/messages'),
  ['rename a tag', 'PUT', '/api/v1/tags/one', json({ Name: 'uno' })],
  ['rename a tag to another', 'PUT', '/api/v1/tags/uno', json({ Name: 'Two words' })],
  ['rename an unknown tag', 'PUT', '/api/v1/tags/none', json({ Name: 'uno' })],
  ['rename a tag to nothing', 'PUT', '/api/v1/tags/uno', json({ Name: '' })],
  ['remove a tag', 'DELETE', '/api/v1/tags/uno'],
  ['remove an unknown tag', 'DELETE', '/api/v1/tags/uno'],
  [
    'send',
    'POST',
    '/api/v1/send',
    json({ From: FROM, To: YOU, Subject: 'By JSON', Text: 'T', HTML: '<b>H</b>' }),
  ],
  get('what was sent', message('latest')),
  ['send to a bad address', 'POST', '/api/v1/send', json({ From: FROM, To: [{ Email: 'nonsense' }] })],
  ['send without JSON', 'POST', '/api/v1/send', 'x'],
  ['send nothing', 'POST', '/api/v1/send', json({})],
  ['send without a sender', 'POST', '/api/v1/send', json({ To: YOU })],
  ['send to none', 'POST', '/api/v1/send', json({ From: FROM, Subject: 'x' })],
  ['send an own header', 'POST', '/api/v1/send', json({ From: FROM, To: YOU, Headers: { Subject: 'x' } })],
  [
    'send no base64',
    'POST',
    '/api/v1/send',
    json({ From: FROM, To: YOU, Attachments: [{ Content: '%', Filename: 'a' }] }),
  ],
  ['release', 'POST', message('{welcome}/release'), json({ To: ['a@example.com'] })],
  get('chaos', '/api/v1/chaos'),
  ['chaos for recipients', 'PUT', '/api/v1/chaos', json({ Recipient: { ErrorCode: 450, Probability: 100 } })],
  get('chaos that was set', '/api/v1/chaos'),
  [
    'chaos with a bad code',
    'PUT',
    '/api/v1/chaos',
    json({ Recipient: { ErrorCode: 200, Probability: 100 } }),
  ],
  ['chaos with a bad chance', 'PUT', '/api/v1/chaos', json({ Recipient: { Probability: 101 } })],
  ['chaos without JSON', 'PUT', '/api/v1/chaos', 'x'],
  ['chaos by default', 'PUT', '/api/v1/chaos', json({})],
  ['delete a search', 'DELETE', '/api/v1/search?query=to:eve'],
  ['delete without a search', 'DELETE', '/api/v1/search'],
  ['delete one', 'DELETE', '/api/v1/messages', json({ IDs: ['{welcome}'] })],
  get('what is left', '/api/v1/messages'),
  ['preflight', 'OPTIONS', '/api/v1/messages'],
  ['another method', 'POST', '/api/v1/messages', json({})],
  ['delete all', 'DELETE', '/api/v1/messages'],
  get('what is left after that', '/api/v1/messages'),
];

const HOG = '/api/v1/messages';
const HOG2 = '/api/v2/messages';
const hogSearch = (name: string, query: string) => get(name, `/api/v2/search?${query}`);
const HOG_EMPTY: readonly Call[] = [
  get('list of none', HOG2),
  get('first list of none', HOG),
  hogSearch('search of none', 'kind=to&query=x'),
];
const HOG_READING: readonly Call[] = [
  get('list', HOG2),
  get('list of one', `${HOG2}?limit=1`),
  get('list from the second', `${HOG2}?start=1&limit=1`),
  get('list behind the end', `${HOG2}?start=9`),
  get('list with a limit of 0', `${HOG2}?limit=0`),
  get('list with a bad limit', `${HOG2}?limit=x&start=-1`),
  get('first list', HOG),
  hogSearch('search to', 'kind=to&query=ADA@'),
  hogSearch('search to, of the envelope', 'kind=to&query=carl@example.net'),
  hogSearch('search from', 'kind=from&query=shop'),
  hogSearch('search from, a page', 'kind=from&query=shop&start=1&limit=1'),
  hogSearch('search containing', 'kind=containing&query=482913'),
  hogSearch('search containing, of the subject', 'kind=containing&query=second'),
  hogSearch('search without a match', 'kind=containing&query=nope'),
  hogSearch('search of another kind', 'kind=subject&query=a'),
  hogSearch('search without a query', 'kind=to'),
  get('message', `${HOG}/{second}`),
  get('message, unknown', `${HOG}/nope`),
  get('download', `${HOG}/{second}/download`),
  get('part', `${HOG}/{welcome}/mime/part/1/download`),
  get('part, first', `${HOG}/{welcome}/mime/part/0/download`),
  get('monkey', '/api/v2/jim'),
  get('outgoing servers', '/api/v2/outgoing-smtp'),
];
const HOG_CHANGING: readonly Call[] = [
  ['delete one', 'DELETE', `${HOG}/{welcome}`],
  ['delete one again', 'DELETE', `${HOG}/{welcome}`],
  get('what is left', `${HOG2}?limit=9`),
  ['delete all', 'DELETE', HOG],
  get('what is left after that', HOG2),
];

/** The calls before and after the mails, and whether a list is asked that marks nothing. */
const DIALECTS = {
  mailpit: { empty: EMPTY, reading: READING, changing: CHANGING, list: '/api/v1/messages' },
  mailhog: { empty: HOG_EMPTY, reading: HOG_READING, changing: HOG_CHANGING, list: HOG2 },
} as const;
export type Dialect = keyof typeof DIALECTS;

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
  if (!items || path === HOG2) return body;
  return { ...(body as object), items: items.map(({ Content }) => Content.Headers.Subject) };
}

/** @param ids of messages and parts, which are put into paths and bodies and taken out of answers */
async function call(
  base: string,
  headers: Record<string, string>,
  ids: Record<string, string>,
  [, method, path, body]: Call,
): Promise<Answer> {
  const filled = (given: string): string => given.replaceAll(/\{(\w+)\}/g, (all, name) => ids[name] ?? all);
  const response = await fetch(base + filled(path), {
    method,
    redirect: 'manual',
    headers: {
      ...headers,
      // The original states no type of what it compresses.
      'accept-encoding': 'identity',
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(typeof body === 'string' && { body: filled(body) }),
  });
  const type = response.headers.get('content-type') ?? '';
  const content = await response.text();
  const unnamed = withoutTrace(content).replaceAll(/\/part\/[\w.]+/g, '/part/{part}');
  const named = (given: string): string =>
    Object.entries(ids).reduce(
      (text, [name, id]) => (id.length > 9 ? text.replaceAll(id, `{${name}}`) : text),
      given,
    );
  const shown =
    /^(application|text)\/json/.test(type) && content !== ''
      ? briefly(path, steady(JSON.parse(content)))
      : named(unnamed);
  const [location, disposition] = ['location', 'content-disposition'].map((name) =>
    response.headers.get(name),
  );
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

/** Makes all calls. @param url of an empty server */
export async function makeCalls(
  dialect: Dialect,
  url: string,
  smtp: { host: string; port: number },
  headers: Record<string, string> = {},
): Promise<Record<string, Answer>> {
  const answers: Record<string, Answer> = {};
  const ids: Record<string, string> = {};
  const make = async (calls: readonly Call[]) => {
    for (const one of calls) answers[one[0]] = await call(url, headers, ids, one);
  };
  const ask = async (path: string) => (await fetch(url + path, { headers })).json();
  const { empty, reading, changing, list } = DIALECTS[dialect];
  await make(empty);
  const transport = createTransport({ ...smtp, secure: false, ignoreTLS: true });
  for (const [index, [to, raw]] of MAILS.entries()) {
    await transport.sendMail({ envelope: { from: 'shop@example.com', to }, raw });
    let listed: Listed;
    do listed = (await ask(list)) as Listed;
    while (listed.total <= index);
    ids[['welcome', 'second', 'odd'][index] ?? ''] = (listed.messages ?? listed.items)?.[0]?.ID ?? '';
  }
  transport.close();
  if (dialect === 'mailpit') Object.assign(ids, await partsOf(ask, ids.welcome ?? ''));
  await make(reading);
  await make(changing);
  return answers;
}

async function partsOf(ask: (path: string) => Promise<unknown>, id: string): Promise<Record<string, string>> {
  const { Attachments, Inline } = (await ask(message(id))) as Record<
    'Attachments' | 'Inline',
    [{ PartID: string }]
  >;
  return { file: Attachments[0].PartID, picture: Inline[0].PartID };
}

if (import.meta.main) {
  const [dialect, url = '', port] = process.argv.slice(2);
  const answers = Object.entries(
    await makeCalls(dialect as Dialect, url, { host: '127.0.0.1', port: Number(port) }),
  );
  const rows = answers.map(([name, answer]) => `${JSON.stringify(name)}: ${JSON.stringify(answer)}`);
  process.stdout.write(`{\n${rows.join(',\n')}\n}\n`);
}
