import { compose } from '../compose.ts';
import { type Form, readForm } from '../form.ts';
import { json } from '../given.ts';
import { type Call, type Mailroom, Refused, type Reply, type Sending } from '../provider.ts';
import { INVALID_PARAMETER, TwilioError } from './errors.ts';
import { mailboxOfSender, recipientOf, segmentsOf, senderOf, shortened } from './numbers.ts';

const MAX_BODY = 1_600;
const MAX_MEDIA = 10;
const MINUTE = 60_000;
/** Twilio's limits for scheduling. */
const [MIN_AHEAD, MAX_AHEAD] = [15 * MINUTE, 35 * 24 * 60 * MINUTE];
/** Sender for messaging services, whose numbers are unknown here: Twilio's test number. */
const SERVICE_NUMBER = '+15005550006';

const invalid = (message: string): TwilioError => new TwilioError(INVALID_PARAMETER, message);

/** The SMS of a request. */
interface Sms {
  from: string | undefined;
  to: string;
  body: string;
  media: string[];
  service: string | undefined;
  sendAt: number | undefined;
}

/** The stored response of `GET`, with the time of a scheduled SMS. */
interface Kept {
  resource: Record<string, unknown> & { status: string };
  sendAt: number | null;
}

/** Data that events return to the application. */
export interface GivenSms {
  accountSid: string;
  from: string;
  to: string;
  service?: string | undefined;
}

/** Validates a request. @throws TwilioError */
function readSms(form: Form, now: number): Sms {
  const [fromText, service, contentSid] = ['From', 'MessagingServiceSid', 'ContentSid'].map(
    (name) => form.text(name) || undefined,
  );
  const to = recipientOf(form.text('To'));
  if (!fromText && !service) throw new TwilioError(21603, "A 'From' phone number is required.");
  if (service && !/^MG[0-9a-f]{32}$/i.test(service))
    throw new TwilioError(21701, `The Messaging Service ${shortened(service)} does not exist.`);
  if (contentSid)
    throw new TwilioError(
      21655,
      'Mayfly has no content templates: send the text as Body and not a ContentSid.',
    );
  const body = form.text('Body') ?? '';
  if (body.length > MAX_BODY)
    throw new TwilioError(21617, `The concatenated message body exceeds the ${MAX_BODY} character limit.`);
  const media = mediaIn(form);
  if (body === '' && media.length === 0) throw new TwilioError(21602, 'Message body is required.');
  const from = fromText === undefined ? undefined : senderOf(fromText);
  return { from, to, body, media, service, sendAt: timeIn(form, service, now) };
}

function mediaIn(form: Form): string[] {
  const media = form.texts('MediaUrl').filter(Boolean);
  if (media.length > MAX_MEDIA)
    throw new TwilioError(21623, `A message has at most ${MAX_MEDIA} media files, not ${media.length}.`);
  const wrong = media.find((url) => !/^https?:\/\/\S+$/i.test(url));
  if (wrong) throw new TwilioError(21620, `The media URL ${shortened(wrong)} is not valid.`);
  return media;
}

function timeIn(form: Form, service: string | undefined, now: number): number | undefined {
  const text = form.text('SendAt');
  if (!text) return undefined;
  if (form.text('ScheduleType') !== 'fixed')
    throw invalid('SendAt needs the parameter ScheduleType with the value "fixed".');
  // Twilio ignores SendAt without a messaging service and sends immediately; an error is more helpful.
  if (!service) throw invalid('SendAt needs a MessagingServiceSid.');
  const at = /^\d{4}-\d\d-\d\dT/.test(text) ? Date.parse(text) : Number.NaN;
  if (at >= now + MIN_AHEAD && at <= now + MAX_AHEAD) return at;
  throw new TwilioError(
    35114,
    `SendAt must be an ISO 8601 time from 15 minutes to 35 days ahead, not ${shortened(text)}.`,
  );
}

/** The date format of Twilio (RFC 2822). */
const dateOf = (time: number): string => new Date(time).toUTCString().replace('GMT', '+0000');

