import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyRequest, FastifySchema } from 'fastify';
import { AppError } from '../../errors.ts';
import type { App } from '../context.ts';
import { unsupportedMediaType } from '../response/problems.ts';
import { parseJsonBody } from './json-body.ts';
import { type ParameterTypes, parameterTypes, readParameters, unexpectedParameter } from './query.ts';

/** Accepts JSON bodies only; a route that accepts other types adds their parser. */
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

/** Converts query parameters to their types, and replaces an omitted optional body by an empty object. */
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

/** Adds routes whose body is a stream of bytes, in a Fastify scope of their own, so that no other route accepts it. */
export function withStreams(app: App, accepts: readonly string[], add: (scope: App) => void): void {
  app.register(async (scope: App) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser([...accepts], (_request, payload, done) => done(null, payload));
    add(scope);
  });
}

/** @throws AppError `unsupported_media_type` without a body and a type, or what `empty` makes for an empty body */
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

/** Drops the buffered part of a body and what still arrives. */
export const dropChunks = (request: IncomingMessage): void => void joinedBodies.get(request)?.destroy();

/**
 * Joins the chunks of a body (RFC 9112 section 7.1) that arrive in one turn of the event loop: buffered one by one,
 * chunks of one byte take 450 times their size. Call it before the body is read; `count` is called for each chunk.
 */
export function joinChunks(request: IncomingMessage, count: () => void): void {
  if (request.headers['transfer-encoding'] === undefined) return;
  // Kept, because a body stream that fails may detach the socket from the request.
  const { socket } = request;
  let chunks: Buffer[] = [];
  const resume = (): void => void socket.resume();
  const body = new Readable({
    read: resume,
    destroy(error, done) {
      // The rest is read and dropped, so that the client sends all of it and reads its response.
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
  // The body may fail when nothing reads it.
  body.on('error', () => undefined);
  joinedBodies.set(request, body);
}

/**
 * Sends 100 Continue (RFC 9110 section 10.1.1) after the checks of the header: credential, path, size. A request that
 * fails them gets its response, and the connection is closed, because the client may or may not send the body then.
 * Other expectations are ignored: Node's own response is no problem document and bypasses all checks.
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

/** Reads and drops up to `maxBytes`. `done` is called once: true if the body is complete or the client is gone. */
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
