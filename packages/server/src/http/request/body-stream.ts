import type { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import type { AppError } from '../../errors.ts';
import type { App } from '../context.ts';
import { unsupportedMediaType } from '../response/problems.ts';

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
