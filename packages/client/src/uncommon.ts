/**
 * What a wait that succeeds does not need of {@link Transport}: failures, queries, and responses that are no JSON.
 * Loaded by the first request that does, so that programs that wait stay small.
 */
import { apiError, NotFoundError } from './failures.ts';

export { apiError, errorFor } from './failures.ts';

/** A query as the end of a URL; '' when nothing is defined. */
export function searchOf(query: object): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
  return search.size > 0 ? `?${search}` : '';
}

/** The type of a body that is no JSON: a recording, or a raw message. */
export const typeOfRaw = (path: string) => (path.endsWith('import') ? 'application/zip' : 'message/rfc822');

/**
 * A raw source, an attachment or a recording.
 * @throws ApiError for a page of another program on that port, or the login page of a proxy
 */
export async function bytesOf(response: Response, operation: string): Promise<Uint8Array> {
  const isPage = /html/.test(response.headers.get('content-type') ?? '');
  // Attachments may be HTML themselves.
  if (isPage && !operation.includes('/attachments/')) throw await apiError(response, operation);
  return new Uint8Array(await response.arrayBuffer());
}

/** The first of several attempts deleted it, and only its response was lost. */
export const isDeletedBefore = (operation: string, failure: unknown, attempt: number): boolean =>
  attempt > 1 && operation.startsWith('DELETE') && failure instanceof NotFoundError;
