import { Ajv2020 } from 'ajv/dist/2020.js';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  everyOperation,
  newPlace,
  type Operation,
  type Place,
  resolved,
  sendOptions,
} from '../openapi/operations.ts';
import { type Answer, type ApiOptions, type Body, useHttp } from '../start-http.ts';

const { document, operations } = everyOperation();
const ajv = new Ajv2020({ strict: false, formats: { 'date-time': true } });
const isProblem = ajv.compile({ ...document.components.schemas.Problem, components: document.components });

/** Their bodies are no JSON; injection.test.ts and recordings.test.ts have hostile ones. */
const WITH_BYTES = ['injectMessage', 'importInbox'];
const withoutBody = operations.filter(
  ({ id, bodySchema, method }) => !bodySchema && method !== 'GET' && !WITH_BYTES.includes(id),
);

/** Values of every JSON type but the wanted ones; a whole number is also a `number`. */
const wrongValues = (types: string[]): unknown[] =>
  Object.entries<unknown>({ string: 'x', integer: 7, boolean: true, object: {}, array: [], null: null })
    .filter(([type]) => !types.includes(type) && !(type === 'integer' && types.includes('number')))
    .map(([, value]) => value);

/** Values of the right type that a schema does not allow. */
function beyond(schema: Body): unknown[] {
  const { type, minimum, maximum, minLength, maxLength, pattern, maxItems, enum: known } = schema;
  return [
    ...(minimum === undefined ? [] : [minimum - 1]),
    ...(maximum === undefined ? [] : [maximum + 1]),
    ...(type === 'integer' ? [1.5] : []),
    ...(minLength === undefined ? [] : ['']),
    ...(maxLength === undefined ? [] : ['x'.repeat(maxLength + 1)]),
    ...(pattern === undefined ? [] : ['a\nb', '\ud800']),
    ...(maxItems === undefined ? [] : [Array(maxItems + 1).fill('x')]),
    ...(known ? ['no such'] : []),
  ];
}

interface Field {
  path: string;
  schemas: Body[];
  /** A body in which it has that value. */
  inBody(value: unknown): object;
}

/** Every field of a body, also those within others. */
function fieldsOf(schema: Body, path = '', inBody = (value: unknown) => value as object): Field[] {
  const of = (name: string, node: Body, within: Field['inBody']): Field[] => {
    const whole = resolved(document, node);
    const schemas: Body[] = whole.anyOf?.map((one: Body) => resolved(document, one)) ?? [whole];
    const field = { path: `${path}/${name}`, schemas, inBody: within };
    return [field, ...schemas.flatMap((one) => fieldsOf(one, field.path, within))];
  };
  return [
    ...Object.entries<Body>(schema.properties ?? {}).flatMap(([name, node]) =>
      of(name, node, (value) => inBody({ [name]: value })),
    ),
    ...(schema.items ? of('0', schema.items, (value) => inBody([value])) : []),
  ];
}

const http = useHttp({ signupPlan: 'free' });
let own: Place;
/** Its inbox has expired. Requests that are rejected change nothing, so one place serves all operations. */
let expired: Place;
beforeAll(async () => {
  [own, expired] = [await newPlace(http), await newPlace(http, { ttlMinutes: 1 })];
  await http.clock.advance(60_000);
});

