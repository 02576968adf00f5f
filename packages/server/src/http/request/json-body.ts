import { AppError } from '../../errors.ts';
import { quoted } from '../../text/nearest.ts';

/** The first error in a JSON text (RFC 8259). */
export interface JsonFault {
  /** Index from 0; the length of the text if something is missing at its end. */
  position: number;
  expected: string;
  /** The probable mistake, as a full sentence; '' if none is likely. */
  hint: string;
}

const SPACE = /[ \t\n\r]*/y;
const STRING = /"(?:[^"\\\p{Cc}]|[\u007f-\u009f]|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*"/uy;
const SCALAR = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)/y;
const FOUND = /[A-Za-z0-9_$+.-]{1,40}|./suy;

/** The end of what the pattern matches at `from`; -1 where it does not match. */
function endOf(pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from;
  return pattern.test(text) ? pattern.lastIndex : -1;
}

const afterSpace = (text: string, from: number): number => Math.max(from, endOf(SPACE, text, from));

type State = 'value' | 'first value' | 'name' | 'first name' | 'colon' | 'next' | 'end';

const EXPECTED: Record<State, string> = {
  value: 'a value',
  'first value': 'a value or "]"',
  name: 'a field name in double quotes',
  'first name': 'a field name in double quotes or "}"',
  colon: '":"',
  next: '"," or the end of the object or array',
  end: 'the end of the body',
};

function faultInString(text: string, from: number): JsonFault {
  const good = /"(?:[^"\\\p{Cc}]|[\u007f-\u009f]|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*/uy;
  const position = endOf(good, text, from);
  const isControl = /[\n\r\t]/.test(text.charAt(position));
  const hint = isControl ? 'Write line breaks and tabs within strings as \\n, \\r and \\t.' : '';
  return { position, expected: position >= text.length ? 'a closing double quote' : 'a valid string', hint };
}

function hintFor(state: State, text: string, position: number): string {
  const found = text.slice(position, position + 10);
  const before = text.slice(0, position).trimEnd().at(-1);
  if (/^['‘’“”]/.test(found)) return 'Put strings in straight double quotes.';
  if (/^[}\]]/.test(found) && before === ',') return `Remove the comma before ${quoted(found.charAt(0))}.`;
  if (/^\/[/*]/.test(found)) return 'JSON has no comments.';
  if (/^(True|False|None|undefined|NaN|Infinity)/.test(found)) return 'Use true, false or null.';
  if (/name/.test(state) && /^[A-Za-z_$]/.test(found)) return 'Put field names in double quotes.';
  return '';
}

const afterValue = (open: readonly string[]): State => (open.length === 0 ? 'end' : 'next');

function close(open: string[], at: number): [State, number] {
  open.pop();
  return [afterValue(open), at + 1];
}

/** Reads a comma, or the end of the object or array. */
function stepNext(character: string, at: number, open: string[]): [State, number] | undefined {
  const isObject = open.at(-1) === '{';
  if (character === ',') return [isObject ? 'name' : 'value', at + 1];
  return character === (isObject ? '}' : ']') ? close(open, at) : undefined;
}

function stepValue(text: string, at: number, open: string[]): [State, number] | undefined {
  const character = text.charAt(at);
  if (character === '{' || character === '[') {
    open.push(character);
    return [character === '{' ? 'first name' : 'first value', at + 1];
  }
  const end = endOf(character === '"' ? STRING : SCALAR, text, at);
  return end < 0 ? undefined : [afterValue(open), end];
}

function step(state: State, text: string, at: number, open: string[]): [State, number] | undefined {
  const character = text.charAt(at);
  switch (state) {
    case 'colon':
      return character === ':' ? ['value', at + 1] : undefined;
    case 'next':
      return stepNext(character, at, open);
    case 'end':
      return undefined;
    case 'first name':
    case 'name': {
      if (state === 'first name' && character === '}') return close(open, at);
      const end = character === '"' ? endOf(STRING, text, at) : -1;
      return end < 0 ? undefined : ['colon', end];
    }
    default:
      return state === 'first value' && character === ']' ? close(open, at) : stepValue(text, at, open);
  }
}

/** Finds the first error; undefined for valid JSON. Iterative, so nesting costs no stack. */
export function findJsonFault(text: string): JsonFault | undefined {
  const open: string[] = [];
  let state: State = 'value';
  let at = afterSpace(text, 0);
  while (!(state === 'end' && at >= text.length)) {
    const next = step(state, text, at, open);
    if (!next) {
      const isString = text.charAt(at) === '"' && !['colon', 'next', 'end'].includes(state);
      if (isString) return faultInString(text, at);
      return { position: at, expected: EXPECTED[state], hint: hintFor(state, text, at) };
    }
    state = next[0];
    at = afterSpace(text, next[1]);
  }
  return undefined;
}

function malformedJson(text: string): AppError {
  const fault = findJsonFault(text);
  // Both parsers follow RFC 8259, so only limits of JSON.parse itself lead here.
  if (!fault) return new AppError('malformed_json', 'The body is not valid JSON.');
  const { position, expected, hint } = fault;
  const before = text.slice(0, position).split('\n');
  const line = before.length;
  const column = (before.at(-1) ?? '').length + 1;
  FOUND.lastIndex = position;
  const [word] = FOUND.exec(text) ?? [];
  const found = word === undefined ? 'the body ends' : `there is ${quoted(word)}`;
  const place = `line ${line}, column ${column} (position ${position})`;
  const sentence = `The body is not valid JSON: at ${place} ${found} where ${expected} was expected.`;
  return new AppError('malformed_json', hint === '' ? sentence : `${sentence} ${hint}`);
}

/** How many bytes at the beginning of a body are valid UTF-8. */
function validPrefix(body: Uint8Array): number {
  let valid = 0;
  let invalid = body.length;
  while (valid < invalid) {
    const middle = Math.ceil((valid + invalid) / 2);
    try {
      // With `stream`, a character that is cut at the end is no error.
      new TextDecoder('utf-8', { fatal: true }).decode(body.subarray(0, middle), { stream: true });
      valid = middle;
    } catch {
      invalid = middle - 1;
    }
  }
  return valid;
}

/** @throws AppError `malformed_json` with line, column and position of the error. `body` has at least one byte. */
export function parseJsonBody(body: Uint8Array): unknown {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    const position = validPrefix(body);
    throw new AppError(
      'malformed_json',
      `The body is not valid UTF-8 from byte ${position} on. Encode JSON in UTF-8.`,
    );
  }
  try {
    return JSON.parse(text);
  } catch {
    throw malformedJson(text);
  }
}
