import { json } from '../given.ts';
import type { Call, Provider, Refused, Reply } from '../provider.ts';
import { known } from './errors.ts';
import { event, inbound } from './events.ts';
import { QUERY_ROUTES } from './query.ts';
import { REST_ROUTES } from './rest.ts';
import { files, handshake, makeSecrets } from './sns.ts';
import { xml } from './xml.ts';

/** The access key id of AWS Signature Version 4. The signature is not verified. */
const credentialOf = ({ authorization }: Call['headers']): string | undefined =>
  /\bCredential=([^/,\s]+)/.exec(authorization ?? '')?.[1];

function refusal(error: Refused, { headers, url }: Pick<Call, 'headers'> & { url: string }): Reply {
  const version = url.startsWith('/v2/') ? 2 : 1;
  const { status, code, message } = known(error, version, credentialOf(headers) !== undefined);
  if (version === 2) return { ...json({ message }, status), headers: { 'x-amzn-errortype': code } };
  const Type = status < 500 ? 'Sender' : 'Receiver';
  return xml('ErrorResponse', { Error: { Type, Code: code, Message: message }, RequestId: 'mayfly' }, status);
}

/** Amazon Simple Email Service. */
export const SES: Provider = {
  name: 'ses',
  title: 'Amazon SES',
  routes: [...REST_ROUTES, ...QUERY_ROUTES],
  credentialOf,
  refusal,
  makeSecrets,
  shown: ({ certificate = '' }) => ({ certificate }),
  event,
  inbound,
  handshake,
  files,
};
