/*
 * The results of the API as dataclasses of the Python client, from openapi.json. generate-api.ts writes them to
 * python/src/mayfly/api.py.
 */
import { readdirSync, readFileSync } from 'node:fs';
import type { OpenApi, Schema } from './generate-api.ts';

const CLIENT = new URL('../../../python/src/mayfly/', import.meta.url);
/** The names that the modules of the Python client use of api.py: `api.Message` and others. */
const RESULTS = new Set(
  readdirSync(CLIENT)
    .filter((file) => file.endsWith('.py') && file !== 'api.py')
    .toSorted()
    .flatMap((file) => readFileSync(new URL(file, CLIENT), 'utf8').match(/(?<=\bapi\.)[A-Z]\w*/g) ?? []),
);
const HEAD = `"""What the API returns. Generated from openapi.json: run \`npm run openapi\` after a change of the contract."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from ._json import Result
`;
const PRIMITIVES: Record<string, string> = {
  ...{ string: 'str', integer: 'int', number: 'float', boolean: 'bool', null: 'None' },
};

const capital = (text: string) => text[0]?.toUpperCase() + text.slice(1);
/** Names of fields in the style of Python; `from` is a word of the language. */
const snake = (name: string) =>
  name === 'from' ? 'from_' : name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const firstSentence = (text = '') => text.split(/(?<=[.!?]) (?=[A-Z`])/)[0]?.replaceAll('"""', "'''") ?? '';
const literal = (values: unknown[]) =>
  `Literal[${values.map((value) => (value === true ? 'True' : value === null ? 'None' : JSON.stringify(value))).join(', ')}]`;

/** The whole module. */
export function generatePython({ components: { schemas } }: OpenApi): string {
  const classes = new Map<string, string>();

  /** With the fields of the schema that it extends. */
  function whole({ $ref, allOf, ...schema }: Schema): Schema {
    if ($ref) return whole(schemas[$ref.split('/').at(-1) ?? ''] ?? {});
    const parts = (allOf ?? []).map(whole);
    const properties = Object.assign({}, ...parts.map((part) => part.properties));
    return parts.length === 0
      ? schema
      : { ...schema, properties, required: parts.flatMap(({ required = [] }) => required) };
  }

  function typeOf(schema: Schema, name: string): string {
    if (schema.$ref) {
      const named = schema.$ref.split('/').at(-1) ?? '';
      const target = whole(schema);
      return target.properties ? declare(named, target) : typeOf(target, named);
    }
    if (schema.allOf) return declare(name, whole(schema));
    if (schema.const !== undefined) return literal([schema.const]);
    if (schema.enum) return literal(schema.enum);
    if (schema.anyOf) return [...new Set(schema.anyOf.map((one) => typeOf(one, name)))].join(' | ');
    if (Array.isArray(schema.type))
      return schema.type.map((type) => typeOf({ ...schema, type }, name)).join(' | ');
    if (schema.type === 'array') return `list[${typeOf(schema.items ?? {}, name.replace(/s$/, ''))}]`;
    if (schema.type === 'object' && schema.properties) return declare(name, schema);
    if (schema.type === 'object') {
      const values = schema.additionalProperties;
      return `dict[str, ${typeof values === 'object' ? typeOf(values, name) : 'Any'}]`;
    }
    if (schema.type === 'string' && schema.format === 'date-time') return 'datetime';
    return PRIMITIVES[String(schema.type)] ?? 'Any';
  }

  /** @returns the name, once the class and those of its fields are declared */
  function declare(name: string, { properties = {}, required = [], description }: Schema): string {
    if (classes.has(name)) return name;
    const fields = Object.entries(properties).map(([field, schema]) => {
      const type = typeOf(schema, name + capital(field));
      const isOptional = !required.includes(field);
      const note = schema.description ? `    """${firstSentence(schema.description)}"""\n` : '';
      return {
        isOptional,
        text: `    ${snake(field)}: ${type}${isOptional ? ' | None = None' : ''}\n${note}`,
      };
    });
    // A field with a default must not stand before one without.
    const sorted = fields.toSorted((a, b) => Number(a.isOptional) - Number(b.isOptional));
    const doc = description ? `    """${firstSentence(description)}"""\n\n` : '';
    const body = sorted.map(({ text }) => text).join('');
    classes.set(name, `\n\n@dataclass(frozen=True)\nclass ${name}(Result):\n${doc}${body}`);
    return name;
  }

  for (const name of RESULTS) {
    const schema = schemas[name];
    if (schema) declare(name, whole(schema));
  }
  const unknown = [...RESULTS].filter((name) => !classes.has(name));
  if (unknown.length > 0)
    throw new Error(
      `python/src/mayfly uses ${unknown.join(', ')} of api.py, which openapi.json does not have`,
    );
  return `${HEAD}${[...classes.values()].join('')}`;
}
