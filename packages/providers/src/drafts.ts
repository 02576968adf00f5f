import { compose, type MailFields } from './compose.ts';
import { type Mailroom, Refused, type Sending } from './provider.ts';

/** A mail that is not composed yet. */
export interface Draft {
  fields: MailFields;
  sending: Omit<Sending, 'raw'>;
}

/** Mails that are sent together: the store commits them with few syncs. */
const MAX_TOGETHER = 50;
/** Memory limit of mails that are sent together. A single mail may be larger. */
const MAX_BYTES_TOGETHER = 8 * 1024 * 1024;

export async function composeDraft(mailroom: Mailroom, { fields, sending }: Draft): Promise<Sending> {
  return { ...sending, raw: await compose({ ...fields, date: new Date(mailroom.now()) }) };
}

/**
 * Composes and sends the mails of a request in order and in groups; all mails of a group are checked before
 * the first is sent. @param refused is called for each mail that cannot be composed or sent; an error that it
 * throws ends the request
 */
export async function sendMany<T>(
  mailroom: Mailroom,
  items: readonly T[],
  make: (item: T) => Promise<Sending>,
  refused: (error: unknown, index: number) => void,
): Promise<void> {
  // Estimates the size of the others from the first, because the mails of a request share their attachments.
  let together = 1;
  for (let start = 0, end = 1; start < items.length; start = end, end = start + together) {
    const made = await Promise.allSettled(items.slice(start, end).map(make));
    const group: { sending: Sending; index: number }[] = [];
    for (const [place, one] of made.entries())
      if (one.status === 'fulfilled') group.push({ sending: one.value, index: start + place });
      else refused(one.reason, start + place);
    const sendings = group.map(({ sending }) => sending);
    await mailroom.sendTogether(sendings, (error, place) => refused(error, group[place]?.index ?? start));
    const bytes = Math.max(...sendings.map(({ raw }) => raw.length), 1);
    together = Math.max(1, Math.min(MAX_TOGETHER, Math.floor(MAX_BYTES_TOGETHER / bytes)));
  }
}

/**
 * Composes and sends mails. Drops mails whose recipients have no inbox, because real providers accept those
 * too. @throws Refused 404 if all were dropped, and the errors of `mailroom.send`
 */
export async function sendDrafts(mailroom: Mailroom, drafts: readonly Draft[]): Promise<void> {
  let dropped = 0;
  const compose = (draft: Draft): Promise<Sending> => composeDraft(mailroom, draft);
  await sendMany(mailroom, drafts, compose, (error) => {
    if (!(error instanceof Refused) || error.status !== 404 || ++dropped === drafts.length) throw error;
  });
}
