import { Refused } from '../api.ts';

/** The body of `POST /api/v1/send`; fields may be missing or have wrong types. */
interface Given {
  From?: Mailbox;
  To?: Mailbox[];
  Cc?: Mailbox[];
  Bcc?: string[];
  ReplyTo?: Mailbox[];
  Subject?: string;
  Text?: string;
  HTML?: string;
  Headers?: Record<string, string>;
  Tags?: string[];
  Attachments?: { Content?: string; Filename?: string; ContentType?: string; ContentID?: string }[];
}
interface Mailbox {
  Name?: string;
  Email?: string;
}

const ADDRESS = /^[^\s@<>]+@[^\s@<>]+$/;
const BASE64 = /^[A-Za-z0-9+/\s]*={0,2}$/;
const OWN_HEADERS = /^(to|from|cc|bcc|reply-to|date|subject|content-type|mime-version|x-tags)$/i;

/** A mail composed from JSON. */
export interface Sent {
  raw: Buffer;
  from: string;
  recipients: string[];
  tags: string[];
}

/** @throws Refused with Mailpit's error message for an invalid mail */
export async function composeMail(body: Buffer): Promise<Sent> {
  const given = readJson(body) as Given;
  const list = <T>(items: T[] | undefined): T[] => (Array.isArray(items) ? items : []);
  const mailboxes = (items: Mailbox[] | undefined, field: string) =>
    list(items).map(({ Name: name = '', Email: address = '' }) => ({ name, address: valid(address, field) }));
  const to = mailboxes(given.To, 'To');
  const cc = mailboxes(given.Cc, 'Cc');
  const bcc = list(given.Bcc).map((address) => valid(address, 'Bcc'));
  const from = { name: given.From?.Name ?? '', address: given.From?.Email ?? '' };
  const tags = list(given.Tags).map(String);
  if (!from.address) throw new Refused(400, 'error building message: from not set');
  if (to.length + cc.length + bcc.length === 0)
    throw new Refused(400, 'error building message: no recipients (to, cc, bcc) set');
  // Loaded on first use, to keep the start fast.
  const { default: MailComposer } = await import('nodemailer/lib/mail-composer');
  const composer = new MailComposer({
    from,
    to,
    cc,
    bcc,
    replyTo: mailboxes(given.ReplyTo, 'Reply-To'),
    subject: given.Subject ?? '',
    text: given.Text ?? '',
    ...(given.HTML && { html: given.HTML }),
    headers: headersOf(given.Headers ?? {}, tags),
    attachments: list(given.Attachments).map(attachmentOf),
    // All content is in the request, so files and URLs must not be read.
    disableFileAccess: true,
    disableUrlAccess: true,
  }).compile();
  composer.keepBcc = true;
  const recipients = [...to, ...cc].map(({ address }) => address).concat(bcc);
  return { raw: await composer.build(), from: from.address, recipients, tags };
}

/** @param otherwise result for a body that is not JSON @throws Refused unless the body is a JSON object */
export function readJson(body: Buffer, otherwise?: object): object {
  let value: unknown;
  try {
    value = JSON.parse(String(body));
  } catch (error) {
    if (otherwise) return otherwise;
    throw new Refused(400, body.length === 0 ? 'EOF' : (error as Error).message);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw new Refused(400, 'The body is not a JSON object');
}

function valid(address: string, field: string): string {
  if (typeof address === 'string' && ADDRESS.test(address)) return address;
  throw new Refused(400, `invalid ${field} address: ${address}`);
}

function headersOf(given: Record<string, string>, tags: string[]): Record<string, string> {
  const wrong = Object.keys(given).find((name) => OWN_HEADERS.test(name) && !/^x-tags$/i.test(name));
  if (wrong !== undefined) throw new Refused(400, `cannot overwrite header: "${wrong}"`);
  return { ...given, ...(tags.length > 0 && { 'X-Tags': tags.join(', ') }) };
}

function attachmentOf({
  Content = '',
  Filename = '',
  ContentType,
  ContentID,
}: NonNullable<Given['Attachments']>[0]) {
  // Data URLs are accepted too.
  const content = Content.slice(Content.lastIndexOf(',') + 1);
  if (!BASE64.test(content)) throw new Refused(400, `error decoding base64 attachment "${Filename}"`);
  return {
    filename: Filename,
    content: Buffer.from(content, 'base64'),
    ...(ContentType && { contentType: ContentType }),
    ...(ContentID && { cid: ContentID, contentDisposition: 'inline' as const }),
  };
}
