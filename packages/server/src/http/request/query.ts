import { DEFAULT_LIMIT } from '@mayfly/client/contract';
import type { AppError } from '../../errors.ts';
import { type IdPrefix, isId } from '../../ids.ts';
import { quoted } from '../../text/nearest.ts';
import { invalidField } from './invalid-fields.ts';

export type ParameterTypes = ReadonlyMap<string, 'integer' | 'boolean'>;

/** No exponent, fraction or white space, and no more digits than a number represents exactly. */
const INTEGER = /^-?\d{1,15}$/;

export function parameterTypes(schema: unknown): ParameterTypes {
  const types = new Map<string, 'integer' | 'boolean'>();
  const properties = (schema as { properties?: Record<string, { type?: string }> } | undefined)?.properties;
  for (const [name, { type }] of Object.entries(properties ?? {})) {
    if (type === 'integer' || type === 'boolean') types.set(name, type);
  }
  return types;
}

/**
 * Converts the strings of integers and booleans in place. The schema rejects other strings with the parameter's name.
 * @throws AppError `invalid_request` for a repeated parameter
 */
export function readParameters(query: Record<string, unknown>, types: ParameterTypes): void {
  for (const [name, given] of Object.entries(query)) {
    if (Array.isArray(given)) {
      const message = `The query parameter ${quoted(name)} is given ${given.length} times. Give it once.`;
      throw invalidField(name, message);
    }
  }
  for (const [name, type] of types) {
    const given = query[name];
    if (typeof given !== 'string') continue;
    if (type === 'integer' && INTEGER.test(given)) query[name] = Number(given);
    if (type === 'boolean' && (given === 'true' || given === 'false')) query[name] = given === 'true';
  }
}

/** For a parameter of an operation that takes none. @param hasBody whether the operation takes a JSON body */
export function unexpectedParameter(name: string, hasBody: boolean): AppError {
  const instead = hasBody ? 'Send fields in the JSON body.' : 'Remove it.';
  return invalidField(
    name,
    `${quoted(name)} is not a known query parameter: this operation takes none. ${instead}`,
  );
}

const LABEL = 'label.';

export function labelsOf(query: object): Record<string, string> {
  const labels = Object.entries(query).filter(([name]) => name.startsWith(LABEL));
  return Object.fromEntries(labels.map(([name, value]) => [name.slice(LABEL.length), String(value)]));
}

/** A page of a list, newest first: at most `limit` items, those before the id `before`. */
export interface Page {
  limit: number;
  before: string | null;
}

/** @param what the item of the list, with its article @throws AppError `invalid_request` for an invalid `before` */
export function readPage(query: { limit?: number; before?: string }, prefix: IdPrefix, what: string): Page {
  const { limit = DEFAULT_LIMIT, before = null } = query;
  if (before !== null && !isId(prefix, before))
    throw invalidField('before', `"before" must be the id of ${what} (${prefix}_…), not ${quoted(before)}.`);
  return { limit, before };
}
