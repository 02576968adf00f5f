import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { fullFormats } from 'ajv-formats/dist/formats.js';
import type { Body } from '../../support/api-client.ts';

/** Merges a schema with the one that it extends by `allOf`. */
function flattened({ allOf, ...node }: Body, schemas: Body): Body {
  if (!allOf) return node;
  const [base, own] = allOf.map((one: Body) =>
    flattened(one.$ref ? schemas[one.$ref.split('/').at(-1)] : one, schemas),
  );
  return {
    ...own,
    ...node,
    properties: { ...base.properties, ...own.properties },
    required: [...(base.required ?? []), ...(own.required ?? [])],
  };
}

/** Adds `additionalProperties: false` to every object, so that a field without a description is an error. */
function closed(node: Body, schemas: Body): Body {
  if (Array.isArray(node)) return node.map((one) => closed(one, schemas));
  if (typeof node !== 'object' || node === null) return node;
  const flat = flattened(node, schemas);
  const copy = Object.fromEntries(Object.entries(flat).map(([key, value]) => [key, closed(value, schemas)]));
  const open = flat.type === 'object' && flat.properties && flat.additionalProperties === undefined;
  return open ? { ...copy, additionalProperties: false } : copy;
}

/**
 * Creates a validator for the schemas of an OpenAPI document.
 * @returns a function that returns the errors of a value as text; '' if it is valid
 */
export function answerChecker(document: Body): (schema: Body, value: unknown) => string {
  const ajv = new Ajv2020({
    strict: false,
    formats: {
      byte: true,
      date: fullFormats.date,
      'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
    },
  });
  const schemas = closed(document.components.schemas, document.components.schemas);
  ajv.addSchema({ $id: 'api', components: { schemas } });
  // Compiling a schema takes longer than a request, and many operations share the schemas of errors.
  const compiled = new Map<string, ValidateFunction>();
  return (schema, value) => {
    const text = JSON.stringify(schema).replaceAll('"#/', '"api#/');
    const valid = compiled.get(text) ?? ajv.compile(JSON.parse(text));
    compiled.set(text, valid);
    return valid(value) ? '' : JSON.stringify(valid.errors);
  };
}
