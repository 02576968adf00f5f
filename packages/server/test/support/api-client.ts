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

/** @param key the credential of requests that name none */
export function apiClient(url: string, key: string): ApiClient {
  return async (method, path, { as = key, body, headers = {}, signal } = {}) => {
    const response = await fetch(url + path, {
      method,
      redirect: 'manual',
      headers: {
        ...(as === null ? {} : { authorization: `Bearer ${as}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined
        ? {}
        : { body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body) }),
      ...(signal ? { signal } : {}),
    });
    const type = response.headers.get('content-type') ?? '';
    const bytes = type.startsWith('text/event-stream')
      ? await firstPiece(response)
      : new Uint8Array(await response.arrayBuffer());
    const text = new TextDecoder().decode(bytes);
    const isJson = /json/.test(type) && text !== '';
    const parsed = isJson ? JSON.parse(text) : text;
    if (type === 'application/problem+json' && isJson) expectReadable(parsed);
    return { status: response.status, headers: response.headers, body: parsed, bytes };
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
async function firstPiece({ body }: Response): Promise<Uint8Array> {
  const reader = body?.getReader();
  const { value } = (await reader?.read()) ?? {};
  await reader?.cancel();
  return value ?? new Uint8Array();
}
