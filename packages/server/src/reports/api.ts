import { DEFAULT_LIMIT, InboxLabelQuery, LabelList, LabelQuery, RunReport } from '@mayfly/client/contract';
import { keyCaller } from '../http/access/guard.ts';
import type { App, RouteContext } from '../http/context.ts';
import { json } from '../http/openapi/responses.ts';
import { invalidField } from '../http/request/invalid-fields.ts';
import { labelsOf } from '../http/request/query.ts';
import { toTime, toTimeOrNull } from '../http/response/time.ts';
import { problemsOf } from './run-report.ts';
import type { RunInbox } from './sql.ts';

export function reportRoutes(app: App, context: RouteContext): void {
  const { deps } = context;
  const { store, clock, waitLog, refusalsWritten } = deps;
  labelsRoute(app, context);

  app.route({
    method: 'GET',
    url: '/v1/reports/runs',
    config: { access: 'account:read' },
    schema: {
      operationId: 'getRunReport',
      tags: ['Inboxes'],
      summary: 'Report what became of the mail of a test run',
      description:
        'For all inboxes that carry all the given labels and are live, or expired or were deleted within the last 24 hours: how many messages each received and how long after its creation the first one, which waits failed and why, and which mail was refused. `problems` says in sentences what was wrong. Nothing that a message said is in it, so it can be read after the inboxes are gone. Waits that end on another node are in it after a moment.',
      querystring: InboxLabelQuery,
      response: { 200: json(RunReport, 'The report.') },
    },
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
}

function labelsRoute(app: App, { deps: { store, clock } }: RouteContext): void {
  app.route({
    method: 'GET',
    url: '/v1/labels',
    config: { access: 'account:read' },
    schema: {
      operationId: 'listLabels',
      tags: ['Inboxes'],
      summary: 'List the labels of live inboxes',
      description:
        'Each label with the number of live inboxes that have it, for instance the test runs under way with `name=run`.',
      querystring: LabelQuery,
      response: { 200: json(LabelList, 'The labels.') },
    },
    handler: async (request) => {
      const { account } = keyCaller(request);
      const { name = null, limit = DEFAULT_LIMIT } = request.query;
      const found = await store.reports.listLabels(account.id, name, limit + 1, clock.now());
      const labels = found
        .slice(0, limit)
        .map(({ newestAt, ...label }) => ({ ...label, newestAt: toTime(newestAt) }));
      return { labels, hasMore: found.length > limit };
    },
  });
}

function toReportedInbox(inbox: RunInbox) {
  const { id, address, labels, createdAt, state, endedAt, received, firstReceivedAt, waits, refusals } =
    inbox;
  const { count, last } = refusals;
  return {
    ...{ id, address, labels, state },
    ...{ createdAt: toTime(createdAt), endedAt: toTimeOrNull(endedAt), messageCount: received },
    firstMessageAt: toTimeOrNull(firstReceivedAt),
    firstMessageAfterMs: firstReceivedAt === null ? null : firstReceivedAt - createdAt,
    waits: {
      ...waits,
      failures: waits.failures.map(({ at, ...wait }) => ({ endedAt: toTime(at), ...wait })),
    },
    refusals: { count, last: last && { ...last, at: toTime(last.at) } },
  };
}
