import { addressList } from '../address-list.ts';
import type { MailFields } from '../compose.ts';
import { type Draft, sendDrafts } from '../drafts.ts';
import { type Form, readForm } from '../form.ts';
import { isField, isGiven, json, type Mailbox, parseJson } from '../given.ts';
import { type Call, type Mailroom, Refused, type Reply } from '../provider.ts';
import { readSource, valuesOf } from '../source.ts';
import { createSubstitute, type Substitute } from '../substitute.ts';
import { fillTemplate } from './templates.ts';

const MAX_RECIPIENTS = 1_000;
const MAX_TAGS = 10;
const NO_BODY = "Need at least one of 'text', 'html', 'amp-html' or 'template' parameters specified";

const wrong = (message: string): Refused => new Refused(400, message);
const notAnAddress = (field: string): Refused =>
  wrong(`'${field}' parameter is not a valid address. please check documentation`);

/** Sending options of a form. */
interface Options {
  id: string;
  sendAt: number | undefined;
  isTest: boolean;
  tags: string[];
  /** `v:…`: data for events and templates. */
  variables: Record<string, unknown>;
}

/** Mailgun returns 404 only for an unknown domain, so unknown recipients get 400. */
function refuseRecipients(error: unknown): never {
  throw error instanceof Refused && error.status === 404 ? wrong(error.message) : error;
}

const queued = ({ id }: Options): Reply => json({ id, message: 'Queued. Thank you.' });

/** `POST /v3/{domain}/messages`: one mail, or one per recipient with recipient variables. */
export async function sendMessage(call: Call): Promise<Reply> {
  const { mailroom } = call;
  const form = await readForm(call);
  const from = mailboxes(form, 'from').at(0);
  if (!from) throw wrong("'from' parameter is missing");
  const [to, cc, bcc] = ['to', 'cc', 'bcc'].map((field) => mailboxes(form, field)) as [
    Mailbox[],
    Mailbox[],
    Mailbox[],
  ];
  if (to.length === 0) throw wrong("'to' parameter is missing");
  if (to.length + cc.length + bcc.length > MAX_RECIPIENTS)
    throw wrong(`A message has at most ${MAX_RECIPIENTS} recipients.`);
  const options = optionsOf(form, call, from);
  const attachments = await attachmentsOf(form);
  const batch = jsonIn(form, 'recipient-variables');
  const substitute = createSubstitute();
  const drafts: Draft[] = [];
  for (const shown of batch ? to.map((one) => [one]) : [to]) {
    const [first] = shown;
    const fill: Fill = batch && first ? filler(first, batch, substitute) : (text) => text;
    const recipients = [...shown, ...cc, ...bcc].map(({ address }) => address);
    const fields = await fieldsOf({ form, call, options, fill });
    drafts.push(draftOf({ ...fields, from, to: shown, cc, attachments }, recipients, options, fill));
  }
  if (!options.isTest) await sendDrafts(mailroom, drafts).catch(refuseRecipients);
  return queued(options);
}

/** `POST /v3/{domain}/messages.mime`: a mail in MIME format. */
export async function sendMime(call: Call): Promise<Reply> {
  const { mailroom } = call;
  const form = await readForm(call);
  const to = mailboxes(form, 'to').map(({ address }) => address);
  if (to.length === 0) throw wrong("'to' parameter is missing");
  const given = (await form.files('message')).at(0)?.content ?? Buffer.from(form.text('message') ?? '');
  if (given.length === 0) throw wrong("'message' parameter is missing");
  const source = readSource(given);
  if (!source) throw wrong('The header of the message is too large.');
  const from = addressList(valuesOf(source, 'from').join(',')).at(0);
  if (!from) throw notAnAddress('from');
  const options = optionsOf(form, call, from, valuesOf(source, 'message-id').at(0));
  const kept = source.fields.filter(({ name }) => !/^(?:bcc|message-id|x-mailgun-.*)$/i.test(name));
  const head = kept.map((field) => field.source).join('');
  const date =
    valuesOf(source, 'date').length > 0 ? '' : `Date: ${new Date(mailroom.now()).toUTCString()}\r\n`;
  const raw = Buffer.concat([Buffer.from(`${head}${date}Message-ID: ${options.id}\r\n`), source.body]);
  if (!options.isTest) await mailroom.send({ ...sendingOf(to, from, options), raw }).catch(refuseRecipients);
  return queued(options);
}

const sendingOf = (recipients: readonly string[], from: Mailbox, options: Options): Draft['sending'] => ({
  ...{ recipients, mailFrom: from.address, providerId: options.id, sendAt: options.sendAt },
  given: { tags: options.tags, variables: options.variables },
});

function draftOf(
  fields: MailFields & { from: Mailbox },
  recipients: string[],
  options: Options,
  fill: Fill,
): Draft {
  const sending = sendingOf(recipients, fields.from, {
    ...options,
    variables: filled(options.variables, fill),
  });
  return { fields: { ...fields, messageId: options.id }, sending };
}

type Fill = (text: string) => string;

