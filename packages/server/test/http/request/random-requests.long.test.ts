import fc from 'fast-check';
import { Agent } from 'undici';
import { afterAll, describe, expect, it } from 'vitest';
import { inForm, timeLimit } from '../../support/form.ts';
import { everyOperation, newPlace } from '../openapi/operations.ts';
import { startHttp } from '../start-http.ts';

const { operations } = everyOperation();
const byId = new Map(operations.map((operation) => [operation.id, operation]));
const REQUESTS = inForm(2_000, 20_000);
/** Requests of one property run: enough in flight to meet each other. */
const AT_ONCE = 25;

const words = fc.constantFrom(
  ...['', '0', '-1', '1e9', 'x', '%', '%00', '%ff', '..', '%2f', 'null', 'true', '\u{1F600}'],
  'a'.repeat(300),
);
const any = fc.oneof(words, fc.string({ unit: 'grapheme', maxLength: 20 }), fc.integer().map(String));
const parameter = fc.constantFrom(
  ...['limit', 'since', 'before', 'wait', 'from', 'text', 'hasAttachments', 'include', 'label.a', 'x'],
  ...['__proto__'],
);

const requests = fc.record({
  operation: fc.constantFrom(...byId.keys()),
  /** Which segment of the path to replace, if any. */
  segment: fc.option(fc.integer({ min: 1, max: 7 }), { freq: 2 }),
  word: any,
  query: fc.array(fc.tuple(parameter, any), { maxLength: 4 }),
  body: fc.option(fc.oneof(fc.json({ maxDepth: 3 }), any, fc.constant('{"labels":{"a":"\\ud800"}}'))),
  type: fc.constantFrom('application/json', 'application/json; charset=latin1', 'text/plain', 'x', undefined),
  credential: fc.constantFrom('own', 'readOnly', 'foreign', 'token', 'none', 'garbage'),
  idempotencyKey: fc.option(fc.string({ maxLength: 10 }).map((key) => key.replaceAll(/[^\x20-\x7e]/g, '?'))),
});

/** The body of a wait that does not wait. */
function hurried(body: string | null): string {
  try {
    return JSON.stringify({ timeoutSeconds: 0, ...JSON.parse(body || '{}') });
  } catch {
    return body ?? '';
  }
}

const http = await startHttp({ signupPlan: 'free' });
const place = await newPlace(http);
const agent = new Agent({ connections: 20 });
afterAll(async () => {
  await agent.close();
  await http.stop();
});

describe('random requests', () => {
  it(
    `never make the server fail: ${REQUESTS} of them`,
    async () => {
      const statuses = new Set<number>();
      /** Operations that answered anything beyond "who are you". */
      const reached = new Set<string>();
      const send = async (shape: typeof requests extends fc.Arbitrary<infer T> ? T : never) => {
        const operation = byId.get(shape.operation);
        if (!operation) throw new Error('no such operation');
        // What would end the place that all others use, or hold a request, is left out.
        const destructive = operation.id === 'deleteInbox' || operation.id === 'deleteMessage';
        const target = destructive ? { ...place, inbox: { ...place.inbox, id: shape.word || 'x' } } : place;
        const [path = ''] = operation.row(target).path.split('?');
        const segments = path.split('/');
        if (shape.segment !== null && shape.segment < segments.length) segments[shape.segment] = shape.word;
        const query = new URLSearchParams(shape.query.filter(([name]) => name !== 'wait'));
        const credentials = { ...http.keys, token: place.inbox.token, none: null, garbage: shape.word };
        const credential = credentials[shape.credential];
        const headers: Record<string, string> = {};
        if (credential !== null) headers.authorization = `Bearer ${encodeURIComponent(credential)}`;
        if (shape.type !== undefined && shape.body !== null) headers['content-type'] = shape.type;
        if (shape.idempotencyKey !== null) headers['idempotency-key'] = shape.idempotencyKey;
        // Straight to the socket: no client normalises the path.
        const url = `${encodeURI(segments.join('/')).replaceAll('%25', '%')}?${query}`;
        const method = operation.method as 'GET';
        const sent = operation.id === 'waitForMessages' ? hurried(shape.body) : shape.body;
        const body = method === 'GET' ? null : sent;
        const answer = await agent.request({ origin: http.url, path: url, method, headers, body });
        statuses.add(answer.statusCode);
        if (![401, 403].includes(answer.statusCode)) reached.add(operation.id);
        // A stream has no end.
        if (String(answer.headers['content-type']).startsWith('text/event-stream'))
          return answer.body.destroy();
        const text = await answer.body.text();
        expect(answer.statusCode, `${operation.method} ${url} ${shape.body}: ${text}`).toBeLessThan(500);
        if (answer.statusCode < 400) return;
        expect(answer.headers['content-type'], url).toBe('application/problem+json');
        const problem = { status: answer.statusCode, requestId: expect.any(String) };
        expect(JSON.parse(text)).toMatchObject(problem);
      };
      await fc.assert(
        fc.asyncProperty(fc.array(requests, { minLength: AT_ONCE, maxLength: AT_ONCE }), async (batch) => {
          await Promise.all(batch.map(send));
        }),
        { numRuns: REQUESTS / AT_ONCE },
      );
      // They got everywhere, and not only as far as the guard.
      expect([...reached].toSorted()).toEqual(operations.map(({ id }) => id).toSorted());
      expect([...statuses]).toEqual(expect.arrayContaining([200, 400, 401, 403, 404, 415]));
      expect((await http.api('GET', '/readyz')).status).toBe(200);
    },
    timeLimit(600_000),
  );
});
