import fastify, { type FastifyContextConfig, type FastifySchema } from 'fastify';
import type { Access } from '../../packages/server/src/http/access/guard.ts';
import type { App, RouteContext } from '../../packages/server/src/http/context.ts';
import type { ProblemCode } from '../../packages/server/src/http/response/problems.ts';
import { apiRoutes } from '../../packages/server/src/http/routes/api.ts';
import { byStatus, type ErrorComponents } from './errors.ts';
import { type Json, pascalCase, reference, toSchema } from './schemas.ts';

/** A route of the API. */
interface Route {
  /** `/v1/inboxes/{id}` */
  path: string;
  method: string;
  access: Access;
  config: FastifyContextConfig;
  schema: FastifySchema;
}

/** All routes that have an operation id, in the order in which the server registers them. */
async function collectRoutes(): Promise<Route[]> {
  const routes: Route[] = [];
  const app: App = fastify({ exposeHeadRoutes: false });
  // The app handles no request, so it needs no validators and serializers.
  app.setValidatorCompiler(() => () => true);
  app.setSerializerCompiler(() => JSON.stringify);
  app.addHook('onRoute', ({ url, method, config = {}, schema }) => {
    if (!schema?.operationId || !config.access) return;
    const path = url.replaceAll(/:(\w+)/g, '{$1}');
    routes.push({ path, method: String(method).toLowerCase(), access: config.access, config, schema });
  });
  const options = { host: '', port: 0, domains: [], publicUrl: null };
  // Enough to register routes; only requests would use more.
  apiRoutes(app, { options, deps: {} } as unknown as RouteContext);
  await app.ready();
  return routes;
}

/** Codes that follow from what a route declares, so that no route has to list them. */
function commonErrors({ access, schema }: Route): ProblemCode[] {
  const isGuarded = access !== 'public';
  return [
    ...(['invalid_request', 'malformed_json', 'invalid_since'] as const),
    ...(isGuarded ? (['unauthorized'] as const) : []),
    // A read token may do all that `inbox:read` asks for; with another inbox's it gets 404.
    ...(isGuarded && !access.startsWith('inbox:read') ? (['insufficient_scope'] as const) : []),
    ...(access.startsWith('inbox:') ? (['not_found', 'inbox_expired'] as const) : []),
    ...(schema.body ? (['payload_too_large', 'unsupported_media_type'] as const) : []),
    ...(isGuarded ? (['rate_limited', 'quota_exceeded'] as const) : []),
    ...(['internal_error', 'unavailable', 'storage_damaged'] as const),
  ];
}

const LIMIT_HEADERS = [
  'X-Quota-Limit',
  'X-Quota-Remaining',
  'X-Quota-Reset',
  'RateLimit-Policy',
  'RateLimit',
];

/** The headers of a response, beside its own. */
const commonHeaders = ({ access }: Route, status: number): string[] =>
  access !== 'public' && (status < 400 || status === 429)
    ? ['X-Request-Id', ...LIMIT_HEADERS]
    : ['X-Request-Id'];

const LABEL_EXAMPLE = { 'label.run': '4711' };

/** OpenAPI cannot describe parameters by a pattern of their names; an exploded object is sent the same way. */
const labelParameter = (isRequired: boolean): Json => ({
  in: 'query',
  name: 'labels',
  required: isRequired,
  style: 'form',
  explode: true,
  description: `${isRequired ? 'At least one label' : 'Labels'} that the inboxes must carry, each as a query parameter \`label.NAME=VALUE\`. The names of the fields of this object begin with \`label.\`, and they are the names of the query parameters.`,
  schema: {
    type: 'object',
    propertyNames: { pattern: '^label\\.' },
    additionalProperties: { type: 'string' },
    // Pages fill in the field with it.
    examples: [LABEL_EXAMPLE],
  },
  ...(isRequired ? { example: LABEL_EXAMPLE } : { 'x-example': LABEL_EXAMPLE }),
});

/**
 * Only required parameters have an `example`: pages that send requests fill fields with it, and optional parameters,
 * filters above all, contradict each other when all are set. The others have it in their text.
 */
function parameterOf(place: string, name: string, isRequired: boolean, described: Json): Json {
  const { description, examples: [example] = [], ...schema } = described;
  const base = { in: place, name, required: isRequired, description, schema };
  if (isRequired || example === undefined) return { ...base, ...(example !== undefined && { example }) };
  const text = typeof example === 'string' ? `${description} For example \`${example}\`.` : description;
  return { ...base, description: text, 'x-example': example };
}

function parametersIn(place: string, part: unknown): Json[] {
  const {
    properties = {},
    required = [],
    patternProperties,
  }: Json = toSchema(JSON.parse(JSON.stringify(part ?? {})));
  const parameters = Object.entries(properties).map(([name, described]) =>
    parameterOf(place, name, required.includes(name), described),
  );
  // Labels alone: at least one.
  return patternProperties ? [...parameters, labelParameter(parameters.length === 0)] : parameters;
}

const parametersOf = ({ schema }: Route): Json[] => [
  ...parametersIn('path', schema.params),
  ...parametersIn('query', schema.querystring),
  ...parametersIn('header', schema.headers),
];

/** `ttlMinutes and labels`, for the choice between examples. */
function nameOf(example: unknown): string {
  if (typeof example !== 'object' || example === null) return 'example';
  const names = Object.keys(example);
  return names.length === 0 ? 'without fields' : names.join(' and ');
}

