import type { Readable } from 'node:stream';
import { ref } from '@mayfly/client/contract';
import { type TSchema, Type } from 'typebox';

export const JSON_TYPE = 'application/json; charset=utf-8';

type Headers = Record<string, TSchema>;

export const json = (schema: TSchema, description: string, headers: Headers = {}) => ({
  description,
  headers,
  content: { 'application/json': { schema: ref(schema) } },
});

export const created = (schema: TSchema, description: string) =>
  json(schema, description, { Location: Type.String({ description: 'Path of what was created.' }) });

/** For generated clients to read the body as bytes, `mediaTypes` must include `application/octet-stream`. */
export const bytes = (mediaTypes: readonly string[], description: string, headers: Headers = {}) => ({
  description,
  headers,
  content: Object.fromEntries(
    mediaTypes.map((type) => [
      type,
      { schema: Type.Unsafe<Readable | Uint8Array>({ type: 'string', format: 'binary' }) },
    ]),
  ),
});

export const events = (schema: TSchema, description: string) => ({
  description,
  content: {
    'text/event-stream': {
      schema: Type.String({
        description: 'Server-sent events. The `data` of each is JSON of the schema in `contentSchema`.',
        contentSchema: ref(schema),
      }),
    },
  },
});

export const empty = (description: string, headers: Headers = {}) => ({
  type: 'null',
  description,
  headers,
});

export const ETAG = {
  ETag: Type.String({ description: 'Validator for `If-None-Match`.', examples: ['"msg_01kk4m3a8r"'] }),
};

export const NOT_MODIFIED = empty(
  'Nothing changed since the response whose `ETag` is in `If-None-Match`.',
  ETAG,
);

export const ConditionalHeaders = Type.Object({
  'if-none-match': Type.Optional(
    Type.String({ description: 'The `ETag` of an earlier response: 304 if nothing changed.' }),
  ),
});
