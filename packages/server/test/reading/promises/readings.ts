import { buffer } from 'node:stream/consumers';
import { expect } from 'vitest';
import { fromBufferPromise } from 'yauzl';
import { run } from '../../../../client/src/cli/run.ts';
import type { ApiClient, Body } from '../../support/api-client.ts';
import { openStream } from '../../support/event-stream.ts';
import { contentOf, summaryOf, wholeMail } from './whole-mail.ts';

/** Where a mail is looked for: a server, and an inbox that has this one mail, or will have it. */
export interface Place {
  url: string;
  key: string;
  api: ApiClient;
  inbox: { id: string; address: string; token: string; cursor: string };
  /** The subject of the mail. */
  mail: string;
  /** Position of the account before the mail. */
  accountCursor: string;
  /** The id of the message, from the database, so that no operation of the API is asked before the one under test. */
  messageId(): Promise<string>;
  /** Bodies of webhook requests so far. */
  hooked(): Body[];
}

/** A way to look at mail. `look` fails unless it finds the mail, complete. */
export interface Reading {
  operation: string;
  name: string;
  look(place: Place): Promise<void>;
  /** It may begin before the mail is sent, and is answered when it is there. */
  isHeld?: boolean;
}

const row = (operation: string, name: string, look: Reading['look']): Reading => ({ operation, name, look });
const HELD = { isHeld: true };
/** Seconds; as long as the API allows, so that only what hangs ends by it. */
const WAIT = 60;
const inboxPath = ({ inbox }: Place): string => `/v1/inboxes/${inbox.id}`;
const messagePath = async (place: Place) => `${inboxPath(place)}/messages/${await place.messageId()}`;

async function ok(answer: ReturnType<ApiClient>, status = 200): Promise<Body> {
  const { status: was, body } = await answer;
  expect([was, was === status ? '' : body]).toEqual([status, '']);
  return body;
}

/** The row of the mail; in an account all rows that are listed are complete. */
function expectListed({ messages }: Body, { inbox, mail }: Place): void {
  for (const row of messages) expect(row).toMatchObject({ subject: expect.stringMatching(/./) });
  expect(messages.filter(({ inboxId }: Body) => inboxId === inbox.id)).toMatchObject([summaryOf(mail)]);
}

const listed = (name: string, query: (place: Place) => string, held = {}): Reading[] =>
  ['listMessages', 'listAccountMessages'].map((operation) => ({
    ...{ operation, name, ...held },
    look: async (place) => {
      const [path, cursor] =
        operation === 'listMessages' ? [inboxPath(place), place.inbox.cursor] : ['/v1', place.accountCursor];
      const text = query(place).replace('SINCE', cursor);
      expectListed(await ok(place.api('GET', `${path}/messages?limit=200&${text}`)), place);
    },
  }));

const LISTS: Reading[] = [
  ...listed('newest', () => ''),
  ...listed('poll', () => 'since=SINCE'),
  ...listed('poll of one inbox', ({ inbox }) => `since=SINCE&rcptTo=${inbox.address}`),
  ...listed('held', ({ inbox }) => `since=SINCE&rcptTo=${inbox.address}&wait=${WAIT}`, HELD),
  ...listed('held, by the subject', ({ mail }) => `subject=${mail}&wait=${WAIT}`, HELD),
  ...listed('by the text', ({ mail }) => `text=${mail}`),
  ...listed('by sender and attachment', ({ mail }) => `from=shop&hasAttachments=true&subject=${mail}`),
  ...listed('search', ({ mail }) => `q=code:482913 has:attachment ${mail}`),
  ...listed('search, held', ({ mail }) => `q=text:"This is ${mail}"&wait=${WAIT}`, HELD),
  row('listMessages', 'of the console', async (place) => {
    const { headers } = await place.api('POST', '/console/session');
    const cookie = headers.get('set-cookie')?.split(';')[0] ?? '';
    const sent = { as: null, headers: { cookie, 'sec-fetch-site': 'same-origin' } };
    expectListed(await ok(place.api('GET', `${inboxPath(place)}/messages`, sent)), place);
  }),
  row('listMessages', 'mf list', async ({ url, key, inbox, mail }) => {
    let out = '';
    const context = {
      ...{ env: { MAYFLY_URL: url, MAYFLY_API_KEY: key }, signal: new AbortController().signal },
      out: (text: string | Uint8Array) => {
        out += text;
      },
      note: () => undefined,
    };
    await run(['list', '--inbox', inbox.id], context);
    expect(out).toContain(`"${mail}"  from shop@example.org  code 482913`);
  }),
];

