import { shownMailbox } from '../address-list.ts';
import { compose, type MailFields } from '../compose.ts';
import { sendMany } from '../drafts.ts';
import {
  bytesOf,
  type Field,
  fieldsForEvents,
  type Given,
  isField,
  isGiven,
  listOf,
  type Mailbox,
  mailboxOf,
  OWN_FIELD,
  objectOf,
  textOf,
} from '../given.ts';
import { type Call, type Mailroom, Refused, type Sending } from '../provider.ts';
import { valuesOf } from '../source.ts';
import { refuse } from './errors.ts';
import { readRaw, written } from './raw.ts';
import { type Content, contentOf, fill, findTemplate } from './templates.ts';

/** Data of a mail for its events; stored with the mail. */
export interface GivenOfSes {
  from: string;
  to: string[];
  messageId: string;
  headers: Field[];
  headersTruncated: boolean;
  tags: Record<string, string[]>;
  configurationSet?: string;
  contactList?: string;
  topic?: string;
}

/** SES's limit. */
const MAX_RECIPIENTS = 50;

type Caller = Pick<Call, 'mailroom' | 'headers'>;

interface BulkResult {
  Status: string;
  MessageId?: string;
  Error?: string;
}

/** The AWS region in the credential's scope. */
const regionOf = ({ authorization = '' }: Call['headers']): string =>
  /Credential=[^/]+\/\d+\/([a-z0-9-]{1,30})\//.exec(authorization)?.[1] ?? 'us-east-1';

function newIds({ mailroom, headers }: Caller) {
  const id = `0100${mailroom.now().toString(16).padStart(12, '0')}-${mailroom.uuid()}-000000`;
  const region = regionOf(headers);
  return { id, messageId: `<${id}@${region === 'us-east-1' ? 'email' : region}.amazonses.com>` };
}

/** Sends a `SendEmail` request of version 2. @returns the message id */
export async function sendEmail(caller: Caller, request: Given): Promise<string> {
  const sending = await readEmail(caller, request);
  await caller.mailroom.send(sending);
  return sending.providerId;
}

async function readEmail(call: Caller, request: Given): Promise<Sending> {
  const { mailroom } = call;
  const { Simple, Raw, Template } = objectOf(request.Content);
  const ids = newIds(call);
  const sending = Raw
    ? rawSending(request, objectOf(Raw), ids, mailroom.now())
    : await composed(request, await composableOf(mailroom, Simple, Template), ids, mailroom.now());
  if (sending.recipients.length < 1 || sending.recipients.length > MAX_RECIPIENTS)
    throw refuse('InvalidParameterValue', `The message must have 1 to ${MAX_RECIPIENTS} recipients.`);
  // Domains under `.invalid` never exist (RFC 6761). Nodemailer's verify() sends to one and expects this error.
  const unverified = sending.recipients.find((address) => /[@.]invalid$/i.test(address));
  if (unverified) throw refuse('MessageRejected', `Email address is not verified: ${unverified}`);
  return sending;
}

/** Sends a bulk request. @returns a result per entry, in the format of version 2 */
export async function sendBulk(call: Caller, request: Given): Promise<BulkResult[]> {
  const defaults = objectOf(objectOf(request.DefaultContent).Template);
  const entries = listOf(request.BulkEmailEntries).map(objectOf);
  if (entries.length < 1 || entries.length > MAX_RECIPIENTS)
    throw refuse('InvalidParameterValue', `The request must have 1 to ${MAX_RECIPIENTS} destinations.`);
  if (!defaults.TemplateContent) await findTemplate(call.mailroom, defaults.TemplateName);
  const results: BulkResult[] = [];
  const make = async ({ entry, index }: { entry: Given; index: number }): Promise<Sending> => {
    const replaced = objectOf(objectOf(entry.ReplacementEmailContent).ReplacementTemplate);
    const data = { ...dataOf(defaults.TemplateData), ...dataOf(replaced.ReplacementTemplateData) };
    const sending = await readEmail(call, {
      ...{ ...request, Destination: entry.Destination },
      EmailTags: [...listOf(request.DefaultEmailTags), ...listOf(entry.ReplacementTags)],
      Content: {
        Template: {
          ...{ ...defaults, TemplateData: JSON.stringify(data) },
          Headers: [...listOf(defaults.Headers), ...listOf(entry.ReplacementHeaders)],
        },
      },
    });
    results[index] = { Status: 'SUCCESS', MessageId: sending.providerId };
    return sending;
  };
  const all = entries.map((entry, index) => ({ entry, index }));
  await sendMany(call.mailroom, all, make, (error, index) => {
    if (!(error instanceof Refused) || error.status === 401) throw error;
    results[index] = { Status: statusOf(error), Error: error.message };
  });
  return results;
}

