import { type Static, Type } from 'typebox';

/** The email and SMS providers whose APIs the server imitates. */
export const PROVIDER_NAMES = ['ses', 'sendgrid', 'resend', 'postmark', 'mailgun', 'twilio'] as const;

export const ProviderName = Type.Enum([...PROVIDER_NAMES], {
  description: 'A provider whose interface Mayfly has.',
  examples: ['resend'],
});
export type ProviderName = Static<typeof ProviderName>;
