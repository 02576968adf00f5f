import { beforeAll, describe, expect, it } from 'vitest';
import { EMPTY_ARCHIVE } from '../../support/recording-archive.ts';
import { type Answer, type Body, useHttp } from '../start-http.ts';
import { answerChecker } from './answer-schema.ts';
import { everyOperation, newPlace, type Operation, resolved } from './operations.ts';

/** Bodies that are not text, by operation; all others carry examples in the document. */
const BYTES: Record<string, Uint8Array> = { importInbox: EMPTY_ARCHIVE };
const PROBLEM_TYPE = 'application/problem+json';

/** Things that the example ids of a document stand for, by prefix. */
type Ids = Record<'inb' | 'msg' | 'whk' | 'dlv' | 'key' | 'wai' | 'cur' | 'acur', string>;

interface ExampleRequest {
  operation: Operation;
  /** Which example of which part, for the title of the test. */
  name: string;
  query: Record<string, unknown>;
  headers: Record<string, string>;
  type?: string;
  body?: unknown;
}

const http = useHttp({ signupPlan: 'free' });

const { document, operations } = everyOperation();
const check = answerChecker(document);

const parametersOf = ({ parameters }: Operation, where: string): Body[] =>
  parameters.filter((parameter) => parameter.in === where);

/** The values that every tool fills in: examples of what is required. */
function filledIn(operation: Operation, where: string) {
  const required = parametersOf(operation, where).filter(({ example }) => example !== undefined);
  return Object.fromEntries(required.map(({ name, example }) => [name, example]));
}

/** Every request that the examples of an operation make: each body, and each optional parameter by itself. */
function exampleRequests(operation: Operation): ExampleRequest[] {
  const [query, headers] = [filledIn(operation, 'query'), filledIn(operation, 'header')];
  const base = { operation, query, headers };
  const content = Object.entries<Body>(operation.content);
  const requests: ExampleRequest[] = content.flatMap(([type, { examples = {} }]) =>
    Object.entries<Body>(examples).map(([name, { value }]) => ({
      ...{ ...base, name: `body ${name}`, type, body: value },
    })),
  );
  const [type] = content[0] ?? [];
  if (type && operation.id in BYTES) requests.push({ ...base, name: 'body', type });
  if (content.length === 0 || !operation.needsBody) requests.push({ ...base, name: 'no body' });
  const [withBody] = requests;
  for (const { name, 'x-example': value } of parametersOf(operation, 'query')) {
    if (value === undefined) continue;
    const body = operation.needsBody ? withBody : {};
    requests.push({ ...base, ...body, name: `parameter ${name}`, query: { ...base.query, [name]: value } });
  }
  return requests;
}

async function newIds(labels: Record<string, string>): Promise<Ids> {
  const place = await newPlace(http, { ttlMinutes: 43_200, labels });
  const { inbox, messageId, webhookId, deliveryId, keyId, waitId } = place;
  const stream = await http.api('GET', '/v1/events');
  const [, acur = ''] = /^id: (acur_\S+)/m.exec(stream.body) ?? [];
  return {
    ...{ inb: inbox.id, msg: messageId, whk: webhookId, dlv: deliveryId, key: keyId, wai: waitId },
    ...{ cur: inbox.cursor, acur },
  };
}

/** The text with the example ids and cursors of the document replaced by those of the place. */
const inPlace = (text: string, ids: Ids): string =>
  text
    .replaceAll(/\b(inb|msg|whk|dlv|key|wai)_01kk4m[0-9a-z]{20}/g, (_id, kind: keyof Ids) => ids[kind])
    .replaceAll(/\b(a?cur)_[0-9a-z]+_[\w-]{11}/g, (_cursor, kind: keyof Ids) => ids[kind]);

/** As OpenAPI describes it: the fields of an object are parameters of their own (style `form`, exploded). */
function queryText(query: Record<string, unknown>): string {
  const pairs = Object.entries(query).flatMap(([name, value]): [string, unknown][] =>
    typeof value === 'object' && value !== null ? Object.entries(value) : [[name, value]],
  );
  const text = new URLSearchParams(pairs.map(([name, value]): [string, string] => [name, `${value}`]));
  return text.size > 0 ? `?${text}` : '';
}

/** For requests that only read; without the label by which an example deletes inboxes. */
let shared: Promise<Ids>;
beforeAll(() => {
  shared = newIds({});
});

