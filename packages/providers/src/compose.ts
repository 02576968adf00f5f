import type MailComposer from 'nodemailer/lib/mail-composer';

type Fields = NonNullable<ConstructorParameters<typeof MailComposer>[0]>;

/** The fields of a mail, as nodemailer's composer takes them. */
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

/** The source of a mail with CRLF. */
export async function compose(fields: MailFields): Promise<Uint8Array> {
  // Loaded when first used: a start does not need it.
  const { default: Composer } = await import('nodemailer/lib/mail-composer');
  // What the mail says is given, and neither a file nor a URL.
  return new Composer({ ...fields, disableFileAccess: true, disableUrlAccess: true, newline: '\r\n' })
    .compile()
    .build();
}
