import { MAILGUN } from './mailgun/index.ts';
import { POSTMARK } from './postmark/index.ts';
import type { Provider } from './provider.ts';
import { RESEND } from './resend/index.ts';
import { SENDGRID } from './sendgrid/index.ts';
import { SES } from './ses/index.ts';
import { TWILIO } from './twilio/index.ts';

export * from './provider.ts';

/** All providers. The server imports this module at the first request to one. */
export const PROVIDERS: readonly Provider[] = [SES, SENDGRID, RESEND, POSTMARK, MAILGUN, TWILIO];
