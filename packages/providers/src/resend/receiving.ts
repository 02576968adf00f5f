import { shownMailbox } from '../address-list.ts';
import { json } from '../given.ts';
import type { Call, InboundMail, Route } from '../provider.ts';
import { notFound } from './errors.ts';

/** Limit of attachment contents in a stored record. */
const MAX_CONTENT_BYTES = 256 * 1024;

type Received = ReturnType<typeof received>;

/** The response of `GET /emails/receiving/{id}`. */
export function received(mail: InboundMail) {
  let left = MAX_CONTENT_BYTES;
  return {
    ...{ object: 'email', id: mail.id, created_at: new Date(mail.at).toISOString() },
    ...{
      from: shownMailbox(mail.from),
      to: mail.to.map(shownMailbox),
      cc: mail.cc.map(shownMailbox),
      bcc: [],
    },
    ...{ received_for: [mail.rcptTo], reply_to: [], message_id: mail.messageId, subject: mail.subject },
    ...{ html: mail.html || null, text: mail.text || null, raw: null },
    headers: Object.fromEntries(mail.headers.map(({ name, value }) => [name.toLowerCase(), value])),
    attachments: mail.attachments.map(({ filename, contentType, contentId, content }, index) => {
      left -= content.length;
      return {
        ...{ id: String(index + 1), filename: filename || null, content_type: contentType },
        content_disposition: contentId ? 'inline' : 'attachment',
        ...{ content_id: contentId || null, size: content.length },
        // A data URL works without a credential and exposes nothing to others.
        download_url: left < 0 ? '' : `data:${contentType};base64,${Buffer.from(content).toString('base64')}`,
      };
    }),
  };
}

async function find({ mailroom, path }: Call): Promise<Received> {
  const found = (await mailroom.kept('received', path.id ?? '')) as Received | undefined;
  if (!found) throw notFound('Email');
  return found;
}

export const RECEIVING_ROUTES: readonly Route[] = [
  { method: 'GET', url: '/emails/receiving/:id', answer: async (call) => json(await find(call)) },
  {
    method: 'GET',
    url: '/emails/receiving/:id/attachments',
    answer: async (call) => json({ object: 'list', has_more: false, data: (await find(call)).attachments }),
  },
  {
    method: 'GET',
    url: '/emails/receiving/:id/attachments/:attachment',
    answer: async (call) => {
      const { attachments } = await find(call);
      const attachment = attachments.find(({ id }) => id === call.path.attachment);
      if (!attachment) throw notFound('Attachment');
      return json({ object: 'attachment', ...attachment });
    },
  },
];
