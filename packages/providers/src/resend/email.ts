import { shownMailbox } from '../address-list.ts';
import { compose, type MailFields } from '../compose.ts';
import {
  bytesOf,
  fieldsForEvents,
  type Given,
  isField,
  isGiven,
  listOf,
  type Mailbox,
  mailboxOf,
  NamedRefusal,
  OWN_FIELD,
  textOf,
} from '../given.ts';
import type { Mailroom, Sending } from '../provider.ts';
import { invalid, missing } from './errors.ts';
import { timeOf } from './schedule.ts';
import { fillTemplate } from './templates.ts';

/** The response of `GET /emails/{id}`. */
export interface SentEmail {
  object: 'email';
  id: string;
  to: string[];
  from: string;
  created_at: string;
  subject: string;
  html: string | null;
  text: string | null;
  bcc: string[];
  cc: string[];
  reply_to: string[];
  /** `scheduled`, `delivered`, `canceled`, or the outcome. */
  last_event: string;
  scheduled_at: string | null;
  tags: Tag[];
  message_id: string;
}

interface Tag {
  name: string;
  value: string;
}

/** A validated mail of a request. */
export interface Email {
  sending: Sending;
  sent: SentEmail;
}

/** Resend's limit of `to`. */
const MAX_RECIPIENTS = 50;
/** Limit of texts stored for `GET /emails/{id}`; the inbox has the complete text. */
const MAX_KEPT_TEXT = 8 * 1024;
/** More than applications set; limits the size of events. */
const MAX_HEADERS = 100;
const TAG = /^[A-Za-z0-9_-]{1,256}$/;

/** Validates a request. @throws NamedRefusal as Resend would */
export async function readEmail(body: unknown, mailroom: Mailroom): Promise<Email> {
  if (!isGiven(body)) throw invalid('The request body must be a JSON object.');
  const given = body.template === undefined ? body : await fillTemplate(body, mailroom);
  const id = mailroom.uuid();
  const fields = fieldsOf(given);
  const { from, to, cc, replyTo } = fields;
  const bcc = mailboxes(given, 'bcc');
  const now = mailroom.now();
  const at = given.scheduled_at === undefined ? undefined : timeOf(given.scheduled_at, now);
  const sendAt = at !== undefined && at > now ? at : undefined;
  const messageId = `<${id}@${from.address.split('@')[1]}>`;
  const tags = tagsOf(given.tags);
  const raw = await compose({ ...fields, messageId, date: new Date(now) });
  const kept = (text: unknown): string | null =>
    typeof text === 'string' && text.length <= MAX_KEPT_TEXT ? text : null;
  const sent: SentEmail = {
    ...{ object: 'email', id, to: to.map(shownMailbox), from: shownMailbox(from), subject: fields.subject },
    ...{ html: kept(fields.html), text: kept(fields.text) },
    ...{ bcc: bcc.map(shownMailbox), cc: cc.map(shownMailbox), reply_to: replyTo.map(shownMailbox), tags },
    created_at: new Date(now).toISOString(),
    last_event: sendAt === undefined ? 'delivered' : 'scheduled',
    scheduled_at: sendAt === undefined ? null : new Date(sendAt).toISOString(),
    message_id: messageId,
  };
  const headers = fieldsForEvents(Object.entries(fields.headers).map(([name, value]) => ({ name, value })));
  const template = isGiven(given.template) ? { template_id: given.template.id } : {};
  const sending = {
    ...{ raw, providerId: id, mailFrom: from.address, sendAt },
    recipients: [...to, ...cc, ...bcc].map(({ address }) => address),
    given: {
      from: sent.from,
      created_at: sent.created_at,
      message_id: messageId,
      tags,
      headers,
      ...template,
    },
  };
  return { sending, sent };
}

function fieldsOf(given: Given) {
  const [subject, html, text] = [given.subject, given.html, given.text].map(textOf);
  if (!given.from) throw missing('from');
  const [from, to] = [mailbox(given.from, 'from'), mailboxes(given, 'to')];
  if (to.length === 0) throw missing('to');
  if (to.length > MAX_RECIPIENTS)
    throw invalid(`The \`to\` field takes at most ${MAX_RECIPIENTS} addresses.`);
  if (!subject) throw missing('subject');
  if (/[\r\n]/.test(subject)) throw invalid('The `\\n` is not allowed in the `subject` field.');
  if (html === undefined && text === undefined)
    throw new NamedRefusal(422, 'missing_required_field', 'Missing `html` or `text` field.');
  return {
    ...{ from, to, cc: mailboxes(given, 'cc'), replyTo: mailboxes(given, 'reply_to'), subject },
    ...(html !== undefined && { html }),
    ...(text !== undefined && { text }),
    headers: headersOf(given.headers),
    attachments: listOf(given.attachments).map(attachmentOf),
  } satisfies MailFields;
}

function mailbox(value: unknown, field: string): Mailbox {
  const read = mailboxOf(value);
  if (read) return read;
  throw invalid(
    `Invalid \`${field}\` field. The email address needs to follow the \`email@example.com\` or \`Name <email@example.com>\` format.`,
  );
}

const mailboxes = (given: Given, field: string): Mailbox[] =>
  listOf(given[field]).map((value) => mailbox(value, field));

function headersOf(value: unknown): Record<string, string> {
  if (value === undefined || value === null) return {};
  if (!isGiven(value)) throw invalid('The `headers` field must be an object.');
  const fields = Object.entries(value).map(([name, content]): [string, string] => [name, String(content)]);
  if (fields.length > MAX_HEADERS)
    throw invalid(`The \`headers\` field takes at most ${MAX_HEADERS} headers.`);
  const wrong = fields.find(([name, content]) => !isField(name, content));
  if (wrong) throw invalid(`The header \`${wrong[0].slice(0, 100)}\` is not a valid header field.`);
  return Object.fromEntries(fields.filter(([name]) => !OWN_FIELD.test(name)));
}

function tagsOf(value: unknown): Tag[] {
  return listOf(value).map((tag) => {
    const { name, value } = isGiven(tag) ? tag : {};
    if (typeof name === 'string' && typeof value === 'string' && TAG.test(name) && TAG.test(value))
      return { name, value };
    throw invalid('Tags should only contain ASCII letters, numbers, underscores, or dashes.');
  });
}

function attachmentOf(value: unknown): NonNullable<MailFields['attachments']>[0] {
  const refused = (message: string) => new NamedRefusal(422, 'invalid_attachment', message);
  if (!isGiven(value)) throw refused('Each item of `attachments` must be an object.');
  if (value.path !== undefined)
    throw refused('Mayfly fetches no files: give the attachment as `content` and not as `path`.');
  const content = contentOf(value.content);
  if (!content) throw refused('The `content` of an attachment must be a base64 string.');
  const [filename, contentType, cid] = [value.filename, value.content_type, value.content_id].map(textOf);
  if (!filename && !cid) throw refused('An attachment must have a `filename`.');
  return {
    ...{ content, filename: filename ?? false },
    ...(contentType !== undefined && isField('Content-Type', contentType) && { contentType }),
    ...(cid && isField('Content-ID', cid) && { cid, contentDisposition: 'inline' }),
  };
}

/** Accepts base64, or a Buffer serialized by `JSON.stringify`, which older SDKs send. */
function contentOf(value: unknown): Buffer | undefined {
  if (typeof value === 'string') return bytesOf(value);
  const data = isGiven(value) && value.type === 'Buffer' ? value.data : value;
  return Array.isArray(data) ? Buffer.from(data) : undefined;
}
