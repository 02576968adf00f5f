import { DEFAULT_LIMIT } from '@mayfly/client/contract';
import { type IdPrefix, isId } from '../../ids.ts';
import { quoted } from '../../text/nearest.ts';
import { invalidField } from './invalid-fields.ts';

/** A page of a list that is newest first: at most `limit`, those before the id `before`. */
export interface Page {
  limit: number;
  before: string | null;
}

/**
 * Reads the parameters of a page.
 * @param what what the id is of, with its article, for the error
 * @throws AppError `invalid_request` for a `before` that is no such id
 */
export function readPage(query: { limit?: number; before?: string }, prefix: IdPrefix, what: string): Page {
  const { limit = DEFAULT_LIMIT, before = null } = query;
  if (before !== null && !isId(prefix, before))
    throw invalidField('before', `"before" must be the id of ${what} (${prefix}_…), not ${quoted(before)}.`);
  return { limit, before };
}