const waits = (name: string, match: (place: Place) => Body, rest: Body = {}): Reading => ({
  ...{ operation: 'waitForMessages', name, ...HELD },
  look: async (place) => {
    const body = { match: match(place), timeoutSeconds: WAIT, since: place.inbox.cursor, ...rest };
    const answer = await ok(place.api('POST', `${inboxPath(place)}/wait`, { body }));
    expect(answer).toMatchObject({ matched: true, messages: [contentOf(place.mail)] });
  },
});

/** A wait in vain, whose explanation must show the mail. */
async function explained(place: Place): Promise<Body> {
  const body = { match: { subject: 'never sent' }, timeoutSeconds: 0 };
  const answer = await ok(place.api('POST', `${inboxPath(place)}/wait`, { body }));
  expect(answer.explanation).toMatchObject({
    ...{ reason: 'timeout', seenCount: 1, causes: [{ code: 'not_matching' }] },
    seen: [{ message: summaryOf(place.mail) }],
  });
  return answer;
}

const WAITS: Reading[] = [
  waits('for anything', () => ({})),
  waits('by the subject', ({ mail }) => ({ subject: mail })),
  waits('by text, code and link', ({ mail }) => ({ text: mail, code: true, link: { kind: 'verify' } })),
  { ...waits('without waiting', ({ mail }) => ({ text: mail }), { timeoutSeconds: 0 }), isHeld: false },
  row('waitForMessages', 'in vain', async (place) => void (await explained(place))),
  row('waitForMessages', 'for silence', async (place) => {
    const body = { count: 0, timeoutSeconds: 0, match: { code: true } };
    const answer = await ok(place.api('POST', `${inboxPath(place)}/wait`, { body }));
    expect(answer).toMatchObject({ matched: false, messages: [contentOf(place.mail)] });
    expect(answer.explanation.summary).toContain(place.mail);
  }),
  row('getWait', 'that was in vain', async (place) => {
    const { waitId } = await explained(place);
    const { explanation } = await ok(place.api('GET', `${inboxPath(place)}/waits/${waitId}`));
    expect(explanation.seen).toMatchObject([{ message: summaryOf(place.mail) }]);
  }),
];

const streams = (operation: string, path: (place: Place) => string): Reading => ({
  ...{ operation, name: 'events', ...HELD },
  look: async (place) => {
    const reader = await openStream(place.url + path(place), { as: place.key });
    for (let isOwn = false; !isOwn; ) {
      const { data } = (await reader.nextEvent()) ?? {};
      if (data === undefined) throw new Error('The stream ended before the mail.');
      isOwn = data.inboxId === place.inbox.id;
      const expected = isOwn ? summaryOf(place.mail) : { subject: expect.stringMatching(/./) };
      expect(data.message).toMatchObject(expected);
    }
    reader.close();
  },
});

const SINGLE: Reading[] = [
  row('getMessage', 'in full', async (place) => {
    const message = await ok(place.api('GET', await messagePath(place)));
    expect(message).toMatchObject({ ...contentOf(place.mail), parseError: null });
  }),
  row('getMessage', 'with attachments', async (place) => {
    const path = `${await messagePath(place)}?include=attachmentContent`;
    const content = Buffer.from('a file').toString('base64');
    expect((await ok(place.api('GET', path))).attachments).toMatchObject([{ content }]);
  }),
  row('getRawMessage', 'source', async (place) => {
    expect(await ok(place.api('GET', `${await messagePath(place)}/raw`))).toContain(wholeMail(place.mail));
  }),
  row('getAttachment', 'bytes', async (place) => {
    const path = `${await messagePath(place)}/attachments/att_1`;
    expect((await ok(place.api('GET', path))).toString()).toBe('a file');
  }),
  row('markMessage', 'and shown', async (place) => {
    const marked = await ok(place.api('PATCH', await messagePath(place), { body: { read: true } }));
    expect(marked).toMatchObject({ ...summaryOf(place.mail), readAt: expect.any(String) });
  }),
  row('previewMessage', 'page', async (place) => {
    const { url } = await ok(place.api('POST', `${await messagePath(place)}/preview`, { body: {} }));
    expect(await ok(place.api('GET', new URL(url).pathname))).toContain(place.mail);
  }),
  row('lintMessage', 'findings', async (place) => {
    const { findings } = await ok(place.api('GET', `${await messagePath(place)}/lint`));
    expect(findings.length).toBeGreaterThan(0);
  }),
  row('replyToMessage', 'subject and sender', async (place) => {
    const body = { text: 'Thanks.' };
    const reply = await ok(place.api('POST', `${await messagePath(place)}/reply`, { body }), 201);
    expect(reply).toMatchObject({ subject: `Re: ${place.mail}`, to: ['shop@example.org'] });
  }),
  row('listThreads', 'subjects', async (place) => {
    const { threads } = await ok(place.api('GET', `${inboxPath(place)}/threads`));
    expect(threads).toMatchObject([{ subject: place.mail, entries: [{ subject: place.mail }] }]);
  }),
  row('getTimeline', 'with the Date of the mail', async (place) => {
    const { events } = await ok(place.api('GET', `${await messagePath(place)}/timeline`));
    const names = events.map(({ event }: Body) => event);
    for (const name of ['date-header', 'end-of-data', 'committed']) expect(names).toContain(name);
  }),
];

