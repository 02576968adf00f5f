import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyRequest, FastifySchema } from 'fastify';
import { AppError } from '../../errors.ts';
import type { App } from '../context.ts';
import { unsupportedMediaType } from '../response/problems.ts';
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

function isOptionalBody(app: App, body: unknown): boolean {
  const { $ref } = body as { $ref?: string };
  const schema = app.getSchema($ref?.replace('#', '') ?? '') as { required?: unknown } | undefined;
  return schema !== undefined && schema.required === undefined;
}

/**
 * Adds routes whose body is the stream of its bytes, in a context of their own, so that no other route takes one.
 * @param accepts media types of the body
 */
export function withStreams(app: App, accepts: readonly string[], add: (scope: App) => void): void {
  app.register(async (scope: App) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser([...accepts], (_request, payload, done) => done(null, payload));
    add(scope);
  });
}

/**
 * The bytes of the body.
 * @param empty makes the error for a body without a byte
 * @throws AppError `unsupported_media_type` without a body and a type, or what `empty` makes
 */
export function bodyStream(
  request: FastifyRequest,
  accepts: readonly string[],
  empty: () => AppError,
): Readable {
  const stream = request.body as Readable | undefined;
  if (stream) return stream;
  throw request.headers['content-type'] === undefined ? unsupportedMediaType(undefined, accepts) : empty();
}

const joinedBodies = new WeakMap<IncomingMessage, Readable>();

export const bodyOf = (request: IncomingMessage): Readable => joinedBodies.get(request) ?? request;

/** Keeps no more of a body that nobody reads any more; what still arrives is dropped. */
export const dropChunks = (request: IncomingMessage): void => void joinedBodies.get(request)?.destroy();

/**
 * Joins the chunks of a body in the chunked coding (RFC 9112 section 7.1) that arrive in one turn of the event loop.
 * Each of a million chunks of one byte would otherwise wait in memory by itself, which takes 450 times its size.
 * @param request of which no part of the body was read yet
 * @param count called for each chunk
 */
export function joinChunks(request: IncomingMessage, count: () => void): void {
  if (request.headers['transfer-encoding'] === undefined) return;
  // Kept, because a stream of the body that fails may take the socket from the request.
  const { socket } = request;
  let chunks: Buffer[] = [];
  const resume = (): void => void socket.resume();
  const body = new Readable({
    read: resume,
    destroy(error, done) {
      // The client gets its response when it has sent all, which nobody reads any more.
      resume();
      done(error);
    },
  });
  const flush = (): void => {
    const [first, ...others] = chunks;
    chunks = [];
    if (first && !body.destroyed && !body.push(others.length > 0 ? Buffer.concat([first, ...others]) : first))
      socket.pause();
  };
  request.on('data', (chunk: Buffer) => {
    count();
    if (!body.destroyed && chunks.push(chunk) === 1) setImmediate(flush);
  });
  request.once('end', () => {
    flush();
    body.push(null);
  });
  request.once('error', (error) => body.destroy(error));
  // A body that nobody reads (any more) may fail as well.
  body.on('error', () => undefined);
  joinedBodies.set(request, body);
}

/**
 * Tells a client that sent `Expect: 100-continue` (RFC 9110 section 10.1.1) to send its body only once the
 * request has passed the checks of its header: credential, path, size. A request that fails them gets its
 * response instead, and the connection is closed, because the client may or may not send the body then. Every other
 * expectation is ignored: the response that Node would give is no problem document and passes no check.
 */
export function respondToExpect(app: App): void {
  const waiting = new WeakSet<IncomingMessage>();
  app.server.on('checkContinue', (request, response) => {
    waiting.add(request);
    response.setHeader('connection', 'close');
    app.server.emit('request', request, response);
  });
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  app.addHook('preParsing', (request, reply, _payload, done) => {
    if (request.headers.expect !== undefined && waiting.delete(request.raw)) {
      reply.raw.removeHeader('connection');
      reply.raw.writeContinue();
    }
    done(null, bodyOf(request.raw));
  });
}

/**
 * Reads and drops the rest of a body, so that the connection can be used for the next request.
 * @param maxBytes the body is not read further than this
 * @param done called once, with true when the whole body has arrived or the client is gone
 */
export function discardBody(
  request: IncomingMessage,
  maxBytes: number,
  done: (isRead: boolean) => void,
): void {
  let left = maxBytes;
  const finish = (isRead: boolean): void => {
    request.off('data', count).off('end', atEnd).off('close', atEnd);
    if (!isRead) request.pause();
    done(isRead);
  };
  const count = (bytes: Buffer): void => {
    left -= bytes.length;
    if (left < 0) finish(false);
  };
  const atEnd = (): void => finish(true);
  request.on('data', count).once('end', atEnd).once('close', atEnd);
  dropChunks(request);
  if (request.readableEnded || request.destroyed) finish(true);
}
