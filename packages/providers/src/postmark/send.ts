import { addressList } from '../address-list.ts';
import type { MailFields } from '../compose.ts';
import { composeDraft, type Draft, sendMany } from '../drafts.ts';
import {
  bytesOf,
  type Given,
  isField,
  isGiven,
  json,
  listOf,
  type Mailbox,
  parseJson,
  textOf,
} from '../given.ts';
import { type Call, type Mailroom, Refused, type Reply, type Sending } from '../provider.ts';
import { errorOf, wrong } from './errors.ts';
import { fillTemplate } from './templates.ts';

const MAX_RECIPIENTS = 50;
const MAX_BATCH = 500;
/** https://postmarkapp.com/developer/user-guide/send-email-with-api#attachments */
const FORBIDDEN_FILE =
  /\.(?:vbs|exe|bin|bat|chm|com|cpl|crt|hlp|hta|inf|ins|isp|jse|lnk|mdb|pcd|pif|reg|scr|sct|shs|vbe|vba|wsf|wsh|wsl|msc|msi|msp|mst)$/i;
/** Header fields that requests set by properties. */
const OWN_FIELD = /^(?:from|to|cc|bcc|reply-to|subject|date|mime-version|content-.*)$/i;

/** Builds the mail of a request. */
async function sendingOf(given: unknown, mailroom: Mailroom): Promise<Sending> {
  if (!isGiven(given))
    throw wrong(403, 'The input you provided was not a JSON object as Postmark expects it.');
  const isTemplate = given.TemplateId !== undefined || given.TemplateAlias !== undefined;
  const mail = isTemplate ? await fillTemplate(given, mailroom) : given;
  return composeDraft(mailroom, draftOf(mail, mailroom.uuid()));
}

/** Postmark's result for one mail. */
function answerOf(given: unknown, id: string | undefined, mailroom: Mailroom): object {
  const fields = ['To', 'Cc', 'Bcc'].flatMap((field) => {
    const text = isGiven(given) ? textOf(given[field]) : undefined;
    return text || field === 'To' ? [[field, text ?? '']] : [];
  });
  const SubmittedAt = new Date(mailroom.now()).toISOString();
  return { ...Object.fromEntries(fields), SubmittedAt, MessageID: id, ErrorCode: 0, Message: 'OK' };
}

/** Unknown recipients get the error of a trial account for recipients of other domains. */
const refused = (error: unknown): unknown =>
  error instanceof Refused && error.status === 404 ? wrong(412, error.message) : error;

function bodyOf(call: Call): unknown {
  const given = parseJson(call.body);
  if (given === undefined) throw wrong(402, 'The JSON data you provided is syntactically incorrect.');
  return given;
}

export async function sendOne(call: Call): Promise<Reply> {
  const { mailroom } = call;
  const given = bodyOf(call);
  const sending = await sendingOf(given, mailroom);
  await mailroom.send(sending).catch((error) => {
    throw refused(error);
  });
  return json(answerOf(given, sending.providerId, mailroom));
}

/** One result per mail: mails succeed or fail independently. */
async function answers(mails: unknown, mailroom: Mailroom): Promise<object[]> {
  if (!Array.isArray(mails)) throw wrong(403, 'The input you provided was not a list of messages.');
  if (mails.length > MAX_BATCH)
    throw wrong(410, `A batch has at most ${MAX_BATCH} messages, you provided ${mails.length}.`);
  const ids = new Map<unknown, string>();
  const errors = new Map<number, object>();
  const make = async (mail: unknown): Promise<Sending> => {
    const sending = await sendingOf(mail, mailroom);
    ids.set(mail, sending.providerId);
    return sending;
  };
  await sendMany(mailroom, mails, make, (thrown, index) => {
    const error = refused(thrown);
    // Errors of the credential, rate limits and server failures fail the whole request.
    const isOwn = error instanceof Refused && error.status < 500 && ![401, 429].includes(error.status);
    if (!isOwn) throw error;
    errors.set(index, errorOf(error));
  });
  return mails.map((mail, index) => errors.get(index) ?? answerOf(mail, ids.get(mail), mailroom));
}

