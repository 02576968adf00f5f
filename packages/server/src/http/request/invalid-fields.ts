import { LABEL_NAME, PLAIN_TEXT, PRINTABLE_ASCII, type ProblemField } from '@mayfly/client/contract';
import type { ErrorObject } from 'ajv';
import { AppError } from '../../errors.ts';
import { didYouMean, quoted, withoutCredentials } from '../../text/nearest.ts';

/** Limit of errors in a response: a hostile body may have thousands of unknown fields. */
const MAX_FIELD_ERRORS = 20;
const MAX_LISTED_NAMES = 20;
const MAX_POINTER = 200;

/** @param path JSON pointer into the body, or a parameter's name */
export function invalidField(path: string, message: string): AppError {
  return new AppError('invalid_request', message, { errors: [{ path: shownPath(path), message }] });
}

function shownPath(path: string): string {
  const shown = withoutCredentials(path.slice(0, MAX_POINTER));
  return path.length > MAX_POINTER ? `${shown}…` : shown;
}

export type RequestPart = 'body' | 'querystring' | 'params' | 'headers';

export type SchemaError = ErrorObject<string, Record<string, unknown>> & { parentSchema?: ParentSchema };

interface ParentSchema {
  properties?: Record<string, unknown>;
  patternProperties?: Record<string, unknown>;
  minimum?: number;
  maximum?: number;
  /** A keyword that Mayfly adds to JSON Schema: the unit of a number, such as `seconds`. */
  'x-unit'?: string;
}

const NOUNS: Record<RequestPart, string> = {
  body: 'field',
  querystring: 'query parameter',
  params: 'path parameter',
  headers: 'header',
};

const TYPES: Record<string, string> = {
  array: 'an array',
  boolean: 'true or false',
  integer: 'a whole number',
  null: 'null',
  number: 'a number',
  object: 'an object',
  string: 'a string',
};

/** Converts a JSON pointer such as `/rules/0/at` to `rules[0].at`. */
const nameOf = (pointer: string): string =>
  pointer
    .slice(1)
    .replace(/\/(\d+)(?=\/|$)/g, '[$1]')
    .replaceAll('/', '.')
    .replaceAll('~1', '/')
    .replaceAll('~0', '~');

const WHOLES: Record<RequestPart, string> = {
  body: 'The body',
  querystring: 'The query',
  params: 'The path',
  headers: 'The request',
};

const subjectOf = ({ instancePath }: SchemaError, part: RequestPart): string =>
  instancePath === '' ? WHOLES[part] : quoted(nameOf(instancePath));

function shownValue({ data }: SchemaError, part: RequestPart): string {
  if (typeof data === 'string') return part === 'body' ? `the string ${quoted(data)}` : quoted(data);
  if (Array.isArray(data)) return 'an array';
  return typeof data === 'object' && data !== null ? 'an object' : String(data);
}

const unitOf = ({ parentSchema }: SchemaError): string =>
  parentSchema?.['x-unit'] ? ` ${parentSchema['x-unit']}` : '';

const counted =
  (bound: 'least' | 'most', what: string) =>
  (error: SchemaError, part: RequestPart): string => {
    const { data } = error;
    const count = typeof data === 'string' ? [...data].length : Object.keys(data ?? {}).length;
    return `${subjectOf(error, part)} must have at ${bound} ${error.params.limit} ${what}; it has ${count}.`;
  };

function range(error: SchemaError, part: RequestPart): string {
  const { minimum, maximum } = error.parentSchema ?? {};
  const allowed =
    minimum !== undefined && maximum !== undefined
      ? `from ${minimum} to ${maximum}`
      : `at ${maximum === undefined ? `least ${minimum}` : `most ${maximum}`}`;
  return `${subjectOf(error, part)} must be ${allowed}${unitOf(error)}, not ${shownValue(error, part)}.`;
}

const PATTERNS: Record<string, (error: SchemaError, part: RequestPart) => string> = {
  [PLAIN_TEXT]: (error, part) =>
    `${subjectOf(error, part)} must not contain control characters or unpaired surrogates. Remove them.`,
  [PRINTABLE_ASCII]: (error, part) =>
    `${subjectOf(error, part)} must have only printable ASCII characters (space to ~), because it is part of one line of SMTP. Remove the others.`,
  [LABEL_NAME]: ({ propertyName = '' }) =>
    `The label name ${quoted(propertyName)} must have 1 to 64 of the characters A-Z a-z 0-9 . _ - and begin with a letter or digit.`,
};

/** In schemas, only label filters have a pattern as their name. Error messages show it as `label.NAME`. */
const knownNames = ({ parentSchema }: SchemaError): string[] => [
  ...Object.keys(parentSchema?.properties ?? {}),
  ...(parentSchema?.patternProperties ? ['label.NAME'] : []),
];

