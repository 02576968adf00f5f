import { shownPassword } from '../basic-authentication.ts';
import type { Provider } from '../provider.ts';
import { refusal } from './errors.ts';
import { sendMail } from './send.ts';
import { TEMPLATE_ROUTES } from './templates.ts';
import { event, inbound, makeSecrets } from './webhooks.ts';

/** https://www.twilio.com/docs/sendgrid/api-reference */
export const SENDGRID: Provider = {
  name: 'sendgrid',
  title: 'SendGrid',
  routes: [{ method: 'POST', url: '/v3/mail/send', answer: sendMail }, ...TEMPLATE_ROUTES],
  // Accepts the `SG.` prefix, which applications and the SDK require.
  credentialOf: ({ authorization }) => /^Bearer +(?:SG\.)?(.*)$/i.exec(authorization ?? '')?.[1],
  refusal,
  makeSecrets,
  shown: (secrets) => ({ publicKey: secrets.publicKey ?? '', ...shownPassword(secrets) }),
  event,
  inbound,
};
