import { readFileSync } from 'node:fs';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { generateApi, OUTPUT, PYTHON_OUTPUT, ROOT } from '../scripts/generate-api.ts';
import { generatePython } from '../scripts/generate-python.ts';
import type * as contract from '../src/contract/index.ts';
import type { api, Inbox, Mayfly, Message, MessageSummary, Milliseconds } from '../src/index.ts';

describe('the published types', () => {
  it('are those of openapi.json: run `npm run openapi` after a change of the contract', () => {
    const document = JSON.parse(readFileSync(`${ROOT}openapi.json`, 'utf8'));
    expect(readFileSync(OUTPUT, 'utf8')).toBe(generateApi(document));
    expect(readFileSync(PYTHON_OUTPUT, 'utf8')).toBe(generatePython(document));
  });

  it('are assignable to the types of the contract, and those to them', () => {
    expectTypeOf<api.Message>().toExtend<contract.Message>();
    expectTypeOf<contract.Message>().toExtend<api.Message>();
    expectTypeOf<api.CreatedInbox>().toExtend<contract.CreatedInbox>();
    expectTypeOf<contract.CreatedInbox>().toExtend<api.CreatedInbox>();
    expectTypeOf<api.WaitResult>().toExtend<contract.WaitResult>();
    expectTypeOf<contract.WaitResult>().toExtend<api.WaitResult>();
    expectTypeOf<api.Usage>().toExtend<contract.Usage>();
    expectTypeOf<contract.Usage>().toExtend<api.Usage>();
    expectTypeOf<api.WebhookDelivery>().toExtend<contract.WebhookDelivery>();
    expectTypeOf<contract.WebhookDelivery>().toExtend<api.WebhookDelivery>();
    expectTypeOf<api.Problem>().toExtend<contract.Problem>();
  });

  it('name every operation, with its arguments', () => {
    type Call = Mayfly['call'];
    expectTypeOf<ReturnType<Call>>().toExtend<Promise<unknown>>();
    expectTypeOf<api.Operations['GET /v1/inboxes/{id}']>().toEqualTypeOf<{
      path: { id: string };
      result: api.Inbox;
    }>();
  });

  it('tell arrays from streams, and conditions with their options from anything else', () => {
    expectTypeOf<Awaited<ReturnType<Inbox['messages']>>>().toEqualTypeOf<MessageSummary[]>();
    expectTypeOf<Awaited<ReturnType<Mayfly['inboxes']>>>().toEqualTypeOf<Inbox[]>();
    expectTypeOf<ReturnType<Inbox['stream']>>().toExtend<AsyncGenerator<MessageSummary>>();
    expectTypeOf<Message>().toExtend<api.Message>();
    type Wait = Parameters<Inbox['waitForCode']>;
    expectTypeOf<[{ subject: RegExp; pattern: RegExp; timeout: Milliseconds }]>().toExtend<Wait>();
    expectTypeOf<[object, { timeout: number }]>().not.toExtend<Wait>();
    expectTypeOf<[{ timeoutMs: number }]>().not.toExtend<Wait>();
    expectTypeOf<Parameters<Mayfly['call']>[0]>().not.toExtend<'GET /v1/events'>();
    expectTypeOf<'GET /v1/events'>().not.toExtend<Parameters<Mayfly['call']>[0]>();
  });
});
