import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { answerChecker } from '../../support/answer-schema.ts';
import { type Body, startHttp, type TestHttp } from '../start-http.ts';
import { everyOperation, newPlace, sendOptions } from './operations.ts';

const { document, operations } = everyOperation();
const check = answerChecker(document);

/** Names of the headers that every response has; a plan without limits sends no RateLimit headers. */
function alwaysSent(headers: Body): string[] {
  return Object.entries<Body>(headers)
    .filter(([, { $ref }]) => document.components.headers[$ref?.split('/').at(-1)]?.required !== false)
    .map(([name]) => name);
}

describe('every operation answers as the document says', () => {
  let http: TestHttp;
  beforeAll(async () => {
    http = await startHttp({ signUpPlan: 'free' });
  });
  afterAll(() => http.stop());

  it.each(operations.map((one): [string, (typeof operations)[0]] => [one.id, one]))(
    '%s',
    async (_name, operation) => {
      const place = await newPlace(http);
      const row = operation.row(place);
      const [success = ''] = Object.keys(operation.responses).filter((status) => status.startsWith('2'));
      const described = operation.responses[success];
      const answer = await http.api(operation.method, row.path, sendOptions(row));
      expect(answer.status).toBe(Number(success));
      for (const header of alwaysSent(described.headers))
        expect(answer.headers.get(header), header).toBeTruthy();
      const schema = described.content?.['application/json']?.schema;
      if (schema) expect(check(schema, answer.body)).toBe('');
      if (!described.content) expect(answer.bytes).toHaveLength(0);
    },
  );
});

describe('an account with limits', () => {
  it('gets every described header, also with 429', async () => {
    const http = await startHttp({}, 'free');
    const { responses } = operations.find(({ id }) => id === 'listInboxes') ?? expect.fail();
    for (let status = 200; status === 200; ) {
      const answer = await http.api('GET', '/v1/inboxes');
      status = answer.status;
      for (const header of Object.keys(responses[status].headers))
        expect(answer.headers.get(header), `${status} ${header}`).toBeTruthy();
    }
    await http.stop();
  });
});