const examplesOf = (examples: unknown[]): Json => ({
  examples: Object.fromEntries(examples.map((value) => [nameOf(value), { value }])),
});

/** The body of a request. Examples of a JSON body move here from its schema, where documentation pages look for them. */
function bodyOf({ schema, config }: Route, schemas: Record<string, Json>): Json {
  const body: Json = toSchema(JSON.parse(JSON.stringify(schema.body)));
  if (!body.$ref) return bytesOf(Object.values<Json>(body.content)[0].schema, config.accepts ?? []);
  const named = schemas[body.$ref.split('/').at(-1)];
  const { examples = [] } = named;
  delete named.examples;
  return {
    required: named.required !== undefined,
    content: { 'application/json': { schema: body, ...examplesOf(examples) } },
  };
}

/** A body of bytes, in the first media type with its examples. */
function bytesOf({ description, examples = [] }: Json, accepts: readonly string[]): Json {
  const binary = { type: 'string', format: 'binary' };
  const content = accepts.map((type, index) => [
    type,
    index === 0 && examples.length > 0
      ? { schema: { type: 'string' }, ...examplesOf(examples) }
      : { schema: binary },
  ]);
  return { description, required: true, content: Object.fromEntries(content) };
}

function securityOf(access: Access): Json[] {
  if (access === 'public') return [];
  return access.startsWith('inbox:read') ? [{ apiKey: [] }, { readToken: [] }] : [{ apiKey: [] }];
}

/** Collects the parts of operations that the document names. */
export class Operations {
  readonly paths: Record<string, Json> = {};
  readonly parameters: Record<string, Json> = {};
  readonly responses: Record<string, Json> = {};
  readonly #routes: Route[];
  readonly #errors: ErrorComponents;
  readonly #headers: Record<string, Json>;
  readonly #schemas: Record<string, Json>;

  private constructor(
    routes: Route[],
    errors: ErrorComponents,
    headers: Record<string, Json>,
    schemas: Record<string, Json>,
  ) {
    this.#routes = routes;
    this.#errors = errors;
    this.#headers = headers;
    this.#schemas = schemas;
  }

  /** @param headers of responses, by name; those of routes are added */
  static async describe(
    errors: ErrorComponents,
    headers: Record<string, Json>,
    schemas: Record<string, Json>,
  ): Promise<Operations> {
    const operations = new Operations(await collectRoutes(), errors, headers, schemas);
    operations.#describeAll();
    return operations;
  }

  #describeAll(): void {
    for (const route of this.#routes) {
      const { path, method, access, schema } = route;
      const parameters = parametersOf(route).map((one) => this.#nameParameter(one, path));
      const { operationId, summary, description, tags } = schema;
      this.paths[path] ??= {};
      this.paths[path][method] = {
        ...{ operationId, tags, summary, description, security: securityOf(access) },
        ...(parameters.length > 0 && { parameters }),
        ...(schema.body !== undefined && { requestBody: bodyOf(route, this.#schemas) }),
        responses: { ...this.#successesOf(route), ...this.#errorsOf(route) },
      };
    }
  }

  /** A parameter that several operations have is named. */
  #nameParameter(parameter: Json, path: string): Json {
    const text = JSON.stringify(parameter);
    const uses = this.#routes.flatMap(parametersOf).filter((one) => JSON.stringify(one) === text);
    if (uses.length === 1) return parameter;
    const [, of = ''] = /\/(\w+?)(?:e?s)\/\{id\}/.exec(path) ?? [];
    const name = pascalCase(parameter.name === 'id' ? `${of}_id` : parameter.name);
    return named(this.parameters, 'parameters', name, parameter);
  }

  #successesOf(route: Route): Record<string, Json> {
    const described: Json = JSON.parse(JSON.stringify(route.schema.response));
    return Object.fromEntries(
      Object.entries<Json>(described).map(([status, { description, headers = {}, content }]) => {
        for (const [name, schema] of Object.entries<Json>(headers)) this.#header(name, schema);
        const names = [...Object.keys(headers), ...commonHeaders(route, Number(status))];
        const response = {
          description,
          headers: Object.fromEntries(names.map((name) => [name, reference('headers', name)])),
          ...(content && { content: toSchema(content) }),
        };
        const isShared = status === '304';
        return [status, isShared ? named(this.responses, 'responses', 'NotModified', response) : response];
      }),
    );
  }

  /** A list that was held has no ETag. */
  #header(name: string, { description, ...schema }: Json): void {
    named(this.#headers, 'headers', name, { description, required: name !== 'ETag', schema });
  }

  #errorsOf(route: Route): Record<string, Json> {
    const errors = byStatus(commonErrors(route), route.config.errors ?? []);
    return Object.fromEntries(
      errors.map(([status, codes]) => [
        String(status),
        this.#errors.refer(status, codes, commonHeaders(route, status)),
      ]),
    );
  }
}

/** Adds a component. @returns the reference to it. @throws Error where another one has that name */
function named(components: Record<string, Json>, kind: string, name: string, component: Json): Json {
  components[name] ??= component;
  if (JSON.stringify(components[name]) !== JSON.stringify(component))
    throw new Error(`There are two different ${kind} ${name}.`);
  return reference(kind, name);
}
