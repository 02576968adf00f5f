import type MailComposer from 'nodemailer/lib/mail-composer';

type Fields = NonNullable<ConstructorParameters<typeof MailComposer>[0]>;

/** The fields of a mail for nodemailer's composer. */
export type MailFields = Pick<
  Fields,
  | 'from'
  | 'to'
  | 'cc'
  | 'replyTo'
  | 'subject'
  | 'text'
  | 'encoding'
  | 'html'
  | 'headers'
  | 'alternatives'
  | 'attachments'
  | 'messageId'
  | 'inReplyTo'
  | 'references'
  | 'date'
>;

/** Composes the source of a mail, with CRLF. */
export async function compose(fields: MailFields): Promise<Uint8Array> {
  // Loaded on first use, to keep the start fast.
  const { default: Composer } = await import('nodemailer/lib/mail-composer');
  // All content is given, so files and URLs must not be read.
  return new Composer({ ...fields, disableFileAccess: true, disableUrlAccess: true, newline: '\r\n' })
    .compile()
    .build();
}
