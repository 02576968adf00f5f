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
  app.addHook('preValidation', (request, _reply, done) => {
    const { schema } = request.routeOptions;
    if (!schema) return done();
    if (schema.querystring === undefined) {
      const [unknown] =
        request.routeOptions.config.access === 'public' ? [] : Object.keys(request.query as object);
      if (unknown !== undefined) return done(unexpectedParameter(unknown, schema.body !== undefined));
    } else {
      const known = types.get(schema) ?? parameterTypes(schema.querystring);
      types.set(schema, known);
      readParameters(request.query as Record<string, unknown>, known);
    }
    if (schema.body === undefined) {
      if (request.body === undefined || request.body === null) return done();
      return done(
        new AppError('invalid_request', 'This operation takes no body. Send the request without one.'),
      );
    }
    if (request.body === undefined && isOptionalBody(app, schema.body)) request.body = {};
    done();
  });
}

/** A body without required fields may be omitted. */
function isOptionalBody(app: App, body: unknown): boolean {
  const { $ref } = body as { $ref?: string };
  const schema = app.getSchema($ref?.replace('#', '') ?? '') as { required?: unknown } | undefined;
  return schema !== undefined && schema.required === undefined;
}