const statusOf = ({ status }: Refused): string => {
  if (status === 429) return 'ACCOUNT_THROTTLED';
  return status < 500 ? 'MESSAGE_REJECTED' : 'FAILED';
};

export function dataOf(json: unknown): Given {
  try {
    const data: unknown = JSON.parse(textOf(json) ?? '{}');
    if (isGiven(data)) return data;
  } catch {
    // Rejected below.
  }
  throw refuse('InvalidRenderingParameter', 'Template rendering data is invalid: it must be a JSON object.');
}

interface Composable extends Content {
  headers: readonly unknown[];
  attachments: readonly unknown[];
}

async function composableOf(mailroom: Mailroom, simple: unknown, template: unknown): Promise<Composable> {
  const { Headers, Attachments } = objectOf(simple ?? template);
  const further = { headers: listOf(Headers), attachments: listOf(Attachments) };
  if (isGiven(simple)) {
    const { Text, Html } = objectOf(simple.Body);
    const [subject, text, html] = [simple.Subject, Text, Html].map((part) => textOf(objectOf(part).Data));
    if (text === undefined && html === undefined)
      throw refuse('InvalidParameterValue', 'The body must have a text or an HTML part.');
    return { subject: subject ?? '', text, html, ...further };
  }
  if (!isGiven(template))
    throw refuse('InvalidParameterValue', 'The content must be Simple, Raw or Template.');
  const content = isGiven(template.TemplateContent)
    ? contentOf(template.TemplateContent)
    : await findTemplate(mailroom, template.TemplateName);
  return { ...fill(mailroom, content, dataOf(template.TemplateData)), ...further };
}

/** Decodes names in the encoding of RFC 2047, which SES accepts. */
const decodeWords = (name: string): string =>
  name.replace(/=\?utf-8\?([bq])\?([^?\s]*)\?=(?:\s+(?==\?))?/gi, (_all, kind: string, word: string) =>
    /b/i.test(kind)
      ? Buffer.from(word, 'base64').toString()
      : Buffer.from(
          word
            .replaceAll('_', ' ')
            .replace(/=([0-9a-f]{2})/gi, (_code, hex: string) =>
              String.fromCharCode(Number.parseInt(hex, 16)),
            ),
          'latin1',
        ).toString(),
  );

function mailbox(value: unknown, what: string): Mailbox {
  const read = mailboxOf(value);
  if (!read) throw refuse('InvalidParameterValue', `${what}: the address is missing or illegal.`);
  return { name: decodeWords(read.name), address: read.address };
}

const mailboxes = (value: unknown, what: string): Mailbox[] => listOf(value).map((one) => mailbox(one, what));

function destinationOf(request: Given) {
  const { ToAddresses, CcAddresses, BccAddresses } = objectOf(request.Destination);
  return {
    to: mailboxes(ToAddresses, 'ToAddresses'),
    cc: mailboxes(CcAddresses, 'CcAddresses'),
    bcc: mailboxes(BccAddresses, 'BccAddresses'),
  };
}

const addresses = (list: readonly Mailbox[]): string[] => list.map(({ address }) => address);

type Ids = ReturnType<typeof newIds>;

async function composed(
  request: Given,
  { subject, text, html, headers, attachments }: Composable,
  { id, messageId }: Ids,
  now: number,
): Promise<Sending> {
  const from = mailbox(request.FromEmailAddress, 'Source');
  const { to, cc, bcc } = destinationOf(request);
  const replyTo = mailboxes(request.ReplyToAddresses, 'ReplyToAddresses');
  if (/[\r\n]/.test(subject)) throw refuse('InvalidParameterValue', 'The subject has a line break.');
  const raw = await compose({
    ...{ from, to, cc, replyTo, subject, messageId, date: new Date(now) },
    ...(text !== undefined && { text }),
    ...(html !== undefined && { html }),
    headers: Object.fromEntries(headers.map(headerOf)),
    attachments: attachments.map(attachmentOf),
  });
  const fields = {
    From: shownMailbox(from),
    To: to.map(shownMailbox).join(', '),
    Subject: subject,
    'Message-ID': messageId,
  };
  const facts = {
    ...{ from: fields.From, to: to.map(shownMailbox), messageId },
    headers: [...Object.entries(fields), ...headers.map(headerOf)].map(([name, value]) => ({ name, value })),
  };
  const recipients = addresses([...to, ...cc, ...bcc]);
  return sendingOf(request, { raw, mailFrom: from.address, recipients, providerId: id }, facts, {});
}

