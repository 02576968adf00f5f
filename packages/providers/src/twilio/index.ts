import { basicPassword } from '../given.ts';
import type { Provider } from '../provider.ts';
import { refusal } from './errors.ts';
import { cancelMessage, sendMessage, showMessage } from './messages.ts';
import { event, inbound, makeSecrets } from './webhooks.ts';

const MESSAGES = '/2010-04-01/Accounts/:account/Messages';

/**
 * https://www.twilio.com/docs/messaging/api/message-resource. An SMS is delivered as a mail to its number at
 * the default domain.
 */
export const TWILIO: Provider = {
  name: 'twilio',
  title: 'Twilio',
  routes: [
    { method: 'POST', url: `${MESSAGES}.json`, answer: sendMessage },
    { method: 'GET', url: `${MESSAGES}/:sid.json`, answer: showMessage },
    { method: 'POST', url: `${MESSAGES}/:sid.json`, answer: cancelMessage },
  ],
  credentialOf: basicPassword,
  refusal,
  makeSecrets,
  shown: ({ accountSid = '', authToken = '' }) => ({ accountSid, authToken }),
  event,
  inbound,
};
