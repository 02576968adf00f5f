import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import fastify, { type FastifySchema } from 'fastify';
import { Type } from 'typebox';
import { VERSION } from '../version.ts';
import type { Access } from './access/guard.ts';
import type { App, RouteContext } from './context.ts';
import { problemAnswer } from './response/openapi-responses.ts';
import { apiRoutes } from './routes/api.ts';

// Loaded when somebody asks for what is made here, and not before: see routes/reference.ts.

// biome-ignore lint/suspicious/noExplicitAny: a JSON document, walked and completed here.
type Json = any;

const DESCRIPTION = `Disposable inboxes for automated tests.

Create an inbox, let your system send mail to its address, and read the mail here. Every request carries \`Authorization: Bearer …\` with an API key, or with the read token of an inbox, which reads that inbox only.

Every answer that is not a success is a problem document (RFC 9457) with a \`code\` for programs.`;

const SECURITY_SCHEMES = {
  apiKey: { type: 'http', scheme: 'bearer', description: 'An API key of the account (`mfk_…`).' },
  readToken: {
    type: 'http',
    scheme: 'bearer',
    description: 'The read token of an inbox (`mft_…`), from the answer that created it.',
  },
} as const;

const RETRY_AFTER = { 'Retry-After': Type.Integer({ description: 'Seconds to wait before a repeat.' }) };
const CHALLENGE = { 'WWW-Authenticate': Type.String({ description: 'How to authenticate.' }) };

function security(access: Access): Record<string, string[]>[] {
  if (access === 'public') return [];
  return access === 'inbox:read' ? [{ apiKey: [] }, { readToken: [] }] : [{ apiKey: [] }];
}

/** The refusals that follow from what a route demands, so that no route has to list them. */
function commonProblems(access: Access, schema: FastifySchema) {
  const ofInbox = access.startsWith('inbox:');
  return {
    400: problemAnswer('The request is invalid: `errors` says where.'),
    ...(access !== 'public' && {
      401: problemAnswer('The credential is missing, malformed, unknown or revoked.', CHALLENGE),
      403: problemAnswer('`insufficient_scope`: the credential may not do this.', CHALLENGE),
    }),
    ...(ofInbox && {
      404: problemAnswer('There is no such thing, or not for this credential.'),
      410: problemAnswer('`inbox_expired`: the inbox ended less than 24 hours ago.'),
    }),
    ...(schema.body !== undefined && {
      413: problemAnswer('The body is too large.'),
      415: problemAnswer('The body is not `application/json`.'),
    }),
    500: problemAnswer('The server failed.'),
    503: problemAnswer('`unavailable`: the storage does not answer.', RETRY_AFTER),
  };
}

/** Nothing in OpenAPI names parameters by pattern; an exploded object comes closest. */
const LABEL_PARAMETER = {
  in: 'query',
  name: 'labels',
  style: 'form',
  explode: true,
  description: 'Only inboxes that carry this label; may be repeated for others: `label.NAME=value`.',
  schema: {
    type: 'object',
    additionalProperties: { type: 'string' },
    example: { 'label.run': '4711' },
  },
};

const signedHeader = (name: string, description: string, example: string) => ({
  in: 'header',
  name,
  required: true,
  description,
  schema: { type: 'string' },
  example,
});

/** What we send, as OpenAPI 3.1 describes requests that go the other way. */
const WEBHOOKS = {
  'message.received': {
    post: {
      operationId: 'messageReceived',
      tags: ['Webhooks'],
      summary: 'A new message arrived',
      description:
        'Signed by Standard Webhooks: verify it with one of its libraries and the secret of the webhook. Delivered at least once: the same `webhook-id` may come again. Answer 2xx within 15 seconds; anything else is tried again after 5 s, 30 s, 2 min, 10 min, 30 min, 2 h and 6 h, each ± 20 %, or later where `Retry-After` says so.',
      security: [],
      parameters: [
        signedHeader(
          'webhook-id',
          'The event; the same on every attempt and every replay.',
          'evt_01kk4m6c8rq2t5v7w9x1y3z5b7',
        ),
        signedHeader('webhook-timestamp', 'When this attempt was made, seconds since 1970.', '1772600767'),
        signedHeader(
          'webhook-signature',
          'One `v1,` and base64 for each secret, separated by spaces: HMAC-SHA256 over `webhook-id.webhook-timestamp.body`. Two for 24 hours after a rotation.',
          'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
        ),
      ],
      requestBody: {
        required: true,
        content: { 'application/json': { schema: { $ref: '#/components/schemas/MessageReceivedEvent' } } },
      },
      responses: {
        '2XX': { description: 'Received. The body is not looked at; its first kilobyte is in the log.' },
        410: { description: 'No more, please: the webhook is disabled at once.' },
        default: { description: 'Not received: it is tried again.' },
      },
    },
  },
};

