import { json, NamedRefusal } from '../given.ts';
import type { Call, Refused, Reply } from '../provider.ts';

export const invalid = (message: string): NamedRefusal => new NamedRefusal(422, 'validation_error', message);

export const missing = (field: string): NamedRefusal =>
  new NamedRefusal(422, 'missing_required_field', `Missing \`${field}\` field.`);

export const notFound = (what: string): NamedRefusal =>
  new NamedRefusal(404, 'not_found', `${what} not found`);

const KINDS: Readonly<Record<number, string>> = {
  404: 'not_found',
  405: 'method_not_allowed',
  409: 'concurrent_idempotent_requests',
  429: 'rate_limit_exceeded',
  451: 'security_error',
  500: 'internal_server_error',
};

/** Converts an error of the mailroom or the server to Resend's status and name. */
function known({ status, message }: Refused, hasKey: boolean): NamedRefusal {
  if (status === 401 && !hasKey)
    return new NamedRefusal(401, 'missing_api_key', 'Missing API key in the authorization header.');
  if (status === 401) return new NamedRefusal(403, 'invalid_api_key', `API key is invalid. ${message}`);
  // An unknown recipient; errors about an email id are already named.
  if (status === 404) return invalid(message);
  if (status === 507) return new NamedRefusal(429, 'daily_quota_exceeded', message);
  const kind = KINDS[status] ?? (status < 500 ? 'validation_error' : 'application_error');
  return new NamedRefusal(status, kind, message);
}

export function refusal(error: Refused, call: Pick<Call, 'headers'>): Reply {
  const { status, kind, message } =
    error instanceof NamedRefusal ? error : known(error, credentialOf(call.headers) !== undefined);
  return json({ statusCode: status, name: kind, message }, status);
}

export const credentialOf = ({ authorization }: Call['headers']): string | undefined =>
  /^bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
