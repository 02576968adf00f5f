// With the types of openapi-typescript and openapi-fetch.
// Arguments: the address of the API, an API key, and host and port for SMTP.
import { createTransport } from 'nodemailer';
import createClient from 'openapi-fetch';
import type { components, paths } from './schema.d.ts';

const [baseUrl = '', apiKey = '', host = '', port = ''] = process.argv.slice(2);
const client = createClient<paths>({
  baseUrl,
  headers: { Authorization: `Bearer ${apiKey}` },
  // Labels are query parameters of their own: label.run=…
  querySerializer: { object: { style: 'form', explode: true } },
});

/** The data of a response, or an error with the problem document's text. */
function ok<T>({ data, error }: { data?: T; error?: components['schemas']['Problem'] }): NonNullable<T> {
  if (error) throw new Error(`${error.code}: ${error.detail}`);
  if (data === undefined || data === null) throw new Error('no data');
  return data;
}

const labels = { run: 'typescript' };
const inbox = ok(await client.POST('/v1/inboxes', { body: { ttlMinutes: 5, labels } }));
const other = ok(await client.POST('/v1/inboxes', {}));

await createTransport({ host, port: Number(port) }).sendMail({
  from: 'Shop <no-reply@shop.example>',
  to: inbox.address,
  subject: 'Please confirm your address',
  text: 'Your code is 482913.',
  attachments: [{ filename: 'terms.bin', content: Buffer.from([0, 255, 128, 10, 13]) }],
});

const path = { id: inbox.id };
// `count` may be omitted.
const waited = ok(
  await client.POST('/v1/inboxes/{id}/wait', {
    params: { path },
    body: { match: { subject: 'confirm' }, timeoutSeconds: 20 },
  }),
);
const [message] = waited.messages;
if (!message) throw new Error(`no message: ${JSON.stringify(waited.explanation)}`);

const ofMessage = { params: { path: { ...path, messageId: message.id } } };
const read = ok(await client.GET('/v1/inboxes/{id}/messages/{messageId}', ofMessage));
const raw = ok(
  await client.GET('/v1/inboxes/{id}/messages/{messageId}/raw', { ...ofMessage, parseAs: 'arrayBuffer' }),
);
const attachment = ok(
  await client.GET('/v1/inboxes/{id}/messages/{messageId}/attachments/{attachmentId}', {
    params: { path: { ...ofMessage.params.path, attachmentId: read.attachments[0]?.id ?? '' } },
    parseAs: 'arrayBuffer',
  }),
);
const listed = ok(
  await client.GET('/v1/inboxes', { params: { query: { labels: { 'label.run': 'typescript' } } } }),
);
const removed = ok(
  await client.DELETE('/v1/inboxes', { params: { query: { labels: { 'label.run': 'typescript' } } } }),
);
const deleted = await client.DELETE('/v1/inboxes/{id}', { params: { path: { id: other.id } } });
const gone = await client.GET('/v1/inboxes/{id}', { params: { path } });

process.stdout.write(
  JSON.stringify({
    subject: read.subject,
    code: read.codes[0]?.value,
    rawSize: [raw.byteLength, read.size],
    attachment: [...new Uint8Array(attachment)],
    listed: listed.inboxes.map(({ id }) => id === inbox.id),
    removed: removed.deleted,
    deleted: deleted.response.status,
    gone: gone.error?.code,
  }),
);
