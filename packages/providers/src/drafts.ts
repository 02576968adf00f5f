import { compose, type MailFields } from './compose.ts';
import { type Mailroom, Refused, type Sending } from './provider.ts';

/** A mail before it is composed. */
export interface Draft {
  fields: MailFields;
  sending: Omit<Sending, 'raw'>;
}

/** Mails that are sent together: the store commits them with a few syncs. */
const MAX_TOGETHER = 50;
/** Memory of mails that are sent together. One alone may be larger. */
const MAX_BYTES_TOGETHER = 8 * 1024 * 1024;

export async function composeDraft(mailroom: Mailroom, { fields, sending }: Draft): Promise<Sending> {
  return { ...sending, raw: await compose({ ...fields, date: new Date(mailroom.now()) }) };
}

/**
 * Composes and sends the mails of a request in their order, in groups of which no mail is sent before all are admitted.
 * @param refused is called for each mail that cannot be made or sent; what it throws ends the group and the request
 */
export async function sendMany<T>(
  mailroom: Mailroom,
  items: readonly T[],
  make: (item: T) => Promise<Sending>,
  refused: (error: unknown, index: number) => void,
): Promise<void> {
  // The mails of a request are about as large as its first, because they share their attachments.
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
 * Composes and sends mails. Those whose recipients have no inbox are dropped, as a provider accepts mail for mailboxes
 * that do not exist.
 * @throws Refused 404 if all were dropped, and what `mailroom.send` throws
 */
export async function sendDrafts(mailroom: Mailroom, drafts: readonly Draft[]): Promise<void> {
  let dropped = 0;
  const compose = (draft: Draft): Promise<Sending> => composeDraft(mailroom, draft);
  await sendMany(mailroom, drafts, compose, (error) => {
    if (!(error instanceof Refused) || error.status !== 404 || ++dropped === drafts.length) throw error;
  });
}