const counted = (inbox: Body) =>
  expect(inbox).toMatchObject({ messageCount: 1, lastMessageAt: expect.any(String) });

const WHOLE_INBOX: Reading[] = [
  row('getInbox', 'counts', async (place) => counted(await ok(place.api('GET', inboxPath(place))))),
  row('listInboxes', 'counts', async (place) => {
    counted((await ok(place.api('GET', `/v1/inboxes?address=${place.inbox.address}`))).inboxes[0]);
  }),
  row('getRunReport', 'counts', async (place) => {
    const { totals } = await ok(place.api('GET', `/v1/reports/runs?label.mail=${place.mail}`));
    expect(totals).toMatchObject({ inboxes: 1, inboxesWithoutMail: 0, messages: 1 });
  }),
  row('exportInbox', 'archive', async (place) => void (await exported(place))),
  row('importInbox', 'what was exported', async (place) => {
    const headers = { 'content-type': 'application/zip' };
    const body = await exported(place);
    const inbox = await ok(place.api('POST', '/v1/inboxes/import', { body, headers }), 201);
    const messages = await ok(place.api('GET', `/v1/inboxes/${inbox.id}/messages?text=${place.mail}`));
    expectListed(messages, { ...place, inbox });
  }),
];

async function exported(place: Place): Promise<Uint8Array> {
  const { status, bytes } = await place.api('GET', `${inboxPath(place)}/export`);
  expect(status).toBe(200);
  const zip = await fromBufferPromise(Buffer.from(bytes), { lazyEntries: true });
  const { value: first } = await zip.eachEntry().next();
  expect(String(await buffer(await zip.openReadStreamPromise(first)))).toContain(wholeMail(place.mail));
  return bytes;
}

const HOOKS: Reading[] = [
  {
    ...{ operation: 'createWebhook', name: 'body', ...HELD },
    look: async (place) => {
      const bodies = () => place.hooked().filter(({ data }) => data.inbox.id === place.inbox.id);
      await expect.poll(() => bodies().length).toBeGreaterThan(0);
      for (const { data } of bodies()) expect(data.message).toMatchObject(contentOf(place.mail));
    },
  },
  row('injectMessage', 'shown by its answer', async (place) => {
    const headers = { 'content-type': 'message/rfc822' };
    const body = wholeMail(place.mail);
    const injected = await ok(place.api('POST', `${inboxPath(place)}/messages`, { body, headers }), 201);
    expect(injected).toMatchObject({ ...contentOf(place.mail), parseError: null });
  }),
];

/** Every way to look at mail. An operation of the API must be here or in {@link SHOW_NO_MAIL}. */
export const READINGS: readonly Reading[] = [
  ...LISTS,
  ...WAITS,
  streams('streamInboxEvents', (place) => `${inboxPath(place)}/events?since=${place.inbox.cursor}`),
  streams('streamAccountEvents', ({ accountCursor }) => `/v1/events?since=${accountCursor}`),
  ...SINGLE,
  ...WHOLE_INBOX,
  ...HOOKS,
];

/** Operations whose answers say nothing of mail. */
export const SHOW_NO_MAIL: readonly string[] = [
  ...['createInbox', 'deleteInboxes', 'updateInbox', 'deleteInbox', 'expireInbox', 'generateAddress'],
  ...['setFaults', 'getFaults', 'deleteFaults', 'listLabels', 'deleteMessages', 'deleteMessage'],
  ...['listRefusals', 'listWebhooks', 'getWebhook', 'updateWebhook', 'deleteWebhook', 'rotateWebhookSecret'],
  ...['testWebhook', 'listWebhookDeliveries', 'replayWebhookDelivery', 'replayWebhookDeliveries'],
  ...['setOutcomes', 'getOutcomes', 'deleteOutcomes', 'advanceInbox', 'listSent'],
  ...['setProvider', 'getProvider', 'deleteProvider'],
  ...['createKey', 'listKeys', 'deleteKey', 'getUsage', 'listDomains', 'createAccount'],
];
