import MailComposer from 'nodemailer/lib/mail-composer';
import type { LinkKind } from '../../../../src/mail/mail.ts';

/** A mail made for the purpose, with what a careful reader finds in it. */
export interface LabelledMail {
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
  links?: LinkKind[];
  /** Addresses of the links in order of appearance, exactly as in the mail; not given where they do not matter. */
  hrefs?: string[];
}

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