function complete(document: Json): Json {
  document.webhooks = WEBHOOKS;
  const schemas = document.components.schemas;
  for (const path of Object.values<Json>(document.paths)) {
    for (const operation of Object.values<Json>(path)) {
      const bodySchema = operation.requestBody?.content['application/json']?.schema?.$ref?.split('/').at(-1);
      if (bodySchema) operation.requestBody.required = schemas[bodySchema].required !== undefined;
      if (['listInboxes', 'deleteInboxes'].includes(operation.operationId)) {
        operation.parameters = [...(operation.parameters ?? []), LABEL_PARAMETER];
      }
      for (const response of Object.values<Json>(operation.responses)) {
        response.headers = {
          ...response.headers,
          'X-Request-Id': { $ref: '#/components/headers/X-Request-Id' },
        };
      }
    }
  }
  return document;
}

/** Lets the document grow with the routes that are registered afterwards. */
async function describeApi(app: App): Promise<void> {
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
      tags: [
        { name: 'Inboxes', description: 'Create, find, extend and delete inboxes.' },
        { name: 'Messages', description: 'List, wait for, read and delete messages.' },
        { name: 'Addresses', description: 'Addresses without an inbox.' },
        { name: 'Webhooks', description: 'New messages, POSTed to you and signed.' },
        { name: 'Accounts', description: 'API keys and usage of the account.' },
      ],
      components: {
        securitySchemes: SECURITY_SCHEMES,
        headers: {
          'X-Request-Id': { description: "The request's id, also in the log.", schema: { type: 'string' } },
        },
      },
    } as Json,
    refResolver: { buildLocalReference: (json) => String(json.$id) },
    transform: ({ schema, url, route }) => {
      const access = route.config?.access;
      if (!access || !schema?.operationId) return { schema: { ...schema, hide: true }, url };
      const response = { ...commonProblems(access, schema), ...(schema.response as object) };
      return { schema: { ...schema, security: security(access), response }, url };
    },
    transformObject: (given) => complete('openapiObject' in given ? given.openapiObject : given),
  });
}

/** Enough to register routes; only requests would ask for more. */
const UNTOLD = {
  options: { host: '', port: 0, domains: [], publicUrl: null, metrics: 'off' },
  deps: {},
} as unknown as RouteContext;

/**
 * The OpenAPI 3.1 description of the API, made from the routes; nothing listens and nothing is opened.
 * @param context of the server that is described: its options decide which operations it has
 */
export async function openapiDocument(context: RouteContext = UNTOLD): Promise<object> {
  const app: App = fastify();
  // Nobody asks this app anything: its validators would be made for nothing.
  app.setValidatorCompiler(() => () => true);
  app.setSerializerCompiler(() => JSON.stringify);
  await describeApi(app);
  apiRoutes(app, context);
  await app.ready();
  return app.swagger();
}

/** Everything that the reference pages load is ours; they style themselves and draw with data URLs. */
const PAGES_CSP =
  "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'";

/** An app that answers below `/docs` with pages that show the document; it has no other routes. */
export async function referencePages(document: object): Promise<App> {
  const app: App = fastify();
  await app.register(swagger, { mode: 'static', specification: { document: document as Json } });
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: PAGES_CSP,
    uiConfig: { persistAuthorization: false, validatorUrl: null },
  });
  await app.ready();
  return app;
}