function unknownName(error: SchemaError, part: RequestPart): string {
  const name = String(error.params.additionalProperty);
  const known = knownNames(error);
  const parent = error.instancePath === '' ? '' : ` of ${subjectOf(error, part)}`;
  const refused = `${quoted(name)} is not a known ${NOUNS[part]}${parent}.`;
  const suggestion = didYouMean(name, known);
  if (suggestion !== '' || known.length === 0) return refused + suggestion;
  const listed = known.slice(0, MAX_LISTED_NAMES).map((one) => `"${one}"`);
  return listed.length === 1
    ? `${refused} The only known ${NOUNS[part]} is ${listed[0]}.`
    : `${refused} Known ${NOUNS[part]}s are ${listed.join(', ')}.`;
}

type Wording = (error: SchemaError, part: RequestPart) => string | undefined;

const WORDINGS: Record<string, Wording> = {
  additionalProperties: unknownName,
  enum: (error, part) => {
    const { allowedValues } = error.params;
    if (!Array.isArray(allowedValues)) return undefined;
    const listed = allowedValues.map((value) => JSON.stringify(value)).join(', ');
    const suggestion =
      typeof error.data === 'string' ? didYouMean(error.data, allowedValues.map(String)) : '';
    return `${subjectOf(error, part)} must be one of ${listed}, not ${shownValue(error, part)}.${suggestion}`;
  },
  format: (error, part) =>
    error.params.format === 'date-time'
      ? `${subjectOf(error, part)} must be an RFC 3339 time such as "2026-03-04T05:06:07Z", not ${shownValue(error, part)}.`
      : undefined,
  maximum: range,
  minimum: range,
  maxLength: counted('most', 'characters'),
  minLength: (error, part) =>
    error.params.limit === 1
      ? `${subjectOf(error, part)} must not be empty.`
      : counted('least', 'characters')(error, part),
  maxItems: counted('most', 'items'),
  minItems: counted('least', 'items'),
  maxProperties: counted('most', 'entries'),
  pattern: (error, part) => PATTERNS[String(error.params.pattern)]?.(error, part),
  required: (error, part) => {
    const parent = error.instancePath === '' ? '' : ` of ${subjectOf(error, part)}`;
    return `The ${NOUNS[part]} "${error.params.missingProperty}"${parent} is required, and it is missing.`;
  },
  type: (error, part) => {
    const types = [error.params.type].flat().map((one) => TYPES[String(one)] ?? String(one));
    const isBody = error.instancePath === '' && part === 'body';
    // A missing body reaches the validator as null.
    if (isBody && error.data === null) return 'The body is missing or null. Send a JSON object.';
    const wanted = isBody ? 'a JSON object' : [...new Set(types)].join(' or ');
    return `${subjectOf(error, part)} must be ${wanted}, not ${shownValue(error, part)}.`;
  },
};

const escapePointer = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');

function pathOf({ instancePath, params, propertyName }: SchemaError, part: RequestPart): string {
  const name = propertyName ?? params.additionalProperty ?? params.missingProperty;
  const pointer = typeof name === 'string' ? `${instancePath}/${escapePointer(name)}` : instancePath;
  if (part === 'body') return shownPath(pointer);
  return shownPath(pointer.slice(1).replaceAll('~1', '/').replaceAll('~0', '~'));
}

function toFieldError(error: SchemaError, part: RequestPart): ProblemField {
  const message =
    WORDINGS[error.keyword]?.(error, part) ??
    `${subjectOf(error, part)} is invalid: it ${error.message ?? 'does not match the schema'}.`;
  return { path: pathOf(error, part), message };
}

/** For `anyOf`, keeps errors of the alternative whose type is right, or names all types if no type is. */
function ofAlternatives(errors: SchemaError[]): SchemaError[] {
  let kept = errors;
  for (const { instancePath: place } of errors.filter(({ keyword }) => keyword === 'anyOf')) {
    const isTypeHere = ({ keyword, instancePath }: SchemaError) =>
      keyword === 'type' && instancePath === place;
    const isUnionHere = ({ keyword, instancePath }: SchemaError) =>
      keyword === 'anyOf' && instancePath === place;
    const types = kept.filter(isTypeHere);
    const others = kept.filter((one) => !isTypeHere(one) && !isUnionHere(one));
    const isWithin = others.some(
      ({ instancePath }) => instancePath === place || instancePath.startsWith(`${place}/`),
    );
    const [first] = types;
    const all = first && { ...first, params: { type: types.flatMap(({ params }) => params.type) } };
    kept = all && !isWithin ? [...others, all] : others;
  }
  return kept;
}

export function toInvalidRequest(errors: SchemaError[], part: RequestPart): AppError {
  const found = ofAlternatives(errors).filter(({ keyword }) => keyword !== 'propertyNames');
  const shown = found.slice(0, MAX_FIELD_ERRORS).map((error) => toFieldError(error, part));
  const messages = [...new Set(shown.map(({ message }) => message))];
  if (found.length > shown.length) messages.push(`${found.length - shown.length} more places are invalid.`);
  return new AppError('invalid_request', messages.join(' '), { errors: shown });
}
