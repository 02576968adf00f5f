/*
 * Writes src/generated/api.ts: the types of the HTTP API as plain interfaces, from openapi.json. Users of the
 * published package need no TypeBox for them. The same for Python. `npm run openapi` runs this; test/generated.test.ts
 * compares.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { generatePython } from './generate-python.ts';

export interface Schema {
  $ref?: string;
  type?: string | string[];
  format?: string;
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  additionalProperties?: boolean | Schema;
  description?: string;
}
interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  schema: Schema;
  description?: string;
}
type Content = Record<string, { schema: Schema }>;
interface Operation {
  parameters?: Parameter[];
  requestBody?: { required?: boolean; content: Content };
  responses: Record<string, { content?: Content }>;
}
export interface OpenApi {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

const HEAD = `// Generated from openapi.json by scripts/generate-api.ts: run \`npm run openapi\` after a change of the contract.\n`;
const PRIMITIVES: Record<string, string> = {
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  null: 'null',
};

const comment = (text: string | undefined, indent: string) =>
  text ? `${indent}/** ${text.replaceAll('*/', '* /').replaceAll(/\s+/g, ' ')} */\n` : '';
/** Schemas with fewer common fields have them by chance. */
const MIN_SHARED = 5;
/** For editors; the whole description is in the OpenAPI document. */
const firstSentence = (text = '') => text.split(/(?<=[.!?]) (?=[A-Z`])/)[0];

/** A field as it is declared, without its description. */
const declared = (schema: Schema, name: string, field: Schema) =>
  `${key(name)}${schema.required?.includes(name) ? '' : '?'}: ${typeOf(field, '  ')};`;

/** The largest other schema whose fields all occur in this one, with the same types: it is extended. */
function baseOf(schema: Schema, all: Schema[]): Schema | undefined {
  const fieldsOf = (one: Schema) =>
    Object.entries(one.properties ?? {}).map(([name, field]) => declared(one, name, field));
  const own = new Set(fieldsOf(schema));
  const isPart = (one: Schema) => {
    const fields = fieldsOf(one);
    return fields.length >= MIN_SHARED && fields.length < own.size && fields.every((field) => own.has(field));
  };
  const size = (one: Schema) => fieldsOf(one).length;
  return all.filter(isPart).sort((a, b) => size(b) - size(a))[0];
}
/** Parameters of any name that begins so. */
const LABELS = `[label: \`label.\${string}\`]: string | undefined`;
const key = (name: string) => (/^[A-Za-z_]\w*$/.test(name) ? name : `'${name}'`);

/** The TypeScript type of a schema. @throws Error for a form that the contract does not use yet */
function typeOf(schema: Schema, indent: string): string {
  if (schema.$ref) return schema.$ref.split('/').at(-1) ?? '';
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (schema.anyOf) return [...new Set(schema.anyOf.map((one) => typeOf(one, indent)))].join(' | ');
  if (Array.isArray(schema.type))
    return schema.type.map((type) => typeOf({ ...schema, type }, indent)).join(' | ');
  if (schema.type === 'array') return arrayOf(typeOf(schema.items ?? {}, indent));
  if (schema.type === 'object') return objectOf(schema, indent);
  if (schema.type === undefined) return 'unknown';
  const primitive = PRIMITIVES[schema.type];
  if (!primitive) throw new Error(`The generator does not know schemas like ${JSON.stringify(schema)}.`);
  return primitive;
}

const arrayOf = (type: string) => (/^\w+$/.test(type) ? `${type}[]` : `Array<${type}>`);

function objectOf(schema: Schema, indent: string): string {
  const fields = Object.entries(schema.properties ?? {});
  if (fields.length === 0) {
    const values = schema.additionalProperties;
    return `Record<string, ${typeof values === 'object' ? typeOf(values, indent) : 'unknown'}>`;
  }
  const inner = `${indent}  `;
  const lines = fields.map(
    ([name, field]) =>
      `${comment(firstSentence(field.description), inner)}${inner}${key(name)}${schema.required?.includes(name) ? '' : '?'}: ${typeOf(field, inner)};\n`,
  );
  return `{\n${lines.join('')}${indent}}`;
}

/** The fields of one group of parameters, or '' without any. Names with a dot come from labels. */
function parametersOf(operation: Operation, place: 'path' | 'query'): string {
  const parameters = (operation.parameters ?? []).filter((parameter) => parameter.in === place);
  const named = parameters.filter(({ name }) => name !== 'labels');
  const fields = named.map(
    ({ name, required, schema }) => `${key(name)}${required ? '' : '?'}: ${typeOf(schema, '')}`,
  );
  if (named.length < parameters.length) fields.push(LABELS);
  return fields.length === 0 ? '' : `{ ${fields.join('; ')} }`;
}

/** The operation as a field; '' for a stream of events, which has no end and a method of its own. */
function operationOf(name: string, operation: Operation): string {
  const success = Object.entries(operation.responses).find(([status]) => status.startsWith('2'));
  const content = success?.[1].content;
  if (content && 'text/event-stream' in content) return '';
  const lines: string[] = [];
  for (const place of ['path', 'query'] as const) {
    const fields = parametersOf(operation, place);
    if (fields) lines.push(`${place}${place === 'path' ? '' : '?'}: ${fields}`);
  }
  const body = operation.requestBody;
  if (body) {
    const json = body.content['application/json'];
    const type = json ? typeOf(json.schema, '    ') : 'string | Uint8Array';
    lines.push(`body${body.required ? '' : '?'}: ${type}`);
  }
  const result = content?.['application/json'];
  const bytes = content ? 'Uint8Array' : 'undefined';
  lines.push(`result: ${result ? typeOf(result.schema, '    ') : bytes}`);
  // Editors show no comments in the completion of such names.
  return `  '${name}': { ${lines.join('; ')} };\n`;
}

/** The whole file. */
export function generateApi(document: OpenApi): string {
  const named = Object.entries(document.components.schemas);
  const nameOf = new Map(named.map(([name, schema]) => [schema, name]));
  const schemas = named.map(([name, schema]) => {
    const head = comment(schema.description, '');
    if (schema.type !== 'object' || !schema.properties)
      return `${head}export type ${name} = ${typeOf(schema, '')};\n`;
    const base = baseOf(schema, [...nameOf.keys()]);
    if (!base) return `${head}export interface ${name} ${objectOf(schema, '')}\n`;
    const own = Object.entries(schema.properties).filter(([field]) => !base.properties?.[field]);
    const rest = { ...schema, properties: Object.fromEntries(own) };
    return `${head}export interface ${name} extends ${nameOf.get(base)} ${objectOf(rest, '')}\n`;
  });
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) =>
      operationOf(`${method.toUpperCase()} ${path}`, operation),
    ),
  );
  const head = '/** Every operation of the API but streams: what goes in and what comes out. */\n';
  return `${HEAD}\n${schemas.join('\n')}\n${head}export interface Operations {\n${operations.join('')}}\n`;
}

export const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
export const OUTPUT = fileURLToPath(new URL('../src/generated/api.ts', import.meta.url));
export const PYTHON_OUTPUT = `${ROOT}python/src/mayfly/api.py`;

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const document: OpenApi = JSON.parse(readFileSync(`${ROOT}openapi.json`, 'utf8'));
  writeFileSync(OUTPUT, generateApi(document));
  writeFileSync(PYTHON_OUTPUT, generatePython(document));
}
