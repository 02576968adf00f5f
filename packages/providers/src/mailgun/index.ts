import { basicPassword, json } from '../given.ts';
import type { Provider, Refused, Reply } from '../provider.ts';
import { sendMessage, sendMime } from './send.ts';
import { TEMPLATE_ROUTES } from './templates.ts';
import { event, inbound, makeSecrets } from './webhooks.ts';

/** Mailgun's response to a wrong key is plain text. */
const refusal = ({ status, message }: Refused): Reply =>
  status === 401 ? { status, type: 'text/plain', body: `Forbidden. ${message}` } : json({ message }, status);

/** https://documentation.mailgun.com/docs/mailgun/api-reference */
export const MAILGUN: Provider = {
  name: 'mailgun',
  title: 'Mailgun',
  routes: [
    { method: 'POST', url: '/v3/:domain/messages', answer: sendMessage },
    { method: 'POST', url: '/v3/:domain/messages.mime', answer: sendMime },
    ...TEMPLATE_ROUTES,
  ],
  credentialOf: basicPassword,
  refusal,
  makeSecrets,
  shown: ({ signingKey = '' }) => ({ signingKey }),
  event,
  inbound,
};
