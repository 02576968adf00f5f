import type { IncomingMessage } from 'node:http';
import { createRequire } from 'node:module';
import { Readable } from 'node:stream';
import * as contract from '@mayfly/client/contract';
import type { Ajv, AnySchemaObject, ErrorObject, ValidateFunction } from 'ajv';
import type { FastifyRequest } from 'fastify';
import type { Page } from '../../database/sql.ts';
import { AppError, messageOf } from '../../errors.ts';
import { type IdPrefix, isId } from '../../ids.ts';
import { quoted, withoutCredentials } from '../../text/nearest.ts';
import type { App } from '../context.ts';
import { MAX_DISCARDED_BYTES } from '../limits.ts';
import { invalidField } from './invalid-fields.ts';

/** A Host header: empty, or a host with an optional port (RFC 3986 section 3.2.2). Names of containers may have underscores. */
const HOST = /^(?:(?:[A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(?::\d{0,5})?)?$/;

/** Requires one valid Host (RFC 9112 section 3.2) and no content coding (RFC 9110 section 15.5.16). @throws AppError */
export function assertReadable({ raw, headers }: Pick<FastifyRequest, 'raw' | 'headers'>): void {
  // Node keeps the first of several Host fields, but a proxy may use another one.
  let hosts = 0;
  for (let at = 0; at < raw.rawHeaders.length; at += 2) {
    if (raw.rawHeaders[at]?.length === 4 && raw.rawHeaders[at]?.toLowerCase() === 'host') hosts++;
  }
  if (hosts === 0 && raw.httpVersionMinor === 1) {
    throw new AppError('invalid_request', 'The Host header is missing. HTTP/1.1 requires it.');
  }
  if (hosts > 1) {
    throw new AppError('invalid_request', `The Host header is given ${hosts} times. Send it once.`);
  }
  if (!HOST.test(headers.host ?? '')) {
    throw new AppError(
      'invalid_request',
      `The Host header is ${quoted(headers.host ?? '')}. Send one host name or address, with an optional port, such as "mayfly.example.com:8025".`,
    );
  }
  const coding = headers['content-encoding'];
  if (coding === undefined || coding.toLowerCase() === 'identity') return;
  throw new AppError(
    'unsupported_media_type',
    `The Content-Encoding ${quoted(coding)} is not supported. Send the body uncompressed, without that header.`,
    { acceptEncoding: 'identity' },
  );
}

export const hasBody = ({ headers }: Pick<FastifyRequest, 'headers'>): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

/** Base of URLs in responses. A false Host header misleads only the client that sent it. */
export function baseUrl(publicUrl: string | null, { headers, socket }: FastifyRequest): string {
  if (publicUrl !== null) return publicUrl;
  if (headers.host) return `http://${headers.host}`;
  const { localAddress = '127.0.0.1', localPort = 80 } = socket;
  return `http://${localAddress.includes(':') ? `[${localAddress}]` : localAddress}:${localPort}`;
}

/** A JavaScript number represents every integer of 15 digits exactly. */
const INTEGER = /^-?\d{1,15}$/;

/** Converts integers and booleans in place. @throws AppError for a repeated parameter */
function readParameters(query: Record<string, unknown>, schema: unknown): void {
  const { properties = {} } = schema as { properties?: Record<string, { type?: string }> };
  for (const [name, given] of Object.entries(query)) {
    if (Array.isArray(given)) {
      const message = `The query parameter ${quoted(name)} is given ${given.length} times. Give it once.`;
      throw invalidField(name, message);
    }
    const type = properties[name]?.type;
    if (type === 'integer' && INTEGER.test(String(given))) query[name] = Number(given);
    if (type === 'boolean' && (given === 'true' || given === 'false')) query[name] = given === 'true';
  }
}

function refuseParameters(query: Record<string, unknown>, hasBody: boolean): void {
  const [name] = Object.keys(query);
  if (name === undefined) return;
  const instead = hasBody ? 'Send fields in the JSON body.' : 'Remove it.';
  const message = `${quoted(name)} is not a known query parameter: this operation takes none. ${instead}`;
  throw invalidField(name, message);
}

const LABEL = 'label.';

export function labelsOf(query: object): Record<string, string> {
  const labels = Object.entries(query).filter(([name]) => name.startsWith(LABEL));
  return Object.fromEntries(labels.map(([name, value]) => [name.slice(LABEL.length), String(value)]));
}

/** @param what an item of the list, such as "a message" @throws AppError `invalid_request` for an invalid `before` */
export function readPage(query: { limit?: number; before?: string }, prefix: IdPrefix, what: string): Page {
  const { limit = contract.DEFAULT_LIMIT, before = null } = query;
  if (before !== null && !isId(prefix, before))
    throw invalidField('before', `"before" must be the id of ${what} (${prefix}_…), not ${quoted(before)}.`);
  return { limit, before };
}

export function parseJsonBody(body: Uint8Array): unknown {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    const [valid = ''] = Buffer.from(body).toString('utf8').split('\ufffd', 1);
    throw new AppError(
      'malformed_json',
      `The body is not valid UTF-8 from byte ${Buffer.byteLength(valid)} on. Encode JSON in UTF-8.`,
    );
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    const fault = withoutCredentials(messageOf(error));
    throw new AppError('malformed_json', `The body is not valid JSON. ${fault}.`);
  }
}

/** Parses and validates bodies and query parameters; rejects those that a route does not take. */
export function readInputs(app: App): void {
  app.removeAllContentTypeParsers();
  const parse = async (_request: FastifyRequest, body: Buffer) =>
    body.length === 0 ? undefined : parseJsonBody(body);
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, parse);
  app.addHook('preValidation', (request, _reply, done) => {
    const { config, schema: { operationId, querystring, body } = {} } = request.routeOptions;
    const query = request.query as Record<string, unknown>;
    const isPage = config.access === 'public' && operationId === undefined;
    if (querystring !== undefined) readParameters(query, querystring);
    else if (!isPage) refuseParameters(query, body !== undefined);
    if (body !== undefined) {
      if (request.body === undefined && isOptionalBody(body)) request.body = {};
    } else if (request.body !== undefined && request.body !== null) {
      throw new AppError('invalid_request', 'This operation takes no body. Send the request without one.');
    }
    done();
  });
}

