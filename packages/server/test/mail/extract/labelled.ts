import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { MailLink } from '@mayfly/client/contract';
import MailComposer from 'nodemailer/lib/mail-composer';

/**
 * A mail made for the purpose, with what a careful reader finds in it. They are in `labelled/`, a file for each
 * language (`mul`: several in one mail). How the labels are decided:
 * - `code` is what an automated sign-in, sign-up, recovery or payment test would type. Groups of digits are joined,
 *   other hyphens are kept (`G-482910`), one character per cell is joined, native digits are written as ASCII.
 * - Not a code: voucher, tracking number, booking reference, meeting ID, meeting passcode, dial-in PIN, door code.
 * - `links` has one kind per distinct address; the text and HTML parts hold the same ones. A link is judged by what it
 *   does for the reader. Preference pages are `other`; confirming a newsletter, an address change or a device is
 *   `verify`; every link that ends mails is `unsubscribe`. The address of `List-Unsubscribe` comes last.
 */
export interface LabelledMail {
  /** Where it comes from: the first run of each set is in docs/internals/codes-judgements.md. */
  set: string;
  name: string;
  from?: string;
  subject: string;
  text?: string;
  html?: string;
  /** `List-Unsubscribe`. */
  unsubscribe?: string;
  /** How text and HTML travel; what suits them best where not given. */
  encoding?: 'quoted-printable' | 'base64';
  /** The code that a person would type, or null where there is none. */
  code: string | null;
  /** Kinds of the links in order of appearance; not given where they do not matter. */
  links?: MailLink['kind'][];
  /** Addresses of the links in order of appearance, exactly as in the mail; not given where they do not matter. */
  hrefs?: string[];
  /** Why the label is as it is, where one may doubt it. */
  note?: string;
}

const FOLDER = join(import.meta.dirname, 'labelled');

export const LABELLED: readonly LabelledMail[] = readdirSync(FOLDER).flatMap((file): LabelledMail[] =>
  JSON.parse(readFileSync(join(FOLDER, file), 'utf8')),
);

/** The mail as it goes over the wire. */
export async function build(mail: LabelledMail): Promise<Uint8Array> {
  return await new MailComposer({
    from: mail.from ?? 'Example <noreply@example.com>',
    to: 'calm.otter@mayfly.test',
    subject: mail.subject,
    ...(mail.text === undefined ? {} : { text: mail.text }),
    ...(mail.html === undefined ? {} : { html: mail.html }),
    ...(mail.encoding === undefined ? {} : { textEncoding: mail.encoding }),
    ...(mail.unsubscribe === undefined ? {} : { headers: { 'List-Unsubscribe': mail.unsubscribe } }),
  })
    .compile()
    .build();
}
