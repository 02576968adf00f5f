import { makePassword, shownPassword } from '../basic-authentication.ts';
import type { Provider } from '../provider.ts';
import { refusal } from './errors.ts';
import { sendBatch, sendOne, sendTemplateBatch } from './send.ts';
import { TEMPLATE_ROUTES } from './templates.ts';
import { event, inbound } from './webhooks.ts';

/** https://postmarkapp.com/developer */
export const POSTMARK: Provider = {
  name: 'postmark',
  title: 'Postmark',
  routes: [
    { method: 'POST', url: '/email', answer: sendOne },
    { method: 'POST', url: '/email/batch', answer: sendBatch },
    { method: 'POST', url: '/email/withTemplate', answer: sendOne },
    { method: 'POST', url: '/email/batchWithTemplates', answer: sendTemplateBatch },
    ...TEMPLATE_ROUTES,
  ],
  credentialOf: (headers) => headers['x-postmark-server-token'],
  refusal,
  makeSecrets: async () => makePassword(),
  shown: shownPassword,
  event,
  inbound,
};
