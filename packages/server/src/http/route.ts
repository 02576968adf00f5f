import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type {
  FastifyBaseLogger,
  FastifyContextConfig,
  FastifySchema,
  RawServerDefault,
  RouteGenericInterface,
  RouteHandlerMethod,
  RouteShorthandOptions,
} from 'fastify';
import type { App } from './context.ts';
import { withStreams } from './request/inputs.ts';

interface Inputs<Params, Query, Headers, Body> {
  params: Params;
  querystring: Query;
  headers: Headers;
  body: Body;
}

type Handler<Schema extends FastifySchema> = RouteHandlerMethod<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  RouteGenericInterface,
  FastifyContextConfig,
  Schema,
  TypeBoxTypeProvider,
  FastifyBaseLogger
>;

type Operation<Params, Query, Headers, Body> = Partial<Inputs<Params, Query, Headers, Body>> &
  FastifyContextConfig &
  Pick<RouteShorthandOptions, 'bodyLimit' | 'onRequest'> & {
    operationId: string;
    summary: string;
    description: string;
    /** Response schemas by status. The lowest status is that of a successful response. */
    response: Record<number, object>;
    handler: Handler<Inputs<Params, Query, Headers, Body>>;
  };

export type AddRoute = ReturnType<typeof routesOf>;

/** Returns a function that adds operations. With `accepts`, the handler gets the request body as a stream. */
export function routesOf(app: App, tag: string) {
  return <Params, Query, Headers, Body>(
    endpoint: string,
    operation: Operation<Params, Query, Headers, Body>,
  ): void => {
    const { access, free, accepts, errors, bodyLimit, onRequest, handler, ...schema } = operation;
    const [method = '', url = ''] = endpoint.split(' ');
    const status = Number(Object.keys(schema.response)[0]);
    const add = (scope: App) =>
      scope.route({
        method,
        url,
        config: { access, free, accepts, errors, status },
        schema: { tags: [tag], ...schema } as Inputs<Params, Query, Headers, Body>,
        ...(bodyLimit && { bodyLimit }),
        ...(onRequest && { onRequest }),
        handler,
      });
    if (accepts) withStreams(app, accepts, add);
    else add(app);
  };
}