function resourceOf(sms: Sms, sid: string, accountSid: string, now: number): Kept['resource'] {
  const uri = `/2010-04-01/Accounts/${accountSid}/Messages/${sid}`;
  const immediate = sms.service ? 'accepted' : 'queued';
  return {
    ...{ sid, account_sid: accountSid, api_version: '2010-04-01', direction: 'outbound-api' },
    ...{ from: sms.from ?? null, messaging_service_sid: sms.service ?? null, to: sms.to, body: sms.body },
    status: sms.sendAt === undefined ? immediate : 'scheduled',
    ...{ num_segments: String(segmentsOf(sms.body)), num_media: String(sms.media.length) },
    ...{ date_created: dateOf(now), date_updated: dateOf(now), date_sent: null },
    ...{ price: null, price_unit: 'USD', error_code: null, error_message: null },
    ...{ uri: `${uri}.json`, subresource_uris: { media: `${uri}/Media.json` } },
  };
}

async function mailOf(sms: Sms, sid: string, accountSid: string, mailroom: Mailroom): Promise<Sending> {
  const from = mailboxOfSender(sms.from ?? SERVICE_NUMBER);
  const address = `${sms.to.slice(1)}@${mailroom.domain}`;
  const given: GivenSms = { accountSid, from: from.name, to: sms.to, service: sms.service };
  const raw = await compose({
    ...{ from, to: { name: sms.to, address }, date: new Date(mailroom.now()) },
    messageId: `<${sid}@sms.invalid>`,
    text: [sms.body, ...sms.media].filter(Boolean).join('\n'),
    // Other encodings append a line ending to the text.
    encoding: 'base64',
  });
  return {
    ...{ raw, mailFrom: from.address, recipients: [address], providerId: sid, sendAt: sms.sendAt },
    given: { ...given },
  };
}

/** `POST …/Messages.json` */
export async function sendMessage(call: Call): Promise<Reply> {
  const { mailroom, path } = call;
  const accountSid = path.account ?? '';
  const sms = readSms(await readForm(call), mailroom.now());
  const sid = `SM${mailroom.uuid().replaceAll('-', '')}`;
  const resource = resourceOf(sms, sid, accountSid, mailroom.now());
  const kept: Kept = { resource, sendAt: sms.sendAt ?? null };
  // Stored before sending, so that a sent message can always be fetched. The sid of a rejected one is never disclosed.
  await mailroom.keepFirst('sent', sid, kept);
  try {
    await mailroom.send(await mailOf(sms, sid, accountSid, mailroom));
  } catch (error) {
    if (!(error instanceof Refused) || error.status !== 404) throw error;
    throw new TwilioError(
      21608,
      `No inbox of this account has the number ${sms.to}. Create one with {"sms": true} and send to its phoneNumber.`,
    );
  }
  return json(resource, 201);
}

async function find({ mailroom, path }: Call): Promise<Kept['resource']> {
  const kept = (await mailroom.kept('sent', path.sid ?? '')) as Kept | undefined;
  if (!kept) throw new TwilioError(20404, `The message ${shortened(path.sid ?? '')} was not found.`, 404);
  const { resource, sendAt } = kept;
  const isHeld = sendAt !== null && sendAt > mailroom.now();
  if (isHeld || resource.status === 'canceled') return resource;
  const date = sendAt === null ? resource.date_created : dateOf(sendAt);
  return { ...resource, status: 'delivered', date_sent: date, date_updated: date };
}

/** `GET …/Messages/{sid}.json` */
export const showMessage = async (call: Call): Promise<Reply> => json(await find(call));

/** `POST …/Messages/{sid}.json`: cancels a scheduled message. */
export async function cancelMessage(call: Call): Promise<Reply> {
  const { mailroom } = call;
  const resource = await find(call);
  if ((await readForm(call)).text('Status') !== 'canceled')
    throw invalid('A message can only be cancelled, by the parameter Status with the value "canceled".');
  const sid = String(resource.sid);
  if (!(await mailroom.reschedule(sid, null)))
    throw new TwilioError(30409, 'This message cannot be canceled: it is not scheduled any more.');
  const canceled = { ...resource, status: 'canceled', date_updated: dateOf(mailroom.now()) };
  await mailroom.keep('sent', sid, { resource: canceled, sendAt: null } satisfies Kept);
  return json(canceled);
}
