import { LABEL_NAME, PLAIN_TEXT } from '@mayfly/client/contract';
import { AppError, type FieldError } from '../../errors.ts';

/** One field that is wrong; `path` is a JSON pointer or a parameter's name. */
export function invalidField(path: string, message: string): AppError {
  return new AppError('invalid_request', `${path} ${message}`, { errors: [{ path, message }] });
}

/** What a JSON Schema finds wrong with a value. */
export interface SchemaError {
  keyword: string;
  /** JSON pointer to the value. */
  instancePath: string;
  params: Record<string, unknown>;
  /** The name that is wrong, where a name is and not a value. */
  propertyName?: string;
  message?: string;
}

const TYPES: Record<string, string> = {
  array: 'an array',
  boolean: 'true or false',
  integer: 'a whole number',
  null: 'null',
  number: 'a number',
  object: 'an object',
  string: 'a string',
};

/** The patterns of the contract in words. */
const PATTERNS: Record<string, string> = {
  [PLAIN_TEXT]: 'must be without control characters and halves of surrogate pairs',
  [LABEL_NAME]: 'must have 1 to 64 of A-Z a-z 0-9 . _ - in its name, a letter or digit first',
};

type Wording = (params: Record<string, unknown>) => string | undefined;

const WORDINGS: Record<string, Wording> = {
  additionalProperties: () => 'is not known here',
  enum: ({ allowedValues }) =>
    Array.isArray(allowedValues) ? `must be one of: ${allowedValues.join(', ')}` : undefined,
  maximum: ({ limit }) => `must be at most ${limit}`,
  maxLength: ({ limit }) => `must have at most ${limit} characters`,
  maxProperties: ({ limit }) => `must have at most ${limit} entries`,
  minimum: ({ limit }) => `must be at least ${limit}`,
  minLength: ({ limit }) => (limit === 1 ? 'must not be empty' : `must have at least ${limit} characters`),
  pattern: ({ pattern }) => PATTERNS[String(pattern)],
  required: () => 'is required',
  type: ({ type }) =>
    `must be ${[type]
      .flat()
      .map((one) => TYPES[String(one)] ?? one)
      .join(' or ')}`,
};

const escapePointer = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');

function toFieldError({ keyword, instancePath, params, propertyName, message }: SchemaError): FieldError {
  const name = propertyName ?? params.additionalProperty ?? params.missingProperty;
  return {
    path: typeof name === 'string' ? `${instancePath}/${escapePointer(name)}` : instancePath,
    message: WORDINGS[keyword]?.(params) ?? message ?? 'is invalid',
  };
}

/**
 * Of alternatives (`anyOf`) only the one that was meant: where something is wrong within one of them, the
 * value's type was that one's; where nothing is, its type was none of them, and all types are told at once.
 */
function ofAlternatives(errors: SchemaError[]): SchemaError[] {
  let told = errors;
  for (const { instancePath: place } of errors.filter(({ keyword }) => keyword === 'anyOf')) {
    const isTypeHere = ({ keyword, instancePath }: SchemaError) =>
      keyword === 'type' && instancePath === place;
    const isUnionHere = ({ keyword, instancePath }: SchemaError) =>
      keyword === 'anyOf' && instancePath === place;
    const types = told.filter(isTypeHere);
    const others = told.filter((one) => !isTypeHere(one) && !isUnionHere(one));
    const isWithin = others.some(
      ({ instancePath }) => instancePath === place || instancePath.startsWith(`${place}/`),
    );
    const [first] = types;
    const all = first && { ...first, params: { type: types.flatMap(({ params }) => params.type) } };
    told = all && !isWithin ? [...others, all] : others;
  }
  return told;
}

/** Says field by field what a schema found wrong, in words for people. */
export function toFieldErrors(errors: SchemaError[], where: 'body' | 'parameters'): FieldError[] {
  return ofAlternatives(errors)
    .filter(({ keyword }) => keyword !== 'propertyNames')
    .map(toFieldError)
    .map(({ path, message }) => ({ path: where === 'body' ? path : path.slice(1), message }));
}