describe('bad input at every operation', () => {
  function expectProblem(answer: Answer, status: number, code: string): void {
    expect([answer.status, answer.body.code]).toEqual([status, code]);
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    expect(answer.headers.get('x-request-id')).toBe(answer.body.requestId);
    expect(isProblem(answer.body), JSON.stringify(isProblem.errors)).toBe(true);
    expect(answer.body.status).toBe(status);
  }
  const send = ({ method, row }: Operation, options: ApiOptions = {}, place = own) => {
    const asked = row(place);
    return http.api(method, asked.path, { ...sendOptions(asked), ...options });
  };

  describe.each(operations)('$id', (operation) => {
    it('refuses a query parameter that it does not know, by name', async () => {
      const { path, ...rest } = operation.row(own);
      for (const name of ['wait_seconds', '__proto__', 'constructor', 'Limit', 'label']) {
        const target = `${path}${path.includes('?') ? '&' : '?'}${name}=1`;
        const answer = await http.api(operation.method, target, sendOptions({ path, ...rest }));
        expectProblem(answer, 400, 'invalid_request');
        const message = expect.stringMatching(
          new RegExp(`^"${name}" is not a known query parameter(:|[.] [A-Z]).*[.?]$`),
        );
        expect(answer.body.errors).toEqual([{ path: name, message }]);
      }
    });

    it('refuses query parameters of the wrong type, beyond their bounds or given twice, by name', async () => {
      const { path } = operation.row(own);
      const [bare = ''] = path.split('?');
      const known = operation.parameters.filter((one) => one.in === 'query' && one.schema.type !== 'object');
      for (const { name, schema } of known) {
        const ofAnotherType = schema.type === 'string' ? [] : ['abc', '', '1e1', '+5', 'TRUE'];
        // A pattern describes what code checks after these.
        const outside = beyond({ ...schema, pattern: undefined });
        for (const bad of [`1&${name}=2`, ...ofAnotherType, ...outside]) {
          const answer = await http.api(operation.method, `${bare}?${name}=${bad}`);
          expectProblem(answer, 400, 'invalid_request');
          expect(answer.body.errors.map((error: Body) => error.path)).toContain(name);
        }
      }
    });
  });

  describe.each(operations.filter(({ ofInbox }) => ofInbox))('$id', (operation) => {
    it('answers 410 to the owner of an expired inbox, 404 to a stranger', async () => {
      // What a wait has explained outlives its inbox.
      if (operation.id !== 'getWait') expectProblem(await send(operation, {}, expired), 410, 'inbox_expired');
      expectProblem(await send(operation, { as: http.keys.foreign }, expired), 404, 'not_found');
    });
  });

  describe.each(operations.filter(({ bodySchema }) => bodySchema))('$id', (operation) => {
    const raw = (body: string, type = 'application/json') =>
      send(operation, { body, headers: { 'content-type': type } });

    it('refuses bodies that are not JSON, not an object, not UTF-8, or hostile', async () => {
      for (const body of ['{', '{"a":}', 'null x', '\u0000', "{'a':1}", '[', '"'])
        expectProblem(await raw(body), 400, 'malformed_json');
      for (const body of ['null', '[]', '"x"', '1', 'true', '[{}]'])
        expectProblem(await raw(body), 400, 'invalid_request');
      for (const name of ['__proto__', 'constructor', 'toString', 'surprise']) {
        const answer = await raw(`{"${name}": {"x": 1}}`);
        expectProblem(answer, 400, 'invalid_request');
        const message = expect.stringMatching(new RegExp(`^"${name}" is not a known field\\. [A-Z].*[.?]$`));
        expect(answer.body.errors).toContainEqual({ path: `/${name}`, message });
      }
      const deep = `${'{"labels":'.repeat(3_000)}1${'}'.repeat(3_000)}`;
      expectProblem(await raw(deep), 400, 'invalid_request');
      expectProblem(await raw('['.repeat(30_000) + ']'.repeat(30_000)), 400, 'invalid_request');
    });

    it('refuses a body that is too large, whatever is in it', async () => {
      // A reply may have attachments.
      const limit = operation.id === 'replyToMessage' ? 8 * 1024 * 1024 : 64 * 1024;
      expectProblem(await raw(' '.repeat(limit + 1_024)), 413, 'payload_too_large');
      expectProblem(await raw(`{"x":"${'x'.repeat(limit + 1_000_000)}"}`), 413, 'payload_too_large');
    });

    it('refuses other content types', async () => {
      const types = ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data'];
      for (const type of [...types, 'x', 'application/jsonx'])
        expectProblem(await raw('{}', type), 415, 'unsupported_media_type');
    });

    it('refuses every field that is missing, of a wrong type or beyond its bounds, by name, also within others', async () => {
      const { required = [] } = operation.bodySchema;
      const missing = required.map((name: string) => expect.objectContaining({ path: `/${name}` }));
      if (required.length > 0) expectProblem(await raw('{}'), 400, 'invalid_request');
      if (required.length > 0) expect((await raw('{}')).body.errors).toEqual(missing);
      for (const { path, schemas, inBody } of fieldsOf(operation.bodySchema)) {
        const wrong = wrongValues(schemas.map(({ type }) => type));
        for (const value of [...wrong, ...schemas.flatMap(beyond)]) {
          const answer = await send(operation, { body: inBody(value) });
          expectProblem(answer, 400, 'invalid_request');
          const paths = answer.body.errors.map((error: Body) => error.path);
          expect([value, paths]).toEqual([value, expect.arrayContaining([path])]);
        }
      }
    });
  });

  it.each(withoutBody)('$id refuses a body', async (operation) => {
    expectProblem(await send(operation, { body: { x: 1 } }), 400, 'invalid_request');
    const text = await send(operation, { body: 'x', headers: { 'content-type': 'text/plain' } });
    expectProblem(text, 415, 'unsupported_media_type');
  });
});
