import * as contract from '@mayfly/client/contract';

// biome-ignore lint/suspicious/noExplicitAny: a JSON document.
export type Json = any;

export const reference = (kind: string, name: string): Json => ({ $ref: `#/components/${kind}/${name}` });

/** `not_found` and `messageId` as `NotFound` and `MessageId`. */
export const pascalCase = (name: string): string =>
  name.replaceAll(/(?:^|[_-])(\w)/g, (_all, letter: string) => letter.toUpperCase());

const isNamed = (value: unknown): value is { $id: string } =>
  typeof value === 'object' && value !== null && '$id' in value;

/** `string` or null, instead of a choice between the two. */
function joinNull({ anyOf, ...rest }: Json): Json {
  const [one, nothing, ...others] = anyOf ?? [];
  const isPlain = nothing?.type === 'null' && typeof one?.type === 'string' && others.length === 0;
  if (!isPlain) return anyOf ? { ...rest, anyOf } : rest;
  return { ...one, ...rest, type: [one.type, 'null'], ...(one.enum && { enum: [...one.enum, null] }) };
}

/** A schema of the contract as OpenAPI writes it. */
export function toSchema(value: Json): Json {
  if (Array.isArray(value)) return value.map(toSchema);
  if (typeof value !== 'object' || value === null) return value;
  const { $id: _id, 'x-unit': _unit, ...rest } = value;
  const node = joinNull(Object.fromEntries(Object.entries(rest).map(([key, one]) => [key, toSchema(one)])));
  if (typeof node.$ref === 'string') return reference('schemas', node.$ref.replace('#', ''));
  const values = node.patternProperties?.['^.*$'];
  if (values) {
    delete node.patternProperties;
    node.additionalProperties = values;
  }
  // Generators make a type of its own of an enumeration, which few languages have for `true`.
  if (typeof node.const === 'boolean') delete node.const;
  if (node.enum?.every((one: unknown) => typeof one === 'string')) return { type: 'string', ...node };
  return node;
}

/** Schemas with fewer common fields have them by chance. */
const MIN_SHARED = 5;

const fieldsOf = (schema: Json): Map<string, string> =>
  new Map(
    Object.entries(schema.properties ?? {}).map(([name, field]) => [
      name,
      JSON.stringify([schema.required?.includes(name) ?? false, field]),
    ]),
  );

/** The largest named schema whose fields another one has, too, with the same descriptions. */
function baseOf(schema: Json, named: Map<string, Json>): string | undefined {
  const own = fieldsOf(schema);
  let largest = MIN_SHARED - 1;
  let base: string | undefined;
  for (const [name, other] of named) {
    const fields = fieldsOf(other);
    const isPart = [...fields].every(([field, text]) => own.get(field) === text);
    if (!isPart || fields.size >= own.size || fields.size <= largest) continue;
    largest = fields.size;
    base = name;
  }
  return base;
}

/** The same schema, with `allOf` where it extends a named one. Bodies of requests are closed and stay as they are. */
function extending(value: Json, named: Map<string, Json>): Json {
  if (Array.isArray(value)) return value.map((one) => extending(one, named));
  if (typeof value !== 'object' || value === null) return value;
  const node = Object.fromEntries(Object.entries(value).map(([key, one]) => [key, extending(one, named)]));
  const isOpen = value.type === 'object' && value.properties && value.additionalProperties === undefined;
  const base = isOpen ? baseOf(value, named) : undefined;
  if (base === undefined) return node;
  const inherited = named.get(base).properties;
  const isOwn = (name: string) => !(name in inherited);
  const { type, properties, required = [], ...rest } = node;
  const own = Object.fromEntries(Object.entries(properties).filter(([name]) => isOwn(name)));
  const ownRequired = required.filter(isOwn);
  const extension = { type, properties: own, ...(ownRequired.length > 0 && { required: ownRequired }) };
  return { ...rest, allOf: [reference('schemas', base), extension] };
}

/** All named schemas of the contract. */
export function schemaComponents(): Record<string, Json> {
  const all: unknown[] = Object.values(contract);
  const schemas = all.filter(isNamed);
  const named = new Map(schemas.map((schema) => [schema.$id, toSchema(JSON.parse(JSON.stringify(schema)))]));
  return Object.fromEntries([...named].map(([name, schema]) => [name, extending(schema, named)]));
}
