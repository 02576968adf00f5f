import { createRequire } from 'node:module';
import * as contract from '@mayfly/client/contract';
import type { Ajv, AnySchemaObject, ErrorObject, ValidateFunction } from 'ajv';

/** Returns false and sets `errors` if the value does not match the schema. */
interface Validator {
  (value: unknown): boolean;
  errors: ErrorObject[] | null;
}

const isNamed = (value: unknown): value is AnySchemaObject & { $id: string } =>
  typeof value === 'object' && value !== null && '$id' in value;

const require = createRequire(import.meta.url);

function createAjv(): Ajv {
  // Loaded at the first request with a body or a query, because they take as long as all routes.
  const library = require('ajv') as typeof import('ajv');
  const addFormats = require('ajv-formats') as typeof import('ajv-formats');
  const ajv = new library.Ajv({
    coerceTypes: false,
    removeAdditional: false,
    useDefaults: false,
    addUsedSchema: false,
    allErrors: true,
    // Errors carry the wrong value and its schema, for messages that name both.
    verbose: true,
    keywords: ['x-unit'],
  });
  addFormats.default(ajv);
  for (const schema of Object.values(contract)) if (isNamed(schema)) ajv.addSchema(schema);
  return ajv;
}

let shared: Ajv | undefined;
/** By schema, shared by all apps. */
const compiled = new WeakMap<object, ValidateFunction>();

function compile(schema: AnySchemaObject): ValidateFunction {
  shared ??= createAjv();
  const known = compiled.get(schema) ?? (schema.$id ? shared.getSchema(schema.$id) : undefined);
  const validate = known ?? shared.compile(schema);
  compiled.set(schema, validate);
  return validate;
}

/** Compiles the schema at its first use: compiling all schemas would take a seventh of the time of a start. */
export function createValidator(schema: AnySchemaObject): Validator {
  const check = (value: unknown): boolean => {
    const validate = compile(schema);
    const isValid = validate(value);
    validator.errors = validate.errors ?? null;
    return isValid;
  };
  const validator: Validator = Object.assign(check, { errors: null });
  return validator;
}
