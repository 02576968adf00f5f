import { compose, type MailFields } from './compose.ts';
import { type Mailroom, Refused, type Sending } from './provider.ts';

/** A mail before it is composed. */
export interface Draft {
  fields: MailFields;
  sending: Omit<Sending, 'raw'>;
}

/**
 * Composes and sends one mail after the other, so that of a mailing only one is in memory. Mails whose recipients have
 * no inbox are dropped, as a provider accepts mail for mailboxes that do not exist.
 * @throws Refused 404 if all were dropped, and what `mailroom.send` throws
 */
export async function sendDrafts(mailroom: Mailroom, drafts: readonly Draft[]): Promise<void> {
  let dropped = 0;
  for (const { fields, sending } of drafts) {
    const raw = await compose({ ...fields, date: new Date(mailroom.now()) });
    await mailroom.send({ ...sending, raw }).catch((error: unknown) => {
      if (!(error instanceof Refused) || error.status !== 404 || ++dropped === drafts.length) throw error;
    });
  }
}
