import type { MailFields } from '../compose.ts';
import { type Draft, sendDrafts } from '../drafts.ts';
import {
  bytesOf,
  type Given,
  isField,
  isGiven,
  listOf,
  type Mailbox,
  mailboxOf,
  objectOf,
  parseJson,
  textOf,
} from '../given.ts';
import { type Call, type Mailroom, Refused, type Reply } from '../provider.ts';
import { createSubstitute, type Substitute } from '../substitute.ts';
import { type FieldError, WrongFields, wrongField } from './errors.ts';
import { renderTemplate } from './templates.ts';

const MAX_RECIPIENTS = 1_000;
const MAX_AHEAD_MS = 72 * 3_600_000;
/** Limit of the substitutions, and of the arguments, of one personalization. */
const MAX_VALUES_BYTES = 10_000;
const RESERVED =
  /^(?:x-sg-id|x-sg-eid|received|dkim-signature|content-type|content-transfer-encoding|to|from|subject|reply-to|cc|bcc)$/i;

const NO_PERSONALIZATION =
  'The personalizations field is required and must have at least one personalization.';
const NO_FROM =
  'The from object must be provided for every email send. It is an object that requires the email parameter, but may also contain a name parameter.  e.g. {"email" : "example@example.com"}  or {"email" : "example@example.com", "name" : "Example Recipient"}.';
const NO_SUBJECT =
  'The subject is required. You can get around this requirement if you use a template with a subject defined or if every personalization has a subject defined.';
const NO_CONTENT =
  'Unless a valid template_id is provided, the content parameter is required. There must be at least one defined content block. We typically suggest both text/plain and text/html blocks are included, but only one block is required.';
const NOT_AN_ADDRESS = 'Does not contain a valid address.';

/** `POST /v3/mail/send`: one mail per personalization. */
export async function sendMail(call: Call): Promise<Reply> {
  const { mailroom } = call;
  const given = parseJson(call.body);
  if (!isGiven(given)) throw wrongField(null, 'Bad Request: the body is not a JSON object.');
  const personalizations = listOf(given.personalizations);
  assertMail(given, personalizations);
  const id = Buffer.from(mailroom.uuid().replaceAll('-', ''), 'hex').toString('base64url');
  const attachments = listOf(given.attachments).map(attachmentOf);
  const shared = { mailroom, given, id, attachments, substitute: createSubstitute() };
  const drafts: Draft[] = [];
  for (const [index, one] of personalizations.entries())
    drafts.push(await draftOf({ ...shared, own: objectOf(one), field: `personalizations.${index}` }));
  const isSandbox = objectOf(objectOf(given.mail_settings).sandbox_mode).enable === true;
  if (!isSandbox)
    await sendDrafts(mailroom, drafts).catch((error: unknown) => {
      const isUnknown = error instanceof Refused && error.status === 404;
      throw isUnknown ? wrongField('personalizations.0.to', error.message) : error;
    });
  return { status: isSandbox ? 200 : 202, type: 'text/plain', body: '', headers: { 'x-message-id': id } };
}

/** Checks that SendGrid reports together, for all fields. */
function assertMail(given: Given, personalizations: readonly unknown[]): void {
  const errors: FieldError[] = [];
  const check = (isRight: boolean, field: string, message: string): void => {
    if (!isRight) errors.push({ message, field });
  };
  const all = personalizations.map(objectOf);
  const recipients = all.flatMap((one) => [one.to, one.cc, one.bcc].flatMap(listOf)).length;
  check(textOf(objectOf(given.from).email) !== undefined, 'from.email', NO_FROM);
  check(all.length > 0, 'personalizations', NO_PERSONALIZATION);
  check(
    recipients <= MAX_RECIPIENTS,
    'personalizations',
    `There is a limit of ${MAX_RECIPIENTS} total recipients (to + cc + bcc) per request.`,
  );
  const hasTemplate = textOf(given.template_id) !== undefined;
  const hasSubject =
    Boolean(textOf(given.subject)) ||
    (all.length > 0 && all.every(({ subject }) => Boolean(textOf(subject))));
  check(hasTemplate || hasSubject, 'subject', NO_SUBJECT);
  const contents = listOf(given.content).map(objectOf);
  check(hasTemplate || contents.length > 0, 'content', NO_CONTENT);
  for (const [index, { type, value }] of contents.entries()) {
    check(
      /^[\w.+-]+\/[\w.+-]+$/.test(textOf(type) ?? ''),
      `content.${index}.type`,
      'The content type must be a MIME type such as text/plain.',
    );
    check(
      Boolean(textOf(value)),
      `content.${index}.value`,
      'The content value must be a string at least one character in length.',
    );
  }
  const enable = objectOf(objectOf(given.mail_settings).sandbox_mode).enable;
  check(
    enable === undefined || typeof enable === 'boolean',
    'mail_settings.sandbox_mode.enable',
    'The sandbox mode enable param should be a boolean value.',
  );
  if (errors.length > 0) throw new WrongFields(errors);
}

