import { readdirSync } from 'node:fs';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { fromBufferPromise } from 'yauzl';
import { ZipFile } from 'yazl';
import type { Answer, Body } from '../support/api-client.ts';
import { useFolder } from '../support/folder.ts';
import { RECORDING, zipOf } from '../support/recording-archive.ts';
import { playSmtp } from '../support/smtp-script.ts';
import { appOfTest, ON_POSTGRES, TEST_KEY, useApp } from '../support/start-app.ts';

const app = useApp({ MAYFLY_SIGNUP_PLAN: 'free' });
/** For uploads of this file alone: others may be killed in the middle of theirs. */
const uploads = useFolder();
beforeAll(() => {
  vi.stubEnv('TMPDIR', uploads());
  return () => void vi.unstubAllEnvs();
});
const uploadsLeft = () => readdirSync(uploads()).filter((name) => name.startsWith('mayfly-upload-'));

async function filesOf(archive: Uint8Array): Promise<Map<string, Buffer>> {
  const files = new Map<string, Buffer>();
  const zip = await fromBufferPromise(Buffer.from(archive), { lazyEntries: true });
  for await (const entry of zip.eachEntry())
    files.set(entry.fileName, await buffer(await zip.openReadStreamPromise(entry)));
  return files;
}

const importZip = (body: Uint8Array, query = '', type = 'application/zip', from = app): Promise<Answer> =>
  from.api('POST', `/v1/inboxes/import${query}`, { body, headers: { 'content-type': type } });

const exported = async (id: string, from = app): Promise<Uint8Array> => {
  const { headers, bytes } = await from.api('GET', `/v1/inboxes/${id}/export`);
  expect(headers.get('content-type')).toBe('application/zip');
  return bytes;
};

const inboxOf = async (id: string): Promise<Body> => (await app.api('GET', `/v1/inboxes/${id}`)).body;

/** The messages of an inbox, oldest first, with their raw sources. */
async function messagesOf(id: string): Promise<{ message: Body; raw: Buffer }[]> {
  const messages = await app.messages({ id }, '?limit=200');
  return Promise.all(
    messages.reverse().map(async (summary) => {
      const path = `/v1/inboxes/${id}/messages/${summary.id}`;
      const [message, raw] = await Promise.all([app.api('GET', path), app.api('GET', `${path}/raw`)]);
      return { message: message.body, raw: Buffer.from(raw.bytes) };
    }),
  );
}

/** Sends bytes that no mail library would make, by a plain SMTP dialogue. */
async function sendRaw(to: string[], data: Buffer): Promise<void> {
  const recipients = to.map((address) => `RCPT TO:<${address}> → 250`);
  const stuffed = `${data.toString('latin1').replace(/^\./gm, '..')}\r\n.\r\n`;
  await playSmtp(app.smtp.port, [
    ...['→ 220', 'EHLO recorder.example → 250', 'MAIL FROM:<bounces+1@shop.example> → 250', ...recipients],
    ...['DATA → 354', { send: Buffer.from(stuffed, 'latin1'), expect: 250 }],
  ]);
}

/** Packs files as a program other than ours may do: with folders, data descriptors, ZIP64 and a comment. */
function packedAgain(files: Record<string, string>): Promise<Buffer> {
  const zip = new ZipFile();
  zip.addEmptyDirectory('signup/messages/');
  for (const [name, content] of Object.entries(files))
    zip.addReadStream(Readable.from([Buffer.from(content)]), name, { forceZip64Format: true });
  zip.end({ comment: 'packed again', forceZip64Format: true });
  return buffer(zip.outputStream);
}

