import { Ajv2020 } from 'ajv/dist/2020.js';
import { fullFormats } from 'ajv-formats/dist/formats.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { everyOperation, newPlace } from './operations.ts';
import { type Body, startHttp, type TestHttp } from './start-http.ts';

const { document, operations } = await everyOperation();

/** The document with every object closed: a field that is sent but not described is an error. */
function closed(node: Body): Body {
  if (Array.isArray(node)) return node.map(closed);
  if (typeof node !== 'object' || node === null) return node;
  const copy = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, closed(value)]));
  const open = node.type === 'object' && node.properties && node.additionalProperties === undefined;
  return open ? { ...copy, additionalProperties: false } : copy;
}

const ajv = new Ajv2020({
  strict: false,
  formats: {
    byte: true,
    date: fullFormats.date,
    'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
  },
});
const components = closed(document.components);

describe('every operation answers as the document says', () => {
  let http: TestHttp;
  beforeAll(async () => {
    http = await startHttp();
  });
  afterAll(() => http.stop());

  it.each(operations.map((one): [string, (typeof operations)[0]] => [one.id, one]))(
    '%s',
    async (_name, operation) => {
      const place = await newPlace(http);
      const { path, body } = operation.row(place);
      const [success = ''] = Object.keys(operation.responses).filter((status) => status.startsWith('2'));
      const described = operation.responses[success];
      const answer = await http.api(operation.method, path, body ? { body } : {});
      expect(answer.status).toBe(Number(success));
      for (const header of Object.keys(described.headers))
        expect(answer.headers.get(header), header).toBeTruthy();
      const schema = described.content?.['application/json']?.schema;
      if (schema) {
        const valid = ajv.compile({ ...schema, components });
        expect(valid(answer.body), JSON.stringify(valid.errors)).toBe(true);
      }
      if (!described.content) expect(answer.bytes).toHaveLength(0);
    },
  );
});
