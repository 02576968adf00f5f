import swagger from '@fastify/swagger';
import fastify, { type FastifySchema } from 'fastify';
import { SECOND_MS } from '../../clock.ts';
import { VERSION } from '../../version.ts';
import type { Access } from '../access/guard.ts';
import type { App, HttpOptions, RouteContext } from '../context.ts';
import {
  CONNECTION_LIMITS,
  MAX_BODY_BYTES,
  MAX_HEADER_BYTES,
  MAX_HELD_PER_ACCOUNT,
  MAX_PARAMETER,
  MAX_UNREAD_BYTES_PER_ACCOUNT,
} from '../limits.ts';
import { apiRoutes } from '../routes/api.ts';
import { type Accepted, complete } from './complete.ts';
import { CHALLENGE, problemResponse, RETRY_AFTER } from './responses.ts';

// Imported only by the thread that makes the document (see thread.ts), and by the command `mayfly openapi`.

const KIB = 1024;

const DESCRIPTION = `Disposable inboxes for automated tests: create an inbox, let the system under test send mail to its address, and read the mail here.

**Try it on this page**: choose *Authorize* and enter an API key. Create an inbox first: from then on the example ids on this page stand for the inbox, message, webhook and key that this page created or read last.

**Authentication**: every request carries \`Authorization: Bearer CREDENTIAL\` with an API key (\`mfk_…\`), or with the read token of an inbox (\`mft_…\`), which reads that inbox only.

**Errors**: every response that is not a success is a problem document (RFC 9457, \`application/problem+json\`) with a \`code\` for programs and a \`detail\` for people, which says what was wrong and what to do next. Unknown fields and query parameters are errors. A method that a path does not support gets 405 with \`Allow\`.

**Limits**: the quota of the month and the rate are limits of the account. Every response states them in \`X-Quota-…\` and \`RateLimit\` headers; 304, 429 and 5xx are free. Every 429 says in \`Retry-After\` when to retry.

**Bounds of this server**: a JSON body has at most ${MAX_BODY_BYTES / KIB} KiB, the request line and the headers together ${MAX_HEADER_BYTES / KIB} KiB (431), a part of a path ${MAX_PARAMETER.toLocaleString('en')} characters. The headers of a request must arrive within ${CONNECTION_LIMITS.headersTimeoutMs / SECOND_MS} seconds and all of it within ${CONNECTION_LIMITS.requestTimeoutMs / SECOND_MS} (408). Bodies are sent uncompressed (415). One client address may have ${CONNECTION_LIMITS.maxConnectionsPerAddress.toLocaleString('en')} connections open unless the operator changed that, and one connection ${CONNECTION_LIMITS.maxPipelined} pipelined requests. An account may hold ${MAX_HELD_PER_ACCOUNT.toLocaleString('en')} waits and streams, and have ${MAX_UNREAD_BYTES_PER_ACCOUNT / KIB / KIB} MiB of responses that its clients have not read yet (429). A client that reads nothing of a large response for ${CONNECTION_LIMITS.unreadResponseMs / SECOND_MS} seconds is disconnected.`;

const SECURITY_SCHEMES = {
  apiKey: { type: 'http', scheme: 'bearer', description: 'An API key of the account (`mfk_…`).' },
  readToken: {
    type: 'http',
    scheme: 'bearer',
    description: 'The read token of an inbox (`mft_…`), from the response that created the inbox.',
  },
} as const;

const TAGS = [
  { name: 'Inboxes', description: 'Create, find, extend, expire and delete inboxes.' },
  { name: 'Messages', description: 'List, wait for, read and delete messages.' },
  { name: 'Addresses', description: 'Addresses without an inbox, and the domains for addresses.' },
  { name: 'Webhooks', description: 'Requests that Mayfly sends for new messages, signed.' },
  { name: 'Accounts', description: 'API keys and usage of the account.' },
];

const header = (description: string, schema: object, required = true) => ({ description, required, schema });

/** Headers that responses of several operations have. */
const HEADERS = {
  'X-Request-Id': header('Identifier of the request; the log of the server has it too.', { type: 'string' }),
  'X-Quota-Limit': header('Requests per calendar month (UTC), or `unlimited`.', { type: 'string' }),
  'X-Quota-Remaining': header('Requests left this month, or `unlimited`.', { type: 'string' }),
  'X-Quota-Reset': header('When the next month begins, in seconds since 1970-01-01T00:00:00Z.', {
    type: 'string',
  }),
  'RateLimit-Policy': header(
    'The limits of the plan (draft-ietf-httpapi-ratelimit-headers); absent without limits.',
    { type: 'string', examples: ['"burst";q=10;w=5, "month";q=1000;w=2592000'] },
    false,
  ),
  RateLimit: header(
    'What is left of each limit, and in how many seconds it is full again; absent without limits.',
    { type: 'string', examples: ['"burst";r=0;t=5, "month";r=874;t=2314432'] },
    false,
  ),
};

