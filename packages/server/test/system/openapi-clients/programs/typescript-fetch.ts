// With a client of openapi-generator (typescript-fetch).
// Arguments: the address of the API, an API key, and host and port for SMTP.
import { createTransport } from 'nodemailer';
import { Configuration, InboxesApi, MessagesApi, type ResponseError } from './mayfly';

const [basePath = '', apiKey = '', host = '', port = ''] = process.argv.slice(2);
const configuration = new Configuration({ basePath, accessToken: apiKey });
const inboxes = new InboxesApi(configuration);
const messages = new MessagesApi(configuration);

async function main(): Promise<void> {
  const inbox = await inboxes.createInbox({ createInbox: { ttlMinutes: 5, labels: { run: 'typescript' } } });
  await createTransport({ host, port: Number(port) }).sendMail({
    from: 'Shop <no-reply@shop.example>',
    to: inbox.address,
    subject: 'Please confirm your address',
    text: 'Your code is 482913.',
    attachments: [{ filename: 'terms.bin', content: Buffer.from([0, 255, 128, 10, 13]) }],
  });

  const { id } = inbox;
  const waitRequest = { match: { subject: 'confirm' }, timeoutSeconds: 20 };
  const waited = await messages.waitForMessages({ id, waitRequest });
  const ofMessage = { id, messageId: waited.messages[0].id };
  const message = await messages.getMessage(ofMessage);
  const raw = await messages.getRawMessage(ofMessage);
  const attachment = await messages.getAttachment({ ...ofMessage, attachmentId: message.attachments[0].id });
  const deleted = await inboxes.deleteInboxRaw({ id });
  const gone = await inboxes.getInbox({ id }).then(
    () => undefined,
    (error: ResponseError) => error.response.json(),
  );

  process.stdout.write(
    JSON.stringify({
      subject: message.subject,
      code: message.codes[0].value,
      rawSize: [raw.size, message.size],
      attachment: [...new Uint8Array(await attachment.arrayBuffer())],
      deleted: deleted.raw.status,
      gone: gone?.code,
    }),
  );
}

void main();
