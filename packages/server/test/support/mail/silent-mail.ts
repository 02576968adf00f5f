import type { MailSummary } from '../../../src/mail/mail.ts';

/** The summary of an empty mail, which tests extend. */
export const SILENT_SUMMARY: MailSummary = {
  from: null,
  to: [],
  cc: [],
  subject: '',
  preview: '',
  attachmentCount: 0,
  inlineCount: 0,
  codes: [],
};
