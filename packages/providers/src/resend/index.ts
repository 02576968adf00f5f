import { isGiven, json, parseJson } from '../given.ts';
import { type Call, type Mailroom, type Provider, Refused, type Reply, type Route } from '../provider.ts';
import { type Email, readEmail, type SentEmail } from './email.ts';
import { credentialOf, invalid, notFound, refusal } from './errors.ts';
import { became, event, inbound, makeSecrets } from './events.ts';
import { RECEIVING_ROUTES, received } from './receiving.ts';
import { bodyOf, once, page } from './requests.ts';
import { timeOf } from './schedule.ts';
import { TEMPLATE_ROUTES } from './templates.ts';

/** Resend's limit of a batch. */
const MAX_BATCH = 100;

/** Sends mails. @param refused as in `sendTogether` @returns the ids of the accepted mails */
async function send(
  emails: readonly Email[],
  mailroom: Mailroom,
  refused: (error: unknown, index: number) => void,
): Promise<{ id: string }[]> {
  await Promise.all(emails.map(({ sent }) => mailroom.keepFirst('sent', sent.id, sent)));
  let lost = new Set(emails.keys());
  try {
    const unsent = new Set<number>();
    const sendings = emails.map(({ sending }) => sending);
    await mailroom.sendTogether(sendings, (error, index) => {
      refused(error, index);
      unsent.add(index);
    });
    lost = unsent;
  } finally {
    const names = [...lost].map((index) => emails[index]?.sent.id ?? '');
    await Promise.all(names.map((name) => mailroom.keep('sent', name, null)));
  }
  return emails.filter((_, index) => !lost.has(index)).map(({ sent: { id } }) => ({ id }));
}

async function sendOne({ body, mailroom }: Call): Promise<Reply> {
  const email = await readEmail(bodyOf(body), mailroom);
  const [sent] = await send([email], mailroom, (error) => {
    throw error;
  });
  return json(sent);
}

async function sendBatch({ headers, body, mailroom }: Call): Promise<Reply> {
  const items = parseJson(body);
  if (!Array.isArray(items)) throw invalid('The request body must be an array of emails.');
  if (items.length < 1 || items.length > MAX_BATCH)
    throw invalid(`A batch has at least one and at most ${MAX_BATCH} emails.`);
  const isPermissive = headers['x-batch-validation'] === 'permissive';
  const errors: { index: number; message: string }[] = [];
  const refused = (error: unknown, index: number): void => {
    if (!isPermissive || !(error instanceof Refused)) throw error;
    errors.push({ index, message: error.message });
  };
  const read = async (item: unknown): Promise<Email> => {
    if (isGiven(item) && item.attachments !== undefined)
      throw invalid('The `attachments` field is not supported in a batch.');
    return readEmail(item, mailroom);
  };
  // Validates all mails before the first is sent, because one invalid mail rejects a strict batch.
  const made = await Promise.allSettled(items.map(read));
  const emails: (Email & { index: number })[] = [];
  for (const [index, one] of made.entries())
    if (one.status === 'fulfilled') emails.push({ ...one.value, index });
    else refused(one.reason, index);
  const data = await send(emails, mailroom, (error, place) => refused(error, emails[place]?.index ?? place));
  return json(isPermissive ? { data, errors } : { data });
}

async function find({ mailroom, path }: Call): Promise<SentEmail> {
  const found = (await mailroom.kept('sent', path.id ?? '')) as SentEmail | undefined;
  if (!found) throw notFound('Email');
  return current(found, mailroom);
}

/** A scheduled mail counts as delivered after its time. */
function current(email: SentEmail, mailroom: Mailroom): SentEmail {
  const isDue = email.scheduled_at !== null && Date.parse(email.scheduled_at) <= mailroom.now();
  return isDue && email.last_event === 'scheduled' ? { ...email, last_event: 'delivered' } : email;
}

async function reschedule(call: Call, sendAt: number | null): Promise<Reply> {
  const { mailroom } = call;
  const email = await find(call);
  const isHeld = email.last_event === 'scheduled' && (await mailroom.reschedule(email.id, sendAt));
  if (!isHeld) throw invalid('Only an email that is scheduled can be updated or canceled.');
  const change =
    sendAt === null ? { last_event: 'canceled' } : { scheduled_at: new Date(sendAt).toISOString() };
  await mailroom.keep('sent', email.id, { ...email, ...change });
  return json({ object: 'email', id: email.id });
}

const ROUTES: readonly Route[] = [
  ...RECEIVING_ROUTES,
  {
    method: 'POST',
    url: '/emails',
    answer: (call) => once(call, () => sendOne(call)),
  },
  { method: 'POST', url: '/emails/batch', answer: (call) => once(call, () => sendBatch(call)) },
  {
    method: 'GET',
    url: '/emails',
    answer: async ({ mailroom, query }) => {
      const rows = (await mailroom.keptOf('sent')).map(({ value }) => current(value as SentEmail, mailroom));
      return json(page(rows, query, ({ object: _o, html: _h, text: _t, tags: _g, ...row }) => row));
    },
  },
  { method: 'GET', url: '/emails/:id', answer: async (call) => json(await find(call)) },
  {
    method: 'PATCH',
    url: '/emails/:id',
    answer: (call) => reschedule(call, timeOf(bodyOf(call.body).scheduled_at, call.mailroom.now())),
  },
  { method: 'POST', url: '/emails/:id/cancel', answer: (call) => reschedule(call, null) },
  ...TEMPLATE_ROUTES,
];

/** https://resend.com/docs/api-reference */
export const RESEND: Provider = {
  name: 'resend',
  title: 'Resend',
  routes: ROUTES,
  credentialOf,
  refusal,
  makeSecrets,
  shown: ({ signingSecret = '' }) => ({ signingSecret }),
  event,
  inbound,
  received,
  became,
};
