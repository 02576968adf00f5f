import type { MailSummary } from '../../../src/mail/mail.ts';

/** What is read of a mail that says nothing; tests write over it what theirs says. */
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