const MIDNIGHT = '2026-01-01T00:00:00.000Z';
const client = { helo: 'x', remoteAddress: '192.0.2.1', tls: true };
const envelope = { mailFrom: 'a@x.example', rcptTo: ['old@mayfly.test'], ...client };
const recorded = (file: string, receivedAt = MIDNIGHT) => ({ file, receivedAt, size: 1, envelope });
/** Messages one minute after the other, with these sources. */
const recordingOfMails = (mails: string[], labels = {}, stepMs = 0) => {
  const at = (n: number) => new Date(Date.parse(MIDNIGHT) + n * stepMs).toISOString();
  const messages = mails.map((_, n) => recorded(String(n), at(n)));
  return recordingOf(messages, Object.fromEntries(mails.entries()), labels);
};
const recordingOf = (messages: object[], files: Record<string, string | Buffer> = {}, labels = {}) =>
  zipOf({
    'inbox.json': JSON.stringify({ ...RECORDING, inbox: { ...RECORDING.inbox, labels }, messages }),
    ...files,
  });
const mailOf = (subject: string) => `Subject: ${subject}\r\n\r\nText\r\n`;

describe('a recorded inbox', () => {
  it('is imported byte for byte, in its order, with its envelopes', async () => {
    const inbox = await app.createInbox({ labels: { run: '4711' } });
    const from = 'shop@example.org';
    const odd = 'subject: =?utf-8?q?caf=C3=A9?=\r\nX-8bit: \xe9\xff\r\n\r\n.dots\r\n..\r\n\0 \x80 end';
    await sendRaw([inbox.address, inbox.address.replace('@', '+tag@')], Buffer.from(odd, 'latin1'));
    await app.send({ from, to: inbox.address, subject: 'second', html: '<p>Code <b>482913</b></p>' });
    const attachments = [{ filename: 'a.txt', content: 'x' }];
    await app.send({ from, to: inbox.address, subject: 'third', attachments });
    const before = await messagesOf(inbox.id);

    const archive = await exported(inbox.id);
    const names = ['messages/00001.eml', 'messages/00002.eml', 'messages/00003.eml', 'inbox.json'];
    expect([...(await filesOf(archive)).keys()]).toEqual(names);
    const answer = await importZip(archive);

    const counts = { recordedMessages: 3, messageCount: 3, replayEndsAt: null };
    expect(answer).toMatchObject({ status: 201, body: counts });
    expect(answer.body.labels).toEqual({ run: '4711' });
    expect(answer.headers.get('location')).toBe(`/v1/inboxes/${answer.body.id}`);
    expect(answer.body.address).not.toBe(inbox.address);
    const after = await messagesOf(answer.body.id);
    expect(after.map(({ raw }) => raw)).toEqual(before.map(({ raw }) => raw));
    expect(after[0]?.message.envelope.rcptTo).toHaveLength(2);
    const contentOf = ({ message }: { message: Body }) => {
      const { id, inboxId, rcptTo, receivedAt, rawUrl, attachments, authentication, ...rest } = message;
      return { ...rest, files: attachments.map(({ url, ...one }: Body) => one) };
    };
    expect(after.map(contentOf)).toEqual(before.map(contentOf));
    // A recording is the same on the other engine, and comes back from there.
    const other = await appOfTest(ON_POSTGRES ? { MAYFLY_DATABASE_URL: '' } : {});
    const there = await importZip(archive, '', 'application/zip', other);
    const { body: back } = await importZip(await exported(there.body.id, other));
    expect((await messagesOf(back.id)).map(({ raw }) => raw)).toEqual(before.map(({ raw }) => raw));
    const as = answer.body.token;
    expect((await app.api('GET', `/v1/inboxes/${answer.body.id}`, { as })).status).toBe(200);
    expect((await app.api('GET', `/v1/inboxes/${inbox.id}`, { as })).status).toBe(404);
  });

  it('is exported with many messages without a warning of the process', async () => {
    const mails = Array.from({ length: 30 }, (_, n) => mailOf(String(n)));
    const { body } = await importZip(await recordingOfMails(mails));
    const warnings: Error[] = [];
    const note = (warning: Error) => warnings.push(warning);
    process.on('warning', note);
    expect((await filesOf(await exported(body.id))).size).toBe(31);
    await new Promise(setImmediate);
    process.off('warning', note);
    expect(warnings).toEqual([]);
  });

  it('is also taken from a form, as its first file', async () => {
    const archive = await recordingOf([recorded('a.eml')], { 'a.eml': mailOf('from a form') });
    const form = new FormData();
    form.set('file', new Blob([new Uint8Array(archive)]), 'inbox.zip');
    const url = `${app.url}/v1/inboxes/import?localPart=from-a-form&ttlMinutes=7`;
    const headers = { authorization: `Bearer ${TEST_KEY}` };
    const answer = await fetch(url, { method: 'POST', headers, body: form });
    expect(answer.status).toBe(201);
    const inbox = await answer.json();
    expect(inbox).toMatchObject({ address: 'from-a-form@mayfly.test', ttlMinutes: 7, messageCount: 1 });
  });

  it('is imported from an archive that another program packed: in a folder, with folders and files of macOS', async () => {
    const index = JSON.stringify({ ...RECORDING, messages: [recorded('messages/1.eml')] });
    const files = { 'inbox.json': index, 'messages/1.eml': mailOf('first') };
    const named = (prefix: string) =>
      Object.fromEntries(Object.entries(files).map(([name, content]) => [`${prefix}${name}`, content]));
    for (const archive of [
      await zipOf(named('signup/')),
      await zipOf({ ...files, '__MACOSX/._inbox.json': 'x' }),
      await packedAgain(named('signup/')),
    ])
      expect((await importZip(archive)).body).toMatchObject({ messageCount: 1 });
    const two = { ...named('a/'), ...named('b/') };
    expect((await importZip(await zipOf(two))).body.code).toBe('malformed_recording');
  });

  it('is not replayed beyond the end of its inbox, and says what to choose', async () => {
    const archive = await recordingOfMails(['a: b', 'a: b'], { long: 'y' }, 300_000);
    const answer = await importZip(archive, '?speed=1&ttlMinutes=1&localPart=too-long');
    expect([answer.status, answer.body.code]).toEqual([400, 'invalid_request']);
    expect(answer.body.detail).toBe(
      'With "speed" 1 the last message of this recording comes after 300 s, but the inbox expires after 1 min. Choose a "ttlMinutes" of at least 6, or a "speed" of at least 6.',
    );
    expect((await app.api('GET', '/v1/inboxes?label.long=y')).body.inboxes).toEqual([]);
    // No inbox was created, so the address is free for every account.
    const other = await app.newAccount();
    const create = { as: other, body: { localPart: 'too-long' } };
    expect((await app.api('POST', '/v1/inboxes', create)).status).toBe(201);
    for (const query of ['?speed=1&ttlMinutes=6', '?speed=6&ttlMinutes=1']) {
      const { status, body } = await importZip(archive, query);
      expect(status).toBe(201);
      expect(Date.parse(body.replayEndsAt)).toBeLessThan(Date.parse(body.expiresAt));
      await app.api('DELETE', `/v1/inboxes/${body.id}`);
    }
  });

  it('is imported in one step: a request that waits for mail of the account gets all messages at once', async () => {
    const { cursor } = (await app.api('GET', '/v1/messages')).body;
    const waiting = app.api('GET', `/v1/messages?wait=60&since=${encodeURIComponent(cursor)}`);
    const { body } = await importZip(await recordingOfMails(['one', 'two', 'three'].map(mailOf)));
    const { messages } = (await waiting).body;
    expect(messages.map(({ subject }: Body) => subject)).toEqual(['three', 'two', 'one']);
    expect(new Set(messages.map(({ inboxId }: Body) => inboxId))).toEqual(new Set([body.id]));
  });

  it('says that its replay was cut when a message cannot be stored', async () => {
    const archive = await recordingOfMails([mailOf('good'), '', mailOf('never stored')]);
    const { body } = await importZip(archive, '?speed=1');
    await expect.poll(() => inboxOf(body.id)).toMatchObject({ replay: 'cut', messageCount: 1 });
  });

  it('is no longer replayed when its inbox is deleted, and its file is gone', async () => {
    const { body } = await importZip(await recordingOfMails(['a: b', 'a: b'], {}, 300_000), '?speed=1');
    await expect.poll(() => inboxOf(body.id)).toMatchObject({ messageCount: 1, replay: 'running' });
    expect(uploadsLeft()).not.toEqual([]);
    await app.api('DELETE', `/v1/inboxes/${body.id}`);
    await expect.poll(uploadsLeft).toEqual([]);
  });

  it('is replayed in the recorded rhythm with ?speed=', async () => {
    const archive = await recordingOfMails(['first', 'second', 'third'].map(mailOf), {}, 90_000);
    const answer = await importZip(archive, '?speed=100');
    expect(answer.body).toMatchObject({ messageCount: 0, recordedMessages: 3, replay: 'running' });
    expect(answer.body.replayEndsAt).not.toBeNull();
    const body = { match: { subject: 'third' }, timeoutSeconds: 20 };
    const wait = await app.api('POST', `/v1/inboxes/${answer.body.id}/wait`, { body });
    expect(wait.body.matched).toBe(true);
    const messages = await messagesOf(answer.body.id);
    const [first = 0, , third = 0] = messages.map(({ message }) => Date.parse(message.receivedAt));
    expect(messages.map(({ message }) => message.subject)).toEqual(['first', 'second', 'third']);
    // 1.8 s apart, less what the first was late; a busy machine can only be later.
    expect(third - first).toBeGreaterThanOrEqual(100);
    await expect.poll(() => inboxOf(answer.body.id)).toMatchObject({ replay: 'none' });
  });
});

