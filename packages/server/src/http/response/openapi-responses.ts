import { Problem, ref } from '@mayfly/client/contract';
import { type TSchema, Type } from 'typebox';
import { PROBLEM_TYPE } from './problems.ts';

/** As Fastify writes it for what it serialises itself. */
export const JSON_TYPE = 'application/json; charset=utf-8';

type Headers = Record<string, TSchema>;

/** A JSON answer as the OpenAPI document shows it. */
export const json = (schema: TSchema, description: string, headers: Headers = {}) => ({
  description,
  headers,
  content: { 'application/json': { schema: ref(schema) } },
});

/** An answer of bytes. */
export const bytes = (mediaType: string, description: string, headers: Headers = {}) => ({
  description,
  headers,
  content: { [mediaType]: { schema: Type.String({ format: 'binary', description }) } },
});

/** An answer of server-sent events whose data have that schema. */
export const events = (schema: TSchema, description: string) => ({
  description,
  content: { 'text/event-stream': { schema: ref(schema) } },
});

/** An answer without a body. */
export const empty = (description: string, headers: Headers = {}) => ({
  type: 'null',
  description,
  headers,
});

/** A problem document. */
export const problemAnswer = (description: string, headers: Headers = {}) => ({
  description,
  headers,
  content: { [PROBLEM_TYPE]: { schema: ref(Problem) } },
});

export const ETAG = {
  ETag: Type.String({ description: 'Validator for `If-None-Match`.', examples: ['"msg_01kk4m3a8r"'] }),
};

export const NOT_MODIFIED = empty('Nothing changed since the answer that `If-None-Match` names.', ETAG);

/** Headers of requests whose answer carries a validator. */
export const ConditionalHeaders = Type.Object({
  'if-none-match': Type.Optional(
    Type.String({ description: 'The `ETag` of an earlier answer: 304 when nothing changed.' }),
  ),
});
