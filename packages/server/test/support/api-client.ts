import { Agent, type IncomingMessage, request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { expect } from 'vitest';

// biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came.
export type Body = any;

export interface Answer {
  status: number;
  headers: Headers;
  /** Parsed JSON, otherwise the text. */
  body: Body;
  bytes: Uint8Array;
}

export interface ApiOptions {
  /** A bearer credential; null sends none. Default: the key of the client. */
  as?: string | null;
  /** Text and bytes are sent as they are, anything else as JSON. */
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** Sends one request; does not follow redirects. */
export type ApiClient = (method: string, path: string, options?: ApiOptions) => Promise<Answer>;

/** `node:http` with keep-alive takes less than half of the CPU time of `fetch`. */
const agent = new Agent({ keepAlive: true });

/** @param key the credential of requests that name none */
export function apiClient(url: string, key: string): ApiClient {
  return async (method, path, { as = key, body, headers = {}, signal } = {}) => {
    const isWritten = typeof body === 'string' || body instanceof Uint8Array;
    const sent = isWritten || body === undefined ? body : JSON.stringify(body);
    const options = {
      agent,
      method,
      headers: {
        ...(as === null ? {} : { authorization: `Bearer ${as}` }),
        ...(sent === undefined
          ? {}
          : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(sent) }),
        ...headers,
      },
      ...(signal ? { signal } : {}),
    };
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      request(url + path, options, resolve)
        .on('error', reject)
        .end(sent);
    });
    const type = response.headers['content-type'] ?? '';
    const bytes = type.startsWith('text/event-stream') ? await firstPiece(response) : await buffer(response);
    const text = bytes.toString();
    const isJson = /json/.test(type) && text !== '';
    const parsed = isJson ? JSON.parse(text) : text;
    if (type === 'application/problem+json' && isJson) expectReadable(parsed);
    const fields = Object.entries(response.headersDistinct).flatMap(([name, values = []]) =>
      values.map((value): [string, string] => [name, value]),
    );
    return { status: response.statusCode ?? 0, headers: new Headers(fields), body: parsed, bytes };
  };
}

/** One or more complete sentences that begin with a capital letter, a quoted value or a path. */
const SENTENCES = /^["A-Z/].*[.?]$/s;
/** Markup, stack traces and source paths, which may stand in quoted values only. */
const UNREADABLE = /<\/?[a-z!]|\n|\.ts\b|undefined|\[object/i;
const SECRET = /(mf[kt]_|whsec_)[A-Za-z0-9]{4}/;

/** Checks the texts of every problem document in every test. */
function expectReadable({ detail, errors = [] }: { detail: string; errors?: { message: string }[] }): void {
  for (const text of [detail, ...errors.map(({ message }) => message)]) {
    expect(text).toMatch(SENTENCES);
    expect(text.replace(/"(\\.|[^"\\])*"/g, '""')).not.toMatch(UNREADABLE);
    expect(text).not.toMatch(SECRET);
    expect(text.length).toBeLessThan(3_000);
  }
}

/** @returns the first piece of a response that has no end */
async function firstPiece(response: IncomingMessage): Promise<Buffer> {
  for await (const piece of response) return piece;
  return Buffer.alloc(0);
}
