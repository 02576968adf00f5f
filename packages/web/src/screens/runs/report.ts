import type { api } from '@mayfly/client';
import { mayfly, session } from '../../lib/session.ts';

export type Labels = Readonly<Record<string, string>>;

/** The labels in a URL's query, such as `label.run=4711`. */
export const labelsIn = (search: URLSearchParams): Record<string, string> =>
  Object.fromEntries(
    [...search].filter(([name]) => name.startsWith('label.')).map(([name, value]) => [name.slice(6), value]),
  );

/** Labels as query parameters. */
export const labelParams = (labels: Labels): Record<string, string> =>
  Object.fromEntries(Object.entries(labels).map(([name, value]) => [`label.${name}`, value]));

export const loadReport = (labels: Labels, signal: AbortSignal): Promise<api.RunReport> =>
  mayfly.call('GET /v1/reports/runs', { query: labelParams(labels), signal });

/**
 * The entry of an inbox in its run's report, also after the inbox has ended. Undefined without labels, for a
 * read token, and if the report cannot be loaded.
 */
export async function loadReported(
  id: string,
  labels: Labels,
  signal: AbortSignal,
): Promise<api.ReportedInbox | undefined> {
  if (Object.keys(labels).length === 0 || !session.value?.account) return undefined;
  const report = await loadReport(labels, signal).catch(() => undefined);
  return report?.inboxes.find((inbox) => inbox.id === id);
}
