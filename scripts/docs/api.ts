/*
 * Writes docs/api.md from openapi.json: the page of the HTTP API, for the site and for repository browsers; and the
 * table of operations in docs/client.md. The calls of the clients are those of their tests of all operations. `npm run
 * openapi` runs it; a test compares the pages.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '../..');
const PAGE = 'docs/api.md';
const CLIENT_PAGE = 'docs/client.md';

export interface Schema {
  $ref?: string;
  type?: string | string[];
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  allOf?: Schema[];
  anyOf?: Schema[];
  items?: Schema;
  enum?: unknown[];
  const?: unknown;
  additionalProperties?: Schema | boolean;
}
export interface Parameter {
  $ref?: string;
  in: string;
  name: string;
  required?: boolean;
  description: string;
  schema: Schema;
  example?: unknown;
}
type Content = Record<string, { schema?: Schema; examples?: Record<string, { value: unknown }> }>;
interface Response {
  $ref?: string;
  description: string;
  content?: Content;
}
export interface Operation {
  operationId: string;
  tags: string[];
  summary: string;
  description: string;
  security: Array<Record<string, unknown>>;
  parameters?: Parameter[];
  requestBody?: { required?: boolean; content: Content };
  responses: Record<string, Response>;
}

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
export const document = JSON.parse(read('openapi.json')) as {
  info: { version: string; description: string };
  tags: Array<{ name: string; description?: string }>;
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, Record<string, Operation>>;
  components: Record<string, Record<string, unknown>>;
};

const nameOf = (ref: string) => ref.slice(ref.lastIndexOf('/') + 1);
export function resolve<T extends { $ref?: string }>(value: T): T {
  if (!value.$ref) return value;
  const [kind = '', name = ''] = value.$ref.split('/').slice(2);
  return document.components[kind]?.[name] as T;
}
/** In a cell of a table. */
const cell = (text: string) => text.replaceAll('\n', ' ').replaceAll('|', '\\|').trim();
const objectLink = (ref: string) => `[${nameOf(ref)}](#${nameOf(ref).toLowerCase()})`;

function typeOf(schema: Schema): string {
  if (schema.$ref) return objectLink(schema.$ref);
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  if (schema.enum) return schema.enum.map((value) => `\`${value}\``).join(', ');
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(' or ');
  if (schema.items) return `array of ${typeOf(schema.items)}`;
  return [schema.type ?? 'any'].flat().join(' or ');
}

/** Its own fields and those of the schemas that it extends. */
function fieldsOf(schema: Schema): Array<[string, Schema, boolean]> {
  const { properties = {}, required = [], allOf = [] } = resolve(schema);
  const own = Object.entries(properties).map(([name, field]): [string, Schema, boolean] => [
    name,
    field,
    required.includes(name),
  ]);
  return [...allOf.flatMap(fieldsOf), ...own];
}

/** A field or parameter: its name, type and meaning, as Markdown. */
type Row = [string, string, string];
export const fieldRows = (schema: Schema): Row[] =>
  fieldsOf(schema).map(([name, field]) => [
    `\`${name}\``,
    typeOf(field),
    field.description ?? resolve(field).description ?? '',
  ]);
const tableOf = (rows: Row[]) =>
  [['field', 'type', 'meaning'], ['---', '---', '---'], ...rows]
    .map((row) => `| ${row.map(cell).join(' | ')} |`)
    .join('\n')
    .replace('| --- | --- | --- |', '|---|---|---|');