export async function sendBatch(call: Call): Promise<Reply> {
  return json(await answers(bodyOf(call), call.mailroom));
}

export async function sendTemplateBatch(call: Call): Promise<Reply> {
  const given = bodyOf(call);
  return json(await answers(isGiven(given) ? given.Messages : undefined, call.mailroom));
}

function draftOf(given: Given, id: string): Draft {
  const [to, cc, bcc] = ['To', 'Cc', 'Bcc'].map((field) => mailboxes(given, field)) as [
    Mailbox[],
    Mailbox[],
    Mailbox[],
  ];
  const [from, ...others] = mailboxes(given, 'From');
  if (!from || others.length > 0) throw wrong(300, `Invalid 'From' address: '${textOf(given.From) ?? ''}'.`);
  const recipients = [...to, ...cc, ...bcc].map(({ address }) => address);
  if (recipients.length === 0) throw wrong(300, 'Zero recipients specified');
  if (recipients.length > MAX_RECIPIENTS)
    throw wrong(
      300,
      `You are limited to ${MAX_RECIPIENTS} recipients per message, and you provided ${recipients.length}.`,
    );
  const [text, html, tag] = [given.TextBody, given.HtmlBody, given.Tag].map(textOf);
  if (!text && !html) throw wrong(300, 'Provide either email TextBody or HtmlBody or both.');
  const { headers, messageId = `<${id}@${from.address.split('@')[1]}>` } = headersOf(given.Headers);
  const metadata = isGiven(given.Metadata) ? given.Metadata : {};
  return {
    fields: {
      ...{ from, to, cc, replyTo: mailboxes(given, 'ReplyTo'), headers, messageId },
      subject: (textOf(given.Subject) ?? '').replace(/[\r\n]+/g, ' '),
      ...(text && { text }),
      ...(html && { html }),
      attachments: listOf(given.Attachments).map(attachmentOf),
    },
    sending: {
      ...{ recipients, mailFrom: from.address, providerId: id },
      given: { tag, metadata, stream: textOf(given.MessageStream) ?? 'outbound' },
    },
  };
}

function mailboxes(given: Given, field: string): Mailbox[] {
  const text = given[field] ?? '';
  const list = typeof text === 'string' ? addressList(text) : [undefined];
  return list.map((one) => {
    if (one) return one;
    throw wrong(300, `Invalid '${field}' address: '${String(textOf(text)).slice(0, 500)}'.`);
  });
}

function headersOf(value: unknown): { headers: Record<string, string>; messageId?: string } {
  const headers: Record<string, string> = {};
  let messageId: string | undefined;
  for (const one of listOf(value)) {
    const [name = '', content = ''] = isGiven(one) ? [one.Name, one.Value].map(textOf) : [];
    if (!isField(name, content)) throw wrong(300, `Invalid header: '${name.slice(0, 100)}'.`);
    if (OWN_FIELD.test(name))
      throw wrong(300, `Header '${name}' not allowed. Use the field of the same name.`);
    if (/^message-id$/i.test(name)) messageId = content;
    else headers[name] = content;
  }
  return messageId === undefined ? { headers } : { headers, messageId };
}

function attachmentOf(value: unknown): NonNullable<MailFields['attachments']>[0] {
  const given: Given = isGiven(value) ? value : {};
  const [name, encoded, type, id] = [given.Name, given.Content, given.ContentType, given.ContentID].map(
    textOf,
  );
  if (!name) throw wrong(300, 'The name of an attachment is missing.');
  if (FORBIDDEN_FILE.test(name))
    throw wrong(411, `The file '${name}' has a type that is not allowed as an attachment.`);
  const content = encoded === undefined ? undefined : bytesOf(encoded);
  if (!content) throw wrong(300, `The content of the attachment '${name}' must be base64 encoded.`);
  const cid = id?.replace(/^cid:/, '');
  return {
    ...{ filename: name, content, contentDisposition: cid ? 'inline' : 'attachment' },
    ...(type !== undefined && { contentType: type.replace(/[\r\n]/g, '') }),
    ...(cid && { cid }),
  };
}