interface Personalization {
  mailroom: Mailroom;
  given: Given;
  id: string;
  attachments: MailFields['attachments'];
  substitute: Substitute;
  /** The personalization. */
  own: Given;
  /** Its path in the request, for errors. */
  field: string;
}

async function draftOf(personalization: Personalization): Promise<Draft> {
  const { mailroom, given, own, id, field } = personalization;
  const from = mailbox(own.from ?? given.from, own.from === undefined ? 'from' : `${field}.from`);
  const [to, cc, bcc] = [own.to, own.cc, own.bcc].map((list, index) =>
    mailboxes(list, `${field}.${['to', 'cc', 'bcc'][index]}`),
  ) as [Mailbox[], Mailbox[], Mailbox[]];
  if (to.length === 0)
    throw wrongField(
      `${field}.to`,
      'The to array is required for all personalization objects, and must have at least one email object with a valid email address.',
    );
  const recipients = [...to, ...cc, ...bcc].map(({ address }) => address);
  assertUnique(recipients, field);
  const customArgs = { ...objectOf(given.custom_args), ...objectOf(own.custom_args) };
  assertSmall(customArgs, 'custom_args', `${field}.custom_args`);
  const { headers, messageId = `<${id}@${from.address.split('@')[1]}>` } = headersOf(given, own, field);
  const replyTo = [
    ...(given.reply_to === undefined ? [] : [mailbox(given.reply_to, 'reply_to')]),
    ...mailboxes(given.reply_to_list, 'reply_to_list'),
  ];
  const content = await contentOf(personalization);
  const { attachments } = personalization;
  const categories = listOf(given.categories).map(String);
  const timeField = own.send_at === undefined ? 'send_at' : `${field}.send_at`;
  return {
    fields: { ...{ from, to, cc, replyTo, headers, messageId, attachments }, ...content },
    sending: {
      ...{ recipients, mailFrom: from.address, providerId: id },
      sendAt: timeOf(own.send_at ?? given.send_at, timeField, mailroom.now()),
      given: { categories, customArgs, messageId, groupId: objectOf(given.asm).group_id },
    },
  };
}

function mailbox(value: unknown, field: string): Mailbox {
  const { email, name } = objectOf(value);
  const { address, name: named } = mailboxOf(email) ?? {};
  // Like SendGrid, rejects a display name in the address field.
  if (address === undefined || named !== '') throw wrongField(`${field}.email`, NOT_AN_ADDRESS);
  return { address, name: (textOf(name) ?? '').replace(/\p{Cc}+/gu, ' ') };
}

const mailboxes = (list: unknown, field: string): Mailbox[] =>
  listOf(list).map((one, index) => mailbox(one, `${field}.${index}`));

function assertUnique(recipients: readonly string[], field: string): void {
  const seen = new Set<string>();
  for (const address of recipients.map((one) => one.toLowerCase())) {
    if (seen.has(address))
      throw wrongField(
        field,
        `Each email address in the personalization block should be unique between to, cc, and bcc. We found the first duplicate instance of [${address}] in the ${field} field.`,
      );
    seen.add(address);
  }
}

function assertSmall(values: Given, what: string, field: string): void {
  if (Object.values(values).some((value) => typeof value !== 'string' && what === 'substitutions'))
    throw wrongField(
      field,
      'The substitution values must be an object of key/value pairs, where the values are all strings.',
    );
  if (Buffer.byteLength(JSON.stringify(values)) > MAX_VALUES_BYTES)
    throw wrongField(field, `The ${what} of a personalization may not exceed ${MAX_VALUES_BYTES} bytes.`);
}