/** The call of each operation in a test of all operations, with ids that look like ids. */
function callsIn(path: string, pattern: RegExp): Map<string, string> {
  const ids: Record<string, string> = { I: 'inb_…', M: 'msg_…', K: 'key_…', D: 'dlv_…', A: 'att_…' };
  return new Map(
    [...read(path).matchAll(pattern)].map(([, operation = '', call = '']) => {
      const id = (letter: string) =>
        ids[letter] ??
        (operation.includes('/waits/') ? 'wai_…' : operation.includes('/webhooks') ? 'whk_…' : letter);
      const text = call
        .replace(/^(?:first|next)\((.*)\)$/, '$1')
        .replace(/\{ signal: [^}]+\}/, '')
        .replace(/^(webhooks|keys)\./, 'mayfly.$1.')
        .replace(/api\.Attachment\.from_json\(ATTACHMENT\)/, 'attachment')
        .replace('RECORDING', 'recording')
        .replace('timeout: 0', 'timeout: 10_000')
        .replace('timeout=0', 'timeout=10')
        .replaceAll(/(['"])([A-Z])\1/g, (_, quote, letter) => `${quote}${id(letter)}${quote}`);
      return [operation, text];
    }),
  );
}
export const TYPESCRIPT = callsIn(
  'packages/client/test/surface.test.ts',
  /^ {2}'([A-Z]+ \/v1\S*)': \(\) =>\s*(.*),$/gm,
);
export const PYTHON = callsIn(
  'python/tests/test_surface.py',
  /^ {4}"([A-Z]+ \/v1\S*)": (?:\(\s*)?lambda[^:]*:\s*(.*?)(?:\n {4}\))?,$/gm,
);

const ID_VARIABLES: Record<string, string> = { inboxes: '$ID', messages: '$MESSAGE', keys: '$KEY_ID' };
/** The path with shell variables, and a query where one is required. */
function urlOf(path: string, parameters: Parameter[]): string {
  const url = path.replaceAll(/(\w+)\/\{(\w+)\}/g, (_, noun: string, name: string) => {
    const variable =
      ID_VARIABLES[noun] ??
      `$${name === 'id' ? noun.replace(/s$/, '').toUpperCase() : name.replace(/Id$/, '').toUpperCase()}`;
    return `${noun}/${variable}`;
  });
  const query = parameters.find(({ in: where, required }) => where === 'query' && required);
  if (!query) return url;
  const example =
    query.name === 'labels' ? 'label.run=4711' : `${query.name}=${String(query.example ?? 'run')}`;
  return `${url}?${example}`;
}

export function curlOf(method: string, path: string, operation: Operation): string {
  const parameters = (operation.parameters ?? []).map(resolve);
  const [type, body] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
  const example = Object.values(body?.examples ?? {})[0]?.value;
  const verb = method === 'get' ? '' : `-X ${method.toUpperCase()} `;
  const auth = operation.security.length > 0 ? ' -H "Authorization: Bearer $KEY"' : '';
  const lines = [`curl -s ${verb}"$API${urlOf(path, parameters)}"${auth}`];
  if (type === 'application/json' && example !== undefined)
    lines.push(`-H 'Content-Type: ${type}' -d '${JSON.stringify(example)}'`);
  else if (type && type !== 'application/json')
    lines.push(
      `-H 'Content-Type: ${type}' --data-binary @${type === 'application/zip' ? 'inbox.zip' : 'mail.eml'}`,
    );
  return lines.join(' \\\n     ');
}

/** Those of every operation. */
const EVERYWHERE = ['401', '429', '500', '503'];
/** The errors of an operation by status: codes and what they mean. */
export const errorsOf = (
  operation: Operation,
  without = EVERYWHERE,
): Array<[string, Array<[string, string]>]> =>
  Object.entries(operation.responses)
    .filter(([status]) => status >= '4' && !without.includes(status))
    .map(([status, response]) => [status, codesIn(resolve(response).description)]);
const codesIn = (description: string) =>
  [...description.matchAll(/`(\w+)`: (.*?)(?= `\w+`: |$)/g)].map(
    ([, code = '', meaning = '']): [string, string] => [code, meaning],
  );

const isPublic = ({ security }: Operation) => security.length === 0;
export function accessOf(operation: Operation): string {
  if (isPublic(operation)) return 'no credential';
  return operation.security.some((scheme) => 'readToken' in scheme) ? 'API key or read token' : 'API key';
}

/** The status of a success, the type of its body as Markdown, and its meaning. */
export function resultOf(operation: Operation): Row {
  const [status = '', response] = Object.entries(operation.responses).find(([code]) => code < '3') ?? [];
  const { content = {}, description } = resolve(response ?? { description: '' });
  const [type, body] = Object.entries(content)[0] ?? [];
  const shown = body?.schema?.$ref ? objectLink(body.schema.$ref) : type ? `\`${type}\`` : 'no body';
  return [status, shown, description];
}

/** Parameters but those of the path, and the fields of the body. */
export function rowsOf(operation: Operation): Row[] {
  const parameters = (operation.parameters ?? []).map(resolve).filter(({ in: where }) => where !== 'path');
  const rows = parameters.map(({ in: where, name, description, schema }): Row => {
    const isLabels = name === 'labels';
    return [
      `\`${isLabels ? 'label.NAME' : name}\` (${where})`,
      isLabels ? 'string' : typeOf(schema),
      description,
    ];
  });
  const json = operation.requestBody?.content['application/json']?.schema;
  return [...rows, ...(json ? fieldRows(json) : [])];
}

function operationText(method: string, path: string, operation: Operation): string {
  const name = `${method.toUpperCase()} ${path}`;
  const rows = rowsOf(operation);
  const [status, body, meaning] = resultOf(operation);
  const errors = errorsOf(operation).map(
    ([code, found]) => `${code} ${found.map(([one]) => `\`${one}\``).join(', ')}`,
  );
  const clients = [
    ['TypeScript', TYPESCRIPT.get(name)],
    ['Python', PYTHON.get(name)],
  ].flatMap(([language, call]) => (call ? [`${language}: \`${call}\``] : []));
  return [
    `### ${operation.summary}`,
    `\`${name}\` · ${accessOf(operation)}`,
    operation.description,
    `${HOW}\n\`\`\`sh\n${curlOf(method, path, operation)}\n\`\`\``,
    ...(clients.length > 0 ? [clients.join(' · ')] : []),
    ...(rows.length > 0 ? [tableOf(rows)] : []),
    `**Returns** ${status}, ${body}: ${cell(meaning)}${errors.length > 0 ? ` [Errors](errors.md#all-codes): ${errors.join(' · ')}.` : ''}`,
  ].join('\n\n');
}