/** Returns a function that replaces `%recipient.name%` by the recipient's variables. */
function filler(
  { name, address }: Mailbox,
  batch: Readonly<Record<string, unknown>>,
  substitute: Substitute,
): Fill {
  const own = Object.hasOwn(batch, address) ? batch[address] : undefined;
  const [first = '', ...rest] = name.split(' ');
  const pairs: [string, unknown][] = [
    ...Object.entries(isGiven(own) ? own : {}).map(([key, value]): [string, unknown] => [
      `%recipient.${key}%`,
      value,
    ]),
    ['%recipient%', name ? `${name} <${address}>` : address],
    ['%recipient_email%', address],
    ['%recipient_name%', name],
    ['%recipient_fname%', first],
    ['%recipient_lname%', rest.join(' ')],
  ];
  return (text) => (text.includes('%recipient') ? substitute(text, pairs) : text);
}

const filled = (values: Record<string, unknown>, fill: Fill): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, typeof value === 'string' ? fill(value) : value]),
  );

interface Message {
  form: Form;
  call: Call;
  options: Options;
  fill: Fill;
}

/** Subject, bodies and header fields from the template or the form. */
async function fieldsOf({ form, call, options, fill }: Message): Promise<MailFields> {
  const headers = Object.fromEntries(
    form.prefixed('h:').filter(([name]) => !/^x-mailgun-variables$/i.test(name)),
  );
  const replyTo = Object.entries(headers).find(([name]) => /^reply-to$/i.test(name))?.[1];
  const wrongHeader = Object.entries(headers).find(([name, value]) => !isField(name, value));
  if (wrongHeader) throw wrong(`'h:${wrongHeader[0].slice(0, 100)}' is not a valid header field`);
  const own = Object.entries(headers).filter(
    ([name]) => !/^(?:reply-to|message-id|to|from|cc|bcc|subject)$/i.test(name),
  );
  const template = form.text('template');
  const content = template
    ? await fillTemplate(call, template, form.text('t:version'), {
        ...filled(options.variables, fill),
        ...filled(jsonIn(form, 't:variables') ?? {}, fill),
      })
    : {};
  const [text, html, amp] = ['text', 'html', 'amp-html'].map((name) => form.text(name));
  if (!text && !html && !amp && !template) throw wrong(NO_BODY);
  const htmlBody = content.html ?? (html && fill(html));
  const textBody = content.text ?? (text && fill(text));
  return {
    ...{
      headers: Object.fromEntries(own.map(([name, value]) => [name, fill(value).replace(/[\r\n]+/g, ' ')])),
    },
    ...{ subject: fill(form.text('subject') ?? content.subject ?? '').replace(/[\r\n]+/g, ' ') },
    ...(replyTo && { replyTo: addressList(replyTo).flatMap((one) => one ?? []) }),
    ...(textBody && { text: textBody }),
    ...(htmlBody && { html: htmlBody }),
    alternatives: amp ? [{ contentType: 'text/x-amp-html', content: fill(amp) }] : [],
  };
}

function mailboxes(form: Form, field: string): Mailbox[] {
  return form
    .texts(field)
    .flatMap(addressList)
    .map((one) => {
      if (one) return one;
      throw notAnAddress(field);
    });
}

/** @throws Refused 400 for anything but a JSON object */
function jsonIn(form: Form, field: string): Record<string, unknown> | undefined {
  const text = form.text(field);
  if (!text) return undefined;
  const value = parseJson(text);
  if (isGiven(value)) return value;
  throw wrong(`'${field}' parameter is not a valid JSON object`);
}

function optionsOf(form: Form, { mailroom }: Call, from: Mailbox, messageId?: string): Options {
  const domain = from.address.split('@')[1];
  const given = messageId ?? form.prefixed('h:').find(([name]) => /^message-id$/i.test(name))?.[1];
  const id = given && /^<[^\s<>]{1,250}>$/.test(given) ? given : `<${mailroom.uuid()}@${domain}>`;
  const tags = form.texts('o:tag');
  if (tags.length > MAX_TAGS) throw wrong(`A message has at most ${MAX_TAGS} tags.`);
  const variables = Object.fromEntries(
    form.prefixed('v:').map(([name, value]) => [name, parseJson(value) ?? value]),
  );
  const header = form.prefixed('h:').find(([name]) => /^x-mailgun-variables$/i.test(name))?.[1];
  const inHeader = header === undefined ? {} : parseJson(header);
  return {
    ...{ id, tags, sendAt: timeOf(form.text('o:deliverytime'), mailroom) },
    isTest: /^(?:yes|true)$/i.test(form.text('o:testmode') ?? ''),
    variables: { ...(isGiven(inHeader) ? inHeader : {}), ...variables },
  };
}

/** Parses a date of RFC 2822 or seconds since 1970; undefined for a past time, which means now. */
function timeOf(text: string | undefined, mailroom: Mailroom): number | undefined {
  if (!text) return undefined;
  const at = /^\d{9,11}$/.test(text) ? Number(text) * 1000 : Date.parse(text.slice(0, 100));
  if (Number.isNaN(at)) throw wrong(`'o:deliverytime' parameter is not a valid date: ${text.slice(0, 100)}`);
  return at > mailroom.now() ? at : undefined;
}

async function attachmentsOf(form: Form): Promise<MailFields['attachments']> {
  const inline = await form.files('inline');
  return [
    ...(await form.files('attachment')).map((file) => ({
      ...file,
      contentDisposition: 'attachment' as const,
    })),
    // The HTML refers to an inline file by its file name.
    ...inline.map((file) => ({ ...file, cid: file.filename, contentDisposition: 'inline' as const })),
  ];
}
