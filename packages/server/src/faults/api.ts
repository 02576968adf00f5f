import {
  DEFAULT_FAULT_TEXT,
  type FaultRule,
  Faults,
  InboxParams,
  ref,
  SetFaults,
} from '@mayfly/client/contract';
import type { FastifyRequest } from 'fastify';
import { callersInbox } from '../http/access/guard.ts';
import type { App, RouteContext } from '../http/context.ts';
import { empty, json } from '../http/openapi/responses.ts';
import { invalidField } from '../http/request/invalid-fields.ts';
import { routesOf } from '../http/route.ts';
import { throwEnded } from '../inboxes/records.ts';
import type { FaultRuleRecord } from './sql.ts';

export function faultRoutes(app: App, { deps: { store, clock } }: RouteContext): void {
  const route = routesOf(app, 'Inboxes');
  const params = InboxParams;
  const shown = json(Faults, 'The rules.');
  const setRules = async (request: FastifyRequest, rules: FaultRuleRecord[]): Promise<void> => {
    const inbox = callersInbox(request);
    const now = clock.now();
    const isLive = await store.faults.set(inbox.accountId, inbox.id, rules, now);
    if (!isLive) await throwEnded(store.inboxes, inbox, now);
  };

  route('PUT /v1/inboxes/:id/faults', {
    access: 'inbox:write',
    operationId: 'setFaults',
    summary: 'Let mail to an inbox fail',
    description:
      'Sets the fault rules of the inbox, in place of all before: senders get a 4yz or 5yz reply, a slow reply or a closed connection, so that the retries of an application can be tested. The rules are applied in their order, each `times` times over all servers and restarts; then mail is received as usual. A rule applies only to mail that would be accepted otherwise, by SMTP or, with `at: "api"`, through the interface of a provider; the next rule waits for a sender of its kind. It is in force for every sender that comes after the response.',
    params,
    body: ref(SetFaults),
    response: { 200: shown },
    handler: async (request) => {
      const rules = request.body.rules.map(toRecord);
      await setRules(request, rules);
      return { rules };
    },
  });

  route('DELETE /v1/inboxes/:id/faults', {
    access: 'inbox:write',
    operationId: 'deleteFaults',
    summary: 'Remove the faults of an inbox',
    description:
      'Removes the fault rules of the inbox: mail is received as usual. A delay that has begun ends in its time.',
    params,
    response: { 204: empty('The inbox has no faults.') },
    handler: (request) => setRules(request, []),
  });

  route('GET /v1/inboxes/:id/faults', {
    access: 'inbox:key-read',
    operationId: 'getFaults',
    summary: 'Show the faults of an inbox',
    description: 'The fault rules of the inbox, with how often each still applies.',
    params,
    response: { 200: shown },
    handler: async (request) => {
      const inbox = callersInbox(request);
      const now = clock.now();
      const rules = await store.faults.read(inbox.accountId, inbox.id, now);
      return rules ? { rules } : throwEnded(store.inboxes, inbox, now);
    },
  });
}

function toRecord({ at, reply, delayMs = 0, disconnect = false, times = 1 }: FaultRule, index: number) {
  if (!reply && delayMs === 0 && !disconnect) {
    throw invalidField(
      `/rules/${index}`,
      `"rules[${index}]" does nothing. Give it a "reply", a "delayMs" or "disconnect": true.`,
    );
  }
  const given = reply ? { code: reply.code, text: reply.text ?? DEFAULT_FAULT_TEXT } : null;
  return { at, reply: given, delayMs, disconnect, times, left: times } satisfies FaultRuleRecord;
}