async function send({ operation, query, headers, type, body }: ExampleRequest): Promise<Answer> {
  const ids = await (operation.method === 'GET' ? shared : newIds({ run: '4711' }));
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_all, name) => {
    const { example } = parametersOf(operation, 'path').find((parameter) => parameter.name === name);
    return inPlace(example, ids);
  });
  const bytes = BYTES[operation.id];
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const answer = http.api(operation.method, inPlace(`${path}${queryText(query)}`, ids), {
    ...(operation.takesCredential ? {} : { as: null }),
    headers: { ...headers, ...(type === undefined ? {} : { 'content-type': type }) },
    ...(body === undefined ? {} : { body: inPlace(text, ids) }),
    ...(bytes ? { body: bytes } : {}),
  });
  let isDone = false;
  void answer.finally(() => {
    isDone = true;
  });
  // A wait for more messages than there are ends with its time.
  while (operation.id === 'waitForMessages' && !isDone) {
    await Promise.race([answer, http.clock.untilSleeping()]);
    await http.clock.advance(60_000);
  }
  return answer;
}

/** Headers that every response has; a plan without limits sends no RateLimit headers. */
const alwaysSent = (headers: Body): string[] =>
  Object.entries<Body>(headers)
    .filter(([, { $ref }]) => document.components.headers[$ref?.split('/').at(-1)]?.required !== false)
    .map(([name]) => name);

/** What is wrong with a response by the document; '' for nothing. */
function problemsOf(operation: Operation, answer: Answer): string {
  const described = operation.responses[answer.status];
  if (!described) return `status ${answer.status} is not described: ${JSON.stringify(answer.body)}`;
  for (const header of alwaysSent(described.headers))
    if (!answer.headers.get(header)) return `the header ${header} is missing`;
  const type = (answer.headers.get('content-type') ?? '').split(';')[0] ?? '';
  if (!described.content) return answer.bytes.length === 0 ? '' : 'a body is not described';
  const content = described.content[type] ?? described.content['*/*'];
  if (!content) return `the media type ${type} is not described`;
  return /json$/.test(type) ? check(content.schema, answer.body) : '';
}

describe('every operation of the OpenAPI document', () => {
  it.each(operations)('carries examples of what it needs: $id', (operation) => {
    for (const parameter of [...parametersOf(operation, 'path'), ...parametersOf(operation, 'query')]) {
      if (parameter.required) expect(parameter.example, `${parameter.name}: an example`).toBeDefined();
      else expect(parameter.example, `${parameter.name} is optional: no field is filled in`).toBeUndefined();
    }
    const content = Object.values<Body>(operation.content);
    if (content.length === 0 || operation.id in BYTES) return;
    const examples = content.flatMap((one) => Object.keys(one.examples ?? {}));
    expect(examples.length, 'add "examples" to the schema of the body').toBeGreaterThan(0);
  });

  it.each(operations)('carries an example of each of its errors: $id', ({ responses, takesCredential }) => {
    const statuses = Object.keys(responses).filter((status) => Number(status) >= 400);
    const needed = ['400', '500', '503', ...(takesCredential ? ['401', '429'] : [])];
    expect(statuses).toEqual(expect.arrayContaining(needed));
    for (const status of statuses) {
      const { examples = {}, schema } = responses[status].content[PROBLEM_TYPE];
      expect(Object.keys(examples).length, `${status}: name the code in backquotes`).toBeGreaterThan(0);
      for (const example of Object.values<Body>(examples)) {
        const { value } = resolved(document, example);
        expect(value.status).toBe(Number(status));
        expect(check(schema, value)).toBe('');
        expect(value.detail).toMatch(/^["A-Z].*[.?]$/);
      }
    }
  });
});

describe('every example request succeeds on a running server, and its response is as described:', () => {
  const requests = operations.flatMap(exampleRequests);

  it.each(requests)('$operation.id, $name', async (request) => {
    const answer = await send(request);
    expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
    expect(problemsOf(request.operation, answer)).toBe('');
  });

  it('with and without a body, and with each optional parameter', () => {
    expect(requests.length).toBeGreaterThan(operations.length + 15);
    expect(new Set(requests.map(({ operation }) => operation.id)).size).toBe(operations.length);
  });
});
