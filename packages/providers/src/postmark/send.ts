import { addressList } from '../address-list.ts';
import type { MailFields } from '../compose.ts';
import { type Draft, sendDrafts } from '../drafts.ts';
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
import { type Call, type Mailroom, Refused, type Reply } from '../provider.ts';
import { errorOf, wrong } from './errors.ts';
import { fillTemplate } from './templates.ts';

const MAX_RECIPIENTS = 50;
const MAX_BATCH = 500;
/** https://postmarkapp.com/developer/user-guide/send-email-with-api#attachments */
const FORBIDDEN_FILE =
  /\.(?:vbs|exe|bin|bat|chm|com|cpl|crt|hlp|hta|inf|ins|isp|jse|lnk|mdb|pcd|pif|reg|scr|sct|shs|vbe|vba|wsf|wsh|wsl|msc|msi|msp|mst)$/i;
/** Header fields that the request states by fields of its own. */
const OWN_FIELD = /^(?:from|to|cc|bcc|reply-to|subject|date|mime-version|content-.*)$/i;

/** The mail of a request, and what Postmark answers for it. */
async function sendEmail(given: unknown, mailroom: Mailroom): Promise<object> {
  if (!isGiven(given))
    throw wrong(403, 'The input you provided was not a JSON object as Postmark expects it.');
  const isTemplate = given.TemplateId !== undefined || given.TemplateAlias !== undefined;
  const id = mailroom.uuid();
  const draft = draftOf(isTemplate ? await fillTemplate(given, mailroom) : given, id);
  await sendDrafts(mailroom, [draft]).catch((error: unknown) => {
    // What an account on trial gets for recipients of others.
    throw error instanceof Refused && error.status === 404 ? wrong(412, error.message) : error;
  });
  const copies = (field: string) => (textOf(given[field]) ? { [field]: given[field] } : {});
  return {
    ...{ To: textOf(given.To) ?? '', ...copies('Cc'), ...copies('Bcc') },
    ...{ SubmittedAt: new Date(mailroom.now()).toISOString(), MessageID: id, ErrorCode: 0, Message: 'OK' },
  };
}

function bodyOf(call: Call): unknown {
  const given = parseJson(call.body);
  if (given === undefined) throw wrong(402, 'The JSON data you provided is syntactically incorrect.');
  return given;
}

export const sendOne = async (call: Call): Promise<Reply> =>
  json(await sendEmail(bodyOf(call), call.mailroom));

/** Each mail succeeds or fails alone: the response has an answer for each. */
async function answers(mails: unknown, mailroom: Mailroom): Promise<object[]> {
  if (!Array.isArray(mails)) throw wrong(403, 'The input you provided was not a list of messages.');
  if (mails.length > MAX_BATCH)
    throw wrong(410, `A batch has at most ${MAX_BATCH} messages, you provided ${mails.length}.`);
  const made: object[] = [];
  for (const mail of mails)
    made.push(
      await sendEmail(mail, mailroom).catch((error: unknown) => {
        // A key or a rate that is refused concerns the request as a whole; so does what is no refusal.
        if (error instanceof Refused && error.status < 500 && error.status !== 401 && error.status !== 429)
          return errorOf(error);
        throw error;
      }),
    );
  return made;
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