function headersOf(
  given: Given,
  own: Given,
  field: string,
): { headers: Record<string, string>; messageId?: string } {
  const headers: Record<string, string> = {};
  let messageId: string | undefined;
  for (const [name, value] of Object.entries({ ...objectOf(given.headers), ...objectOf(own.headers) })) {
    const where = `${own.headers === undefined ? '' : `${field}.`}headers`;
    if (typeof value !== 'string')
      throw wrongField(where, 'All values of the headers object must be strings.');
    if (RESERVED.test(name)) throw wrongField(where, `Header cannot be one of the reserved keys: ${name}.`);
    if (!isField(name, value))
      throw wrongField(
        where,
        'Header keys cannot contain non-ASCII characters or empty spaces, and values no line breaks.',
      );
    if (/^message-id$/i.test(name)) messageId = value;
    else headers[name] = value;
  }
  return messageId === undefined ? { headers } : { headers, messageId };
}

type Content = Pick<MailFields, 'subject' | 'text' | 'html' | 'alternatives'>;

/** Subject and bodies from the template or the request, with substitutions applied. */
async function contentOf({ mailroom, given, own, field, substitute }: Personalization): Promise<Content> {
  const templateId = textOf(given.template_id);
  const subject = textOf(own.subject) ?? textOf(given.subject);
  if (templateId !== undefined) {
    const data = objectOf(own.dynamic_template_data);
    const rendered = await renderTemplate(mailroom, templateId, data);
    if (rendered) return { ...rendered, subject: rendered.subject || subject || '' };
    throw wrongField(
      'template_id',
      `The template_id must be the id of a template of this account, you have provided '${templateId.slice(0, 100)}'. Create it with POST /v3/templates, with this "id".`,
    );
  }
  const substitutions = objectOf(own.substitutions);
  assertSmall(substitutions, 'substitutions', `${field}.substitutions`);
  const filled = (text: string): string =>
    substitute(substitute(text, Object.entries(substitutions)), Object.entries(objectOf(given.sections)));
  const contents = listOf(given.content).map(objectOf);
  const bodyOf = (type: string): string | undefined => {
    const body = textOf(contents.find((one) => one.type === type)?.value);
    return body === undefined ? undefined : filled(body);
  };
  const [text, html] = [bodyOf('text/plain'), bodyOf('text/html')];
  return {
    subject: filled(subject ?? '').replace(/[\r\n]+/g, ' '),
    ...(text !== undefined && { text }),
    ...(html !== undefined && { html }),
    alternatives: contents
      .filter(({ type }) => type !== 'text/plain' && type !== 'text/html')
      .map(({ type, value }) => ({ contentType: String(type), content: filled(String(value)) })),
  };
}

function timeOf(value: unknown, field: string, now: number): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (!Number.isSafeInteger(value))
    throw wrongField(
      field,
      'The send_at parameter is expecting a Unix timestamp as an integer. We will send immediately if you include a send_at timestamp that is in the past.',
    );
  const at = Number(value) * 1000;
  if (at - now > MAX_AHEAD_MS)
    throw wrongField(field, 'Scheduling more than 72 hours in advance is forbidden.');
  return at > now ? at : undefined;
}

function attachmentOf(value: unknown, index: number): NonNullable<MailFields['attachments']>[0] {
  const given = objectOf(value);
  const [encoded, filename, type, cid] = [given.content, given.filename, given.type, given.content_id].map(
    textOf,
  );
  const content = encoded ? bytesOf(encoded) : undefined;
  if (!content)
    throw wrongField(`attachments.${index}.content`, 'The attachment content must be base64 encoded.');
  if (!filename)
    throw wrongField(
      `attachments.${index}.filename`,
      'The filename parameter is required for every attachment.',
    );
  if (type !== undefined && /[\r\n]/.test(type))
    throw wrongField(`attachments.${index}.type`, 'The attachment type cannot contain CRLF characters.');
  const isInline = given.disposition === 'inline';
  return {
    ...{ filename, content, contentDisposition: isInline ? 'inline' : 'attachment' },
    ...(type !== undefined && { contentType: type }),
    ...(isInline && cid !== undefined && { cid }),
  };
}