function security(access: Access): Record<string, string[]>[] {
  if (access === 'public') return [];
  return access.startsWith('inbox:read') ? [{ apiKey: [] }, { readToken: [] }] : [{ apiKey: [] }];
}

/** The errors that follow from what a route declares, so that no route has to list them. */
function commonProblems(access: Access, schema: FastifySchema) {
  const isGuarded = access !== 'public';
  const forbidden = access.endsWith(':write')
    ? '`insufficient_scope`: the credential is a read token, or an API key of the scope `read`.'
    : '`insufficient_scope`: the credential is a read token.';
  return {
    400: problemResponse('The request is invalid: `errors` names each invalid place.'),
    ...(isGuarded && {
      401: problemResponse('The credential is missing, malformed, unknown, revoked or expired.', CHALLENGE),
      429: problemResponse(
        'The account exceeded the rate of its plan, holds too many waits and streams, or has too many unread responses (`rate_limited`), or it exceeded the quota of the month (`quota_exceeded`).',
        RETRY_AFTER,
      ),
    }),
    // A read token may do all that `inbox:read` asks for; with another inbox's it gets 404.
    ...(isGuarded && !access.startsWith('inbox:read') && { 403: problemResponse(forbidden, CHALLENGE) }),
    ...(access.startsWith('inbox:') && {
      404: problemResponse('The id is unknown, or not visible to this credential.'),
      410: problemResponse('`inbox_expired`: the inbox expired within the last 24 hours.'),
    }),
    ...(schema.body !== undefined && {
      413: problemResponse('`payload_too_large`: the body is larger than the limit of this operation.'),
      415: problemResponse(
        '`unsupported_media_type`: the body has another media type, or a `Content-Encoding`.',
      ),
    }),
    500: problemResponse('`internal_error`: the server failed.'),
    503: problemResponse('`unavailable`: the storage does not respond, or it is full.', RETRY_AFTER),
  };
}

/** Lets the document grow with the routes that are registered afterwards. */
async function describeApi(app: App, { options }: RouteContext): Promise<void> {
  const accepted: Accepted = new Map();
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.1',
      info: {
        title: 'Mayfly',
        version: VERSION,
        description: DESCRIPTION,
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: '/', description: 'This server.' }],
      tags: TAGS,
      components: { securitySchemes: SECURITY_SCHEMES, headers: HEADERS } as object,
    },
    refResolver: { buildLocalReference: (json) => String(json.$id) },
    transform: ({ schema, url, route }) => {
      const access = route.config?.access;
      if (!access || !schema?.operationId) return { schema: { ...schema, hide: true }, url };
      accepted.set(schema.operationId, route.config?.accepts ?? ['application/json']);
      const response = { ...commonProblems(access, schema), ...(schema.response as object) };
      return { schema: { ...schema, security: security(access), response }, url };
    },
    transformObject: (given) =>
      complete('openapiObject' in given ? given.openapiObject : given, accepted, options.webhookExample),
  });
}

/** The options that decide which operations a server has, and what its examples show. */
export type DescribedOptions = Pick<HttpOptions, 'signUpPlan' | 'webhookExample'>;

/** Enough to register routes; only requests would use more. */
const contextOf = (described: DescribedOptions): RouteContext => {
  const options: HttpOptions = { host: '', port: 0, domains: [], publicUrl: null, ...described };
  return { options, deps: {} } as unknown as RouteContext;
};

/**
 * Makes the OpenAPI 3.1 description of the API from its routes; nothing listens and nothing is opened.
 * @param described of the server that is described
 */
export async function openapiDocument(described: DescribedOptions = {}): Promise<object> {
  const app: App = fastify();
  // The app handles no request, so it needs no validators and serializers.
  app.setValidatorCompiler(() => () => true);
  app.setSerializerCompiler(() => JSON.stringify);
  const context = contextOf(described);
  await describeApi(app, context);
  apiRoutes(app, context);
  await app.ready();
  return app.swagger();
}
