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
  allOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  additionalProperties?: boolean | Schema;
  description?: string;
}
/** A component, or what stands in its place. */
type Reference<T> = T | { $ref: string };
interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  schema: Schema;
  description?: string;
}
type Content = Record<string, { schema: Schema }>;
interface Operation {
  parameters?: Reference<Parameter>[];
  requestBody?: { required?: boolean; content: Content };
  responses: Record<string, { content?: Content }>;
}
export interface OpenApi {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema>; parameters: Record<string, Parameter> };
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
/** For editors; the whole description is in the OpenAPI document. */
const firstSentence = (text = '') => text.split(/(?<=[.!?]) (?=[A-Z`])/)[0];

/** Parameters of any name that begins so. */
const LABELS = `[label: \`label.\${string}\`]: string | undefined`;
const nameOf = ({ $ref }: { $ref: string }) => $ref.split('/').at(-1) ?? '';
const key = (name: string) => (/^[A-Za-z_]\w*$/.test(name) ? name : `'${name}'`);

/** The TypeScript type of a schema. @throws Error for a form that the contract does not use yet */
function typeOf(schema: Schema, indent: string): string {
  if (schema.$ref) return nameOf({ $ref: schema.$ref });
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (schema.allOf) return schema.allOf.map((one) => typeOf(one, indent)).join(' & ');
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
function parametersOf(parameters: Parameter[], where: 'path' | 'query'): string {
  const found = parameters.filter((parameter) => parameter.in === where);
  const named = found.filter(({ name }) => name !== 'labels');
  const fields = named.map(
    ({ name, required, schema }) => `${key(name)}${required ? '' : '?'}: ${typeOf(schema, '')}`,
  );
  if (named.length < found.length) fields.push(LABELS);
  return fields.length === 0 ? '' : `{ ${fields.join('; ')} }`;
}

/** The operation as a field; '' for a stream of events, which has no end and a method of its own. */
function operationOf(name: string, operation: Operation, { components }: OpenApi): string {
  const success = Object.entries(operation.responses).find(([status]) => status.startsWith('2'));
  const content = success?.[1].content;
  if (content && 'text/event-stream' in content) return '';
  const lines: string[] = [];
  const parameters = (operation.parameters ?? []).flatMap((one) =>
    '$ref' in one ? (components.parameters[nameOf(one)] ?? []) : one,
  );
  for (const place of ['path', 'query'] as const) {
    const fields = parametersOf(parameters, place);
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

/** A schema that extends another one has it as the first of `allOf`. */
function declarationOf(name: string, schema: Schema): string {
  const head = comment(schema.description, '');
  const [base, own] = schema.allOf ?? [];
  if (base?.$ref && own)
    return `${head}export interface ${name} extends ${typeOf(base, '')} ${objectOf(own, '')}\n`;
  if (schema.type !== 'object' || !schema.properties)
    return `${head}export type ${name} = ${typeOf(schema, '')};\n`;
  return `${head}export interface ${name} ${objectOf(schema, '')}\n`;
}

/** The whole file. */
export function generateApi(document: OpenApi): string {
  const schemas = Object.entries(document.components.schemas).map(([name, schema]) =>
    declarationOf(name, schema),
  );
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) =>
      operationOf(`${method.toUpperCase()} ${path}`, operation, document),
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
