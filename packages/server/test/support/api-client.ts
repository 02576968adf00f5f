import { Agent, type IncomingMessage, request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { expect } from 'vitest';

// biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came.
export type Body = any;

export interface Answer {
  status: number;
  headers: Headers;
  /** Parsed where it is JSON, else its text. */
  body: Body;
  bytes: Uint8Array;
}

export interface ApiOptions {
  /** A bearer credential; null sends none; by default the client's own key. */
  as?: string | null;
  /** Text and bytes go as they are, anything else as JSON. */
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** One request, on the wire as any client's; redirects are not followed. */
export type ApiClient = (method: string, path: string, options?: ApiOptions) => Promise<Answer>;

/** Kept-open connections of `node:http` take less than half of the CPU time of `fetch`. */
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

/** A full sentence, or several: begins with a capital or a quoted value, and ends. */
const SENTENCES = /^["A-Z/].*[.?]$/s;
/** Outside of quoted values: markup, stack traces, paths of sources. */
const UNREADABLE = /<\/?[a-z!]|\n|\.ts\b|undefined|\[object/i;
const SECRET = /(mf[kt]_|whsec_)[A-Za-z0-9]{4}/;

/** What holds for every problem document in every test: its texts are written for people. */
function expectReadable({ detail, errors = [] }: { detail: string; errors?: { message: string }[] }): void {
  for (const text of [detail, ...errors.map(({ message }) => message)]) {
    expect(text).toMatch(SENTENCES);
    expect(text.replace(/"(\\.|[^"\\])*"/g, '""')).not.toMatch(UNREADABLE);
    expect(text).not.toMatch(SECRET);
    expect(text.length).toBeLessThan(3_000);
  }
}

/** A stream has no end: what it begins with. */
async function firstPiece(response: IncomingMessage): Promise<Buffer> {
  for await (const piece of response) return piece;
  return Buffer.alloc(0);
}
