import { DEFAULT_LIMIT, InboxLabelQuery, LabelList, LabelQuery, RunReport } from '@mayfly/client/contract';
import { keyCaller } from '../http/access/guard.ts';
import type { App, RouteContext } from '../http/context.ts';
import { json } from '../http/openapi/responses.ts';
import { labelsOf } from '../http/request/inputs.ts';
import { invalidField } from '../http/request/invalid-fields.ts';
import { toTime, toTimeOrNull } from '../http/response/time.ts';
import { routesOf } from '../http/route.ts';
import type { RunInbox } from './sql.ts';

export function reportRoutes(app: App, { deps }: RouteContext): void {
  const { store, clock, waitLog, refusalsWritten } = deps;
  const route = routesOf(app, 'Inboxes');

  route('GET /v1/reports/runs', {
    access: 'account:read',
    operationId: 'getRunReport',
    summary: 'Report what became of the mail of a test run',
    description:
      'For all inboxes that carry all the given labels and are live, or expired or were deleted within the last 24 hours: how many messages each received and how long after its creation the first one, which waits failed and why, and which mail was refused. `problems` says in sentences what was wrong. Nothing that a message said is in it, so it can be read after the inboxes are gone. Waits that end on another node are in it after a moment.',
    querystring: InboxLabelQuery,
    response: { 200: json(RunReport, 'The report.') },
    handler: async (request) => {
      const labels = labelsOf(request.query);
      if (Object.keys(labels).length === 0) {
        throw invalidField(
          'label.NAME',
          'A report needs at least one label. Add "label.NAME=VALUE" to the query, with a label of the inboxes of the run.',
        );
      }
      const { account } = keyCaller(request);
      await Promise.all([waitLog.flushed(), refusalsWritten()]);
      const { totals, inboxes } = await store.reports.listRun(account.id, labels, clock.now());
      return {
        ...{ labels, totals, problems: problemsOf(inboxes) },
        ...{ inboxes: inboxes.map(toReportedInbox), hasMore: inboxes.length < totals.inboxes },
      };
    },
  });

  route('GET /v1/labels', {
    access: 'account:read',
    operationId: 'listLabels',
    summary: 'List the labels of live inboxes',
    description:
      'Each label with the number of live inboxes that have it, for instance the test runs under way with `name=run`.',
    querystring: LabelQuery,
    response: { 200: json(LabelList, 'The labels.') },
    handler: async (request) => {
      const { account } = keyCaller(request);
      const { name = null, limit = DEFAULT_LIMIT } = request.query;
      const found = await store.reports.listLabels(account.id, name, limit + 1, clock.now());
      const labels = found.slice(0, limit).map((one) => ({ ...one, newestAt: toTime(one.newestAt) }));
      return { labels, hasMore: found.length > limit };
    },
  });
}

function toReportedInbox({ id, address, labels, state, waits, refusals, ...inbox }: RunInbox) {
  const { createdAt, endedAt, received, firstReceivedAt } = inbox;
  const { count, last } = refusals;
  const { failures } = waits;
  return {
    ...{ id, address, labels, state },
    ...{ createdAt: toTime(createdAt), endedAt: toTimeOrNull(endedAt), messageCount: received },
    firstMessageAt: toTimeOrNull(firstReceivedAt),
    firstMessageAfterMs: firstReceivedAt === null ? null : firstReceivedAt - createdAt,
    waits: { ...waits, failures: failures.map(({ at, ...wait }) => ({ endedAt: toTime(at), ...wait })) },
    refusals: { count, last: last && { ...last, at: toTime(last.at) } },
  };
}

const MAX_PROBLEMS = 100;

function problemsOf(inboxes: readonly RunInbox[]): string[] {
  const sentences = (of: (inbox: RunInbox) => string[]): string[] =>
    inboxes.flatMap((inbox) => of(inbox).map((sentence) => `${inbox.address}: ${sentence}`));
  return [
    ...sentences(({ waits }) => waits.failures.map(waitSentence)),
    ...sentences((inbox) => [...heldSentence('list', inbox), ...heldSentence('stream', inbox)]),
    ...sentences(({ refusals: { count, last } }) => (last ? [refusalSentence(count, last.reply)] : [])),
  ].slice(0, MAX_PROBLEMS);
}

function waitSentence({ waitedMs, count, summary }: RunInbox['waits']['failures'][number]): string {
  const wanted = count === 0 ? 'silence' : count === 1 ? 'a message' : `${count} messages`;
  return `A wait of ${(waitedMs / 1000).toFixed(1)} s for ${wanted} failed. ${summary}`;
}

function heldSentence(kind: 'list' | 'stream', { waits, received }: RunInbox): string[] {
  const { withMessages, empty } = kind === 'list' ? waits.lists : waits.streams;
  if (empty === 0 || withMessages > 0) return [];
  const one = kind === 'list' ? 'A list that waited' : 'A stream';
  const several = kind === 'list' ? `${empty} lists that waited` : `${empty} streams`;
  const arrived = received === 0 ? 'no message' : received === 1 ? '1 message' : `${received} messages`;
  return [`${empty === 1 ? one : several} ended without a message. In all, ${arrived} arrived.`];
}

function refusalSentence(count: number, reply: string): string {
  const were = count === 1 ? 'A mail was' : `${count} mails were`;
  return reply === ''
    ? `${were} not received; the connection of the last sender ended in the middle.`
    : `${were} refused, the last one with "${reply}".`;
}