describe('what is not a recording', () => {
  const indexed = (index: unknown) => zipOf({ 'inbox.json': JSON.stringify(index) });
  const fifty = (): object[] => Array.from({ length: 50 }, () => recorded('a.eml'));
  const manyLabels = () => Object.fromEntries(Array.from({ length: 200_000 }, (_, i) => [`k${i}`, 'v']));
  async function withFalseSize(): Promise<Buffer> {
    const zip = await recordingOf([recorded('a.eml')], { 'a.eml': 'a'.repeat(500_123) });
    for (let at = 0; at < zip.length - 4; at++)
      if (zip.readUInt32LE(at) === 500_123) zip.writeUInt32LE(10, at);
    return zip;
  }
  const cases: [string, () => Promise<Uint8Array>, RegExp][] = [
    ['no zip archive', async () => Buffer.from('PK no, hello'), /not a whole zip archive/],
    ['an archive without an index', () => zipOf({ 'a.eml': 'x' }), /no file "inbox.json"/],
    ['an index that is not JSON', () => zipOf({ 'inbox.json': '{' }), /is not JSON/],
    ['an index of a later version', () => indexed({ ...RECORDING, version: 2 }), /version 1 at "\/version"/],
    ['a bare message', () => indexed({ ...RECORDING, messages: [{ file: 'a' }] }), /not a rec/],
    ['a time that is none', () => recordingOf([recorded('a', 'yesterday')], { a: 'x' }), /not a rec/],
    ['a file that is not there', () => recordingOf([recorded('a.eml')]), /no file "a.eml"/],
    [
      'messages that have many times its bytes, all in one file',
      () => recordingOf(fifty(), { 'a.eml': Buffer.alloc(5_000_000, 'a\r\n') }),
      /have 250000000 bytes/,
    ],
    ['a file that has other bytes than it says', withFalseSize, /a\.eml/],
    [
      'one of many messages that is wrong',
      () => recordingOf(fifty().with(43, { ...recorded('a.eml'), size: 'many' }), { 'a.eml': 'a: b' }),
      /"\/messages\/43\/size"/,
    ],
    [
      'more messages than the inbox may hold',
      () => recordingOf(Array(30_000).fill(recorded('a')), { a: 'a: b' }),
      /more than 10000 messages/,
    ],
    ['many labels', () => recordingOf([], {}, manyLabels()), /too long/],
    [
      'a long address',
      () => indexed({ ...RECORDING, inbox: { ...RECORDING.inbox, address: 'a'.repeat(10_000_000) } }),
      /too long/,
    ],
  ];
  it.each(cases)('is rejected with what is wrong: %s', async (_title, make, detail) => {
    const body = { code: 'malformed_recording', detail: expect.stringMatching(detail) };
    expect(await importZip(await make())).toMatchObject({ status: 422, body });
  });

  it('creates no inbox when a message is damaged', async () => {
    const damaged = `${mailOf('damaged')}${'the text of a message, '.repeat(200)}`;
    const archive = await recordingOfMails([mailOf('good'), damaged], { damaged: 'yes' });
    const whole = Buffer.from(archive);
    const index = archive.indexOf('PK\u0001\u0002', 0, 'latin1');
    archive.fill(0x5a, index - 60, index - 40);
    const answer = await importZip(archive);
    expect([answer.status, answer.body.code]).toEqual([422, 'malformed_recording']);
    expect((await app.api('GET', '/v1/inboxes?label.damaged=yes')).body.inboxes).toEqual([]);
    expect((await importZip(whole)).status).toBe(201);
  });

  it('is rejected without a body, with another type, and as a form without a file', async () => {
    const none = await app.api('POST', '/v1/inboxes/import');
    const text = await importZip(Buffer.from('x'), '', 'text/plain');
    const form = await importZip(Buffer.from('--b--\r\n'), '', 'multipart/form-data; boundary=b');
    const unbounded = await importZip(Buffer.from('x'), '', 'multipart/form-data');
    expect([none.status, text.status, form.status, unbounded.status]).toEqual([415, 415, 422, 422]);
    expect((await importZip(await zipOf({}), '?speed=0')).body.errors[0].path).toBe('speed');
  });

  it('is rejected when the form ends within its file, and says so', async () => {
    const part = '--b\r\nContent-Disposition: form-data; name="file"; filename="a.zip"\r\n\r\nPK';
    const body = { code: 'malformed_recording', detail: expect.stringMatching(/ends within its file/) };
    for (const rest of ['', '\r\n']) {
      const answer = await importZip(Buffer.from(part + rest), '', 'multipart/form-data; boundary=b');
      expect(answer.body).toMatchObject(body);
    }
  });

  it('leaves no file behind', async () => {
    await expect.poll(uploadsLeft).toEqual([]);
  });

  it('with a message of exactly the size that the plan allows is imported, and one that is larger is not', async () => {
    const maxMessageBytes = 20_000;
    const small = await appOfTest({ MAYFLY_PLANS: JSON.stringify({ unlimited: { maxMessageBytes } }) });
    const inbox = await small.createInbox();
    const upload = (path: string, body: string | Uint8Array, type: string) =>
      small.api('POST', `/v1/inboxes/${path}`, { body, headers: { 'content-type': type } });
    const inject = (bytes: number) =>
      upload(`${inbox.id}/messages`, `Subject: x\r\n\r\n${'x'.repeat(bytes - 14)}`, 'message/rfc822');
    expect((await inject(maxMessageBytes + 1)).status).toBe(413);
    const { body } = await inject(maxMessageBytes);
    expect(body.size).toBeGreaterThan(maxMessageBytes);
    const importAgain = async (id: string) =>
      upload('import', (await small.api('GET', `/v1/inboxes/${id}/export`)).bytes, 'application/zip');
    const imported = await importAgain(inbox.id);
    expect([imported.status, imported.body.messageCount]).toEqual([201, 1]);
    // Again and again, because nothing is added to it.
    expect((await importAgain(imported.body.id)).status).toBe(201);
  });
});
