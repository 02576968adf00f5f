import type { FastifyRequest, FastifySchema } from 'fastify';
import { AppError } from '../../errors.ts';
import type { App } from '../context.ts';
import { parseJsonBody } from './json-body.ts';
import { type ParameterTypes, parameterTypes, readParameters, unexpectedParameter } from './query.ts';

/** Lets the app read JSON bodies, and no other ones; a route that takes others adds their parser. */
export function parseBodies(app: App): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => {
    if (body.length === 0) return done(null, undefined);
    try {
      done(null, parseJsonBody(body as Buffer));
    } catch (error) {
      done(error as Error, undefined);
    }
  });
}

/** Converts query parameters to their types, and makes a body that may be omitted an empty object. */
export function readInputs(app: App): void {
  const types = new WeakMap<object, ParameterTypes>();
  const readQuery = ({ routeOptions, query }: FastifyRequest, { querystring, body }: FastifySchema): void => {
    if (querystring === undefined) {
      const { config, schema } = routeOptions;
      const isPage = config.access === 'public' && schema?.operationId === undefined;
      const [unknown] = isPage ? [] : Object.keys(query as object);
      if (unknown !== undefined) throw unexpectedParameter(unknown, body !== undefined);
      return;
    }
    const known = types.get(querystring as object) ?? parameterTypes(querystring);
    types.set(querystring as object, known);
    readParameters(query as Record<string, unknown>, known);
  };
  const readBody = (request: FastifyRequest, { body }: FastifySchema): void => {
    if (body !== undefined) {
      if (request.body === undefined && isOptionalBody(app, body)) request.body = {};
    } else if (request.body !== undefined && request.body !== null) {
      throw new AppError('invalid_request', 'This operation takes no body. Send the request without one.');
    }
  };
  app.addHook('preValidation', (request, _reply, done) => {
    const { schema = {} } = request.routeOptions;
    readQuery(request, schema);
    readBody(request, schema);
    done();
  });
}

/** A body without required fields may be omitted. */
function isOptionalBody(app: App, body: unknown): boolean {
  const { $ref } = body as { $ref?: string };
  const schema = app.getSchema($ref?.replace('#', '') ?? '') as { required?: unknown } | undefined;
  return schema !== undefined && schema.required === undefined;
}