function rawSending(request: Given, { Data }: Given, { id, messageId }: Ids, now: number): Sending {
  const raw = readRaw(Data);
  const [header] = valuesOf(raw, 'from');
  if (header === undefined) throw refuse('InvalidParameterValue', "Missing required header 'From'.");
  const sender = textOf(request.FromEmailAddress) ?? header;
  const mailFrom = mailbox(decodeWords(sender), 'Source').address;
  const { to, cc, bcc } = destinationOf(request);
  const stated = addresses([...to, ...cc, ...bcc]);
  const inHeader = ['to', 'cc', 'bcc'].flatMap((name) => valuesOf(raw, name)).flatMap(addressesIn);
  const recipients = stated.length > 0 ? stated : inHeader;
  const facts = {
    ...{ from: decodeWords(header), to: valuesOf(raw, 'to').map(decodeWords), messageId },
    headers: raw.fields.map(({ name, value }) => ({ name, value })),
  };
  const [set] = valuesOf(raw, 'x-ses-configuration-set');
  const tags = valuesOf(raw, 'x-ses-message-tags').flatMap((value) => value.split(','));
  const named = { tags: tags.map((tag) => tag.trim().split('=')), set };
  return sendingOf(
    request,
    { raw: written(raw, messageId, now), mailFrom, recipients, providerId: id },
    facts,
    named,
  );
}

const IN_LIST = /<([^<>]*)>|(?:^|,)\s*([^<>,"\s]+@[^<>,"\s]+)\s*(?=,|$)/g;

/** The addresses in a header field. @throws NamedRefusal for an invalid one */
const addressesIn = (field: string): string[] =>
  [...field.replace(/"(?:[^"\\]|\\.)*"/g, '').matchAll(IN_LIST)].map(
    ([, angle, plain]) => mailbox(angle ?? plain, 'Destinations').address,
  );

function sendingOf(
  request: Given,
  mail: Pick<Sending, 'raw' | 'mailFrom' | 'recipients' | 'providerId'>,
  facts: Pick<GivenOfSes, 'from' | 'to' | 'messageId' | 'headers'>,
  inHeader: { tags?: string[][]; set?: string | undefined },
): Sending {
  const { ContactListName: contactList, TopicName: topic } = objectOf(request.ListManagementOptions);
  const stated = listOf(request.EmailTags).map((tag): [string, string[]] => [
    String(objectOf(tag).Name),
    [String(objectOf(tag).Value)],
  ]);
  const further = (inHeader.tags ?? []).map(([name = '', value = '']): [string, string[]] => [name, [value]]);
  const configurationSet = textOf(request.ConfigurationSetName) ?? inHeader.set;
  const headers = fieldsForEvents(facts.headers);
  const kept: GivenOfSes = {
    ...{ ...facts, headers, headersTruncated: headers.length < facts.headers.length },
    tags: Object.fromEntries([...further, ...stated]),
    ...(configurationSet && { configurationSet }),
    ...(typeof contactList === 'string' && { contactList }),
    ...(typeof topic === 'string' && { topic }),
  };
  const mailFrom = mailboxOf(request.FeedbackForwardingEmailAddress)?.address ?? mail.mailFrom;
  return { ...mail, mailFrom, given: { ...kept } };
}

function headerOf(value: unknown): [string, string] {
  const [name = '', content = ''] = [objectOf(value).Name, objectOf(value).Value].map(textOf);
  if (isField(name, content) && !OWN_FIELD.test(name)) return [name, content];
  throw refuse('InvalidParameterValue', `The header ${name.slice(0, 100)} is not valid as a custom header.`);
}

function attachmentOf(value: unknown): NonNullable<MailFields['attachments']>[0] {
  const { RawContent, FileName, ContentType, ContentId, ContentDisposition } = objectOf(value);
  const content = typeof RawContent === 'string' ? bytesOf(RawContent) : undefined;
  const [filename, contentType, cid] = [FileName, ContentType, ContentId].map(textOf);
  if (!content || !filename)
    throw refuse('InvalidParameterValue', 'An attachment must have FileName, and RawContent in base64.');
  return {
    ...{ filename, content },
    ...(contentType && isField('Content-Type', contentType) && { contentType }),
    ...(cid && isField('Content-ID', cid) && { cid }),
    contentDisposition: ContentDisposition === 'INLINE' ? 'inline' : 'attachment',
  };
}
