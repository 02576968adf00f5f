import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { SECOND_MS } from '../../packages/server/src/clock.ts';
import {
  CONNECTION_LIMITS,
  IDLE_CONNECTION_MS,
  MAX_BODY_BYTES,
  MAX_HEADER_BYTES,
  MAX_HELD_PER_ACCOUNT,
  MAX_PARAMETER,
  MAX_PIPELINED,
  MAX_UNREAD_BYTES_PER_ACCOUNT,
} from '../../packages/server/src/http/limits.ts';
import { VERSION } from '../../packages/server/src/version.ts';
import { ErrorComponents } from './errors.ts';
import { Operations } from './operations.ts';
import { type Json, schemaComponents } from './schemas.ts';
import { EVENTS_TAG, WEBHOOKS } from './webhook-event.ts';

/*
 * Writes openapi.json, the OpenAPI 3.1 document of the API, from the routes of the server and the schemas of the
 * contract. `npm run openapi` runs this; the server serves the file.
 */

const KIB = 1024;

const DESCRIPTION = `Disposable inboxes for automated tests: create an inbox, let the system under test send mail to its address, and read the mail here.

**Authentication**: every request carries \`Authorization: Bearer CREDENTIAL\` with an API key (\`mfk_…\`), or with the read token of an inbox (\`mft_…\`), which reads that inbox only.

**Errors**: every response that is not a success is a problem document (RFC 9457, \`application/problem+json\`) with a \`code\` for programs and a \`detail\` for people, which says what was wrong and what to do next. Unknown fields and query parameters are errors. A method that a path does not support gets 405 with \`Allow\`.

**Limits**: the quota of the month and the rate are limits of the account. Every response states them in \`X-Quota-…\` and \`RateLimit\` headers; 304, 429 and 5xx are free. Every 429 says in \`Retry-After\` when to retry.

**Bounds of this server**: a JSON body has at most ${MAX_BODY_BYTES / KIB} KiB, the request line and the headers together ${MAX_HEADER_BYTES / KIB} KiB (431), a part of a path ${MAX_PARAMETER.toLocaleString('en')} characters. The headers of a request must arrive within ${CONNECTION_LIMITS.headersTimeoutMs / SECOND_MS} seconds and all of it within ${CONNECTION_LIMITS.requestTimeoutMs / SECOND_MS} (408). Bodies are sent uncompressed (415). One client address may have ${CONNECTION_LIMITS.maxConnectionsPerAddress.toLocaleString('en')} connections open unless the operator changed that, and one connection ${MAX_PIPELINED} pipelined requests. An account may hold ${MAX_HELD_PER_ACCOUNT.toLocaleString('en')} waits and streams, and have ${MAX_UNREAD_BYTES_PER_ACCOUNT / KIB / KIB} MiB of responses that its clients have not read yet (429). A client that reads nothing of a response for ${IDLE_CONNECTION_MS / SECOND_MS} seconds is disconnected.`;

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
  {
    name: 'Outgoing',
    description: 'What comes after sending: bounces and other outcomes, replies, mail that was scheduled.',
  },
  { name: 'Providers', description: 'Where events and replies in the format of a mail provider go.' },
  { name: 'Accounts', description: 'API keys and usage of the account.' },
  { name: EVENTS_TAG, description: 'What the requests to webhooks contain.' },
];

/** @throws Error for an operation whose tag would be in no section of the reference and docs/api.md */
function declared(paths: Operations['paths']): typeof TAGS {
  const names = TAGS.map(({ name }) => name);
  for (const methods of Object.values(paths))
    for (const { operationId, tags } of Object.values(methods) as { operationId: string; tags: string[] }[])
      if (!tags.every((tag) => names.includes(tag)))
        throw new Error(`${operationId} has a tag that TAGS does not describe`);
  return TAGS;
}

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
  'Retry-After': header('Seconds after which to retry.', { type: 'integer', examples: [1] }),
  'WWW-Authenticate': header('How to authenticate (RFC 6750).', { type: 'string', examples: ['Bearer'] }),
};

/** Makes the document; nothing listens and nothing is opened. */
export async function openapiDocument(): Promise<Json> {
  const errors = new ErrorComponents();
  const headers: Record<string, Json> = { ...HEADERS };
  const schemas = schemaComponents();
  const { paths, parameters, responses } = await Operations.describe(errors, headers, schemas);
  return {
    openapi: '3.1.1',
    info: {
      title: 'Mayfly',
      version: VERSION,
      description: DESCRIPTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'This server.' }],
    tags: declared(paths),
    paths,
    webhooks: WEBHOOKS,
    components: {
      securitySchemes: SECURITY_SCHEMES,
      headers,
      parameters,
      responses: { ...responses, ...errors.responses },
      examples: errors.examples,
      schemas,
    },
  };
}

/** The committed file. */
export const COMMITTED = fileURLToPath(new URL('../../openapi.json', import.meta.url));

const MAX_COLUMNS = 110;

/** JSON with indentation, where what fits into a line is one: a third of the file would be indentation else. */
function printed(value: unknown, indent: string, columns: number): string {
  const flat = JSON.stringify(value, null, 1).replace(/\n */g, ' ');
  if (typeof value !== 'object' || value === null || flat.length <= columns) return flat;
  const inner = `${indent}  `;
  const entries = Array.isArray(value)
    ? value.map((one) => printed(one, inner, MAX_COLUMNS - inner.length))
    : Object.entries(value).map(([name, one]) => {
        const key = `${JSON.stringify(name)}: `;
        return key + printed(one, inner, MAX_COLUMNS - inner.length - key.length);
      });
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  return `${open}\n${inner}${entries.join(`,\n${inner}`)}\n${indent}${close}`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  // Through JSON once, so that what JSON leaves out is left out.
  const document: unknown = JSON.parse(JSON.stringify(await openapiDocument()));
  writeFileSync(COMMITTED, `${printed(document, '', 0)}\n`);
}
