import type { Mailbox } from './mailbox.ts';

/** A request to an imitated API. */
export interface Call {
  /** Parameters of the path. */
  path: Readonly<Record<string, string>>;
  query: URLSearchParams;
  body: Buffer;
  mailbox: Mailbox;
  /** How long a list may wait for a match, seconds. */
  wait: number;
}

export interface Reply {
  /** Default: 200. */
  status?: number;
  type: string;
  body: string | Uint8Array;
  headers?: Record<string, string>;
}

export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** With parameters as `:name`. */
  url: string;
  /** @throws Refused as Mayfly's API does */
  answer(call: Call): Promise<Reply>;
}

/** A parameter that is a whole number; `otherwise` for anything else. */
export function numberOf(query: URLSearchParams, name: string, otherwise: number): number {
  const value = query.get(name) ?? '';
  return /^\d{1,9}$/.test(value) ? Number(value) : otherwise;
}

export const json = (value: unknown): Reply => ({
  type: 'application/json',
  body: `${JSON.stringify(value)}\n`,
});

export const text = (body: string, status = 200, type = 'text/plain'): Reply => ({ status, type, body });

export const route = (method: Route['method'], url: string, answer: Route['answer']): Route => ({
  method,
  url,
  answer,
});