const HOW =
  '<!-- by hand: made of openapi.json, whose examples a test sends to a server; the calls are those of the tests of the clients -->';

const INTRODUCTION = `# HTTP API

Every operation, with a request to copy. \`$API\` is the server (\`http://127.0.0.1:8025\` after \`npm start\`) and \`$KEY\` an API key (\`dev\` on the same machine). \`/docs\` of a running server shows the same to search and to try out, \`/openapi.json\` the description for [generators](generated-clients.md).

- **Credentials**: \`Authorization: Bearer CREDENTIAL\` with an API key (\`mfk_…\`), or with the read token of an inbox (\`mft_…\`), which reads that inbox and nothing else.
- **Errors** are problem documents with a \`code\` for programs and a \`detail\` for people: see [Errors](errors.md). Every operation may answer 401, 429 and 503. Unknown fields and parameters are errors.
- **Limits** of the account are in the headers \`X-Quota-…\` and \`RateLimit\` of every response: see [Accounts](accounts.md#quota-and-limits).
- **Times** are RFC 3339 in UTC with milliseconds. **Cursors** and ids are opaque.
- **In TypeScript and Python** \`mayfly\` is the client, \`inbox\` an inbox and \`mail\` a message that it returned: see [the client](client.md) and [pytest](pytest.md).`;

/** @returns the text of docs/api.md */
export function apiPage(): string {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  );
  const sections = document.tags.map(({ name }) => {
    const texts = operations
      .filter(({ operation }) => operation.tags.includes(name))
      .map(({ method, path, operation }) => operationText(method, path, operation));
    return texts.length > 0 ? `## ${name}\n\n${texts.join('\n\n')}` : '';
  });
  const objects = Object.entries(document.components.schemas as Record<string, Schema>).map(
    ([name, schema]) => {
      const rows = fieldRows(schema);
      return [`### ${name}`, schema.description ?? '', rows.length > 0 ? tableOf(rows) : '']
        .filter(Boolean)
        .join('\n\n');
    },
  );
  return `${[INTRODUCTION, ...sections.filter(Boolean), '## Objects', ...objects].join('\n\n')}\n`;
}

/** The command of `mf` for each operation; `call` makes those that scripts rarely need. */
export const COMMAND_OF: Record<string, string> = {
  'POST /v1/inboxes': 'new',
  'GET /v1/inboxes': 'list',
  'DELETE /v1/inboxes': 'rm',
  'GET /v1/inboxes/{id}': 'open',
  'DELETE /v1/inboxes/{id}': 'rm',
  'GET /v1/inboxes/{id}/messages': 'list',
  'GET /v1/inboxes/{id}/messages/{messageId}': 'read',
  'GET /v1/inboxes/{id}/messages/{messageId}/raw': 'save',
  'GET /v1/inboxes/{id}/messages/{messageId}/lint': 'lint',
  'GET /v1/inboxes/{id}/messages/{messageId}/timeline': 'timeline',
  'POST /v1/inboxes/{id}/wait': 'code',
  'GET /v1/inboxes/{id}/events': 'tail',
  'GET /v1/events': 'tail',
  'PUT /v1/inboxes/{id}/faults': 'faults',
  'GET /v1/inboxes/{id}/faults': 'faults',
  'GET /v1/reports/runs': 'report',
  'POST /v1/inboxes/{id}/messages/{messageId}/reply': 'reply',
};

/** The method of a call, as a cell. */
const methodOf = (call: string | undefined): string =>
  call === undefined ? '–' : `\`${call.replace(/\(.*/s, '')}()\``;

/** One row for each operation: how each client makes it. */
function clientTable(): string {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const rows = operations.map((operation) => {
    const command = COMMAND_OF[operation] ?? 'call';
    const cells = [methodOf(TYPESCRIPT.get(operation)), methodOf(PYTHON.get(operation)), `\`mf ${command}\``];
    return `| \`${operation}\` | ${cells.join(' | ')} |`;
  });
  return ['| operation | TypeScript | Python | `mf` |', '|---|---|---|---|', ...rows].join('\n');
}

/** @returns the text of docs/client.md with the table of all operations */
export function clientPage(): string {
  const page = read(CLIENT_PAGE);
  const table = /^\| operation \| TypeScript .*(?:\n\|.*)*/m;
  if (!table.test(page)) throw new Error(`${CLIENT_PAGE} has no table of the operations`);
  return page.replace(table, () => clientTable());
}

if (process.argv[1] === import.meta.filename) {
  writeFileSync(join(ROOT, PAGE), apiPage());
  writeFileSync(join(ROOT, CLIENT_PAGE), clientPage());
}