function isOptionalBody(body: unknown): boolean {
  const { $ref } = body as { $ref?: string };
  const schema = NAMED_SCHEMAS.find(({ $id }) => $id === $ref?.replace('#', ''));
  return schema !== undefined && schema.required === undefined;
}

/** Adds routes whose body is a stream, in their own Fastify scope, because no other route may accept these types. */
export function withStreams(app: App, accepts: readonly string[], add: (scope: App) => void): void {
  app.register(async (scope: App) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser([...accepts], (_request, payload, done) => done(null, payload));
    add(scope);
  });
}

export function unsupportedMediaType(given: string | undefined, accepted: readonly string[]): AppError {
  const found =
    given === undefined
      ? 'The body has no Content-Type'
      : `The Content-Type ${quoted(given)} is not supported`;
  const message = `${found}. Send the header "Content-Type: ${accepted.join('" or "Content-Type: ')}".`;
  return new AppError('unsupported_media_type', message);
}

export function bodyStream(request: FastifyRequest, accepts: readonly string[], empty: () => AppError) {
  const stream = request.body as Readable | undefined;
  if (stream) return stream;
  throw request.headers['content-type'] === undefined ? unsupportedMediaType(undefined, accepts) : empty();
}

const joinedBodies = new WeakMap<IncomingMessage, Readable>();

export const bodyOf = (request: IncomingMessage): Readable => joinedBodies.get(request) ?? request;

export const dropChunks = (request: IncomingMessage): void => void joinedBodies.get(request)?.destroy();

/** Joins body chunks (RFC 9112 section 7.1): a body in chunks of one byte would take 450 times its size in memory. */
export function joinChunks(request: IncomingMessage, count: () => void): void {
  if (request.headers['transfer-encoding'] === undefined) return;
  // Read the property now, because a failed request may lose its socket.
  const { socket } = request;
  let chunks: Buffer[] = [];
  const resume = (): void => void socket.resume();
  const body = new Readable({
    read: resume,
    destroy(error, done) {
      // Read the rest of the body, because some clients read the response only after they have sent all of it.
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
  // Without a listener, an error of this stream would end the process while no handler reads from it.
  body.on('error', () => undefined);
  joinedBodies.set(request, body);
}

/** Sends 100 Continue (RFC 9110 section 10.1.1) after the credential, path and size were checked. */
export function respondToExpect(app: App): void {
  const waiting = new WeakSet<IncomingMessage>();
  app.server.on('checkContinue', (request, response) => {
    waiting.add(request);
    // Close after a failed check: a client may then send the body or not, so the next bytes would be ambiguous.
    response.setHeader('connection', 'close');
    app.server.emit('request', request, response);
  });
  // Ignores other expectations: Node's own response to them is not a problem document.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  app.addHook('preParsing', (request, reply, _payload, done) => {
    if (request.headers.expect !== undefined && waiting.delete(request.raw)) {
      reply.raw.removeHeader('connection');
      reply.raw.writeContinue();
    }
    done(null, bodyOf(request.raw));
  });
}

/** Reads and drops a body that no handler reads. Ends the connection above {@link MAX_DISCARDED_BYTES}. */
export function dropBody({ raw, headers }: Pick<FastifyRequest, 'raw' | 'headers'>): void {
  if (!hasBody({ headers }) || raw.complete) return;
  let left = MAX_DISCARDED_BYTES;
  raw.on('data', (bytes: Buffer) => {
    left -= bytes.length;
    if (left < 0) raw.destroy();
  });
  dropChunks(raw);
}

const NAMED_SCHEMAS = Object.values<unknown>(contract).filter(
  (value): value is AnySchemaObject => typeof value === 'object' && value !== null && '$id' in value,
);

const require = createRequire(import.meta.url);

function createAjv(): Ajv {
  // Loaded at the first use, because loading takes as long as creating all routes.
  const library = require('ajv') as typeof import('ajv');
  const addFormats = require('ajv-formats') as typeof import('ajv-formats');
  const ajv = new library.Ajv({
    coerceTypes: false,
    removeAdditional: false,
    useDefaults: false,
    addUsedSchema: false,
    allErrors: true,
    // Adds the wrong value and its schema to each error, which the error message needs.
    verbose: true,
    keywords: ['x-unit'],
  });
  addFormats.default(ajv);
  ajv.addSchema(NAMED_SCHEMAS);
  return ajv;
}

let shared: Ajv | undefined;

function compile(schema: AnySchemaObject): ValidateFunction {
  shared ??= createAjv();
  return (schema.$id && shared.getSchema(schema.$id)) || shared.compile(schema);
}

/** Compiles the schema at its first use: compiling all schemas takes a seventh of the startup time. */
export function createValidator(schema: AnySchemaObject) {
  let validate: ValidateFunction | undefined;
  const validator = (value: unknown): boolean => {
    validate ??= compile(schema);
    const isValid = validate(value);
    validator.errors = validate.errors ?? null;
    return isValid;
  };
  validator.errors = null as ErrorObject[] | null;
  return validator;
}
