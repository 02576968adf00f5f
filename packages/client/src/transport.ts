import { MayflyError } from './errors.ts';
import type { ApiError } from './failures.ts';
import type { Operations } from './generated/api.ts';
import { clearTimeout, now, setTimeout, sleep } from './time.ts';

/** What happened to one attempt of a request, for logs. */
export interface RequestInfo {
  method: string;
  path: string;
  /** Undefined when no response arrived. */
  status: number | undefined;
  ms: number;
  requestId: string | undefined;
}

export interface MayflyOptions {
  /** Default: `MAYFLY_URL`, else `http://127.0.0.1:8025`. A page of the server itself passes `location.origin`. */
  url?: string | undefined;
  /** An API key, or the read token of one inbox. Default: `MAYFLY_API_KEY`. */
  apiKey?: string | undefined;
  /** True sends no Authorization header but the cookies of the page, for the web console. */
  session?: boolean | undefined;
  fetch?: typeof fetch | undefined;
  headers?: Record<string, string> | undefined;
  /** For a request that does not wait, its retries included. Default: 10,000. */
  timeoutMs?: number | undefined;
  /** How often a failed request is repeated. Default: 3. Waits and streams go on until their end. */
  retries?: number | undefined;
  /** Called after each attempt. */
  onRequest?: ((info: RequestInfo) => void) | undefined;
}

export interface RequestOptions {
  signal?: AbortSignal | undefined;
  /** For the whole request, retries included. */
  timeoutMs?: number | undefined;
  headers?: Record<string, string> | undefined;
}

type Input<Name extends keyof Operations> = Omit<Operations[Name], 'result'>;
/** The arguments of an operation: `path`, `query` and `body`, and the options of the request. */
export type CallInput<Name extends keyof Operations> = Input<Name> & RequestOptions;
/** Without arguments where the operation requires none. */
export type CallArguments<Name extends keyof Operations> =
  Record<never, never> extends Input<Name> ? [input?: CallInput<Name>] : [input: CallInput<Name>];

/** The arguments of any operation. */
export interface AnyInput extends RequestOptions {
  path?: Record<string, string>;
  query?: object;
  body?: unknown;
}

const DEFAULT_URL = 'http://127.0.0.1:8025';
/** Without a user name, a query or the version, which paths begin with. */
const SERVER_URL = /^https?:\/\/(?!.*\/v1$)[^?#@]+$/;
const DEFAULT_TIMEOUT_MS = 10_000;
const DEFAULT_RETRIES = 3;
/** Pauses between attempts double up to the longest. */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 1_000;
/** Not responses of our server about this request, but of what stands before it, or of its end. */
const TRANSIENT = [502, 503, 504];

const environment = (name: string): string | undefined =>
  (globalThis as { process?: { env?: Record<string, string | undefined> } }).process?.env?.[name];

/** Sends requests: credentials, deadlines, retries, errors. */
export class Transport {
  readonly url: string;
  readonly #options: MayflyOptions;
  readonly #credential: string | undefined;

  constructor(options: MayflyOptions) {
    this.#options = options;
    this.url = (options.url ?? environment('MAYFLY_URL') ?? DEFAULT_URL).replace(/\/+$/, '');
    if (!SERVER_URL.test(this.url)) {
      throw new MayflyError(
        'invalid_url',
        `"${this.url}" is not the URL of a server. Write http://127.0.0.1:8025, without /v1.`,
      );
    }
    if (options.session) return;
    const key = (options.apiKey ?? environment('MAYFLY_API_KEY'))?.trim();
    if (!key || /[^\w-]/.test(key)) {
      const problem = key ? 'The API key is malformed' : 'There is no API key';
      throw new MayflyError('no_credential', `${problem}: set MAYFLY_API_KEY, or pass "apiKey".`);
    }
    this.#credential = key;
  }

  /** The same server with another credential. */
  as(apiKey: string): Transport {
    return new Transport({ ...this.#options, apiKey, session: false });
  }

  /**
   * Sends a request and repeats it where that is safe.
   * @throws ApiError, ConnectionError, or the reason of the signal
   */
  async send(operation: string, input: AnyInput = {}): Promise<unknown> {
    const { retries = DEFAULT_RETRIES, timeoutMs = DEFAULT_TIMEOUT_MS } = this.#options;
    const end = now() + (input.timeoutMs ?? timeoutMs);
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.attempt(operation, input, end - now());
      } catch (failure) {
        input.signal?.throwIfAborted();
        const pause = pauseBefore(failure, attempt, isRepeatable(operation, input));
        if (attempt <= retries && now() + pause < end) await sleep(pause, input.signal);
        else if ((await uncommon()).isDeletedBefore(operation, failure, attempt)) return undefined;
        else throw await this.errorFor(failure, attempt);
      }
    }
  }

  /** What the caller gets of whatever the last attempt threw. */
  async errorFor(failure: unknown, attempts: number): Promise<MayflyError> {
    return (await uncommon()).errorFor(failure, this.url, attempts);
  }

  /** One attempt of at most `ms`. @throws ApiError, whatever `fetch` throws, or the signal's reason */
  async attempt(operation: string, input: AnyInput, ms: number): Promise<unknown> {
    // A signal that is aborted already calls no listener.
    input.signal?.throwIfAborted();
    const controller = new AbortController();
    const abort = () => controller.abort(input.signal?.reason);
    const timer = setTimeout(() => controller.abort(new Error(`no response in ${Math.round(ms)} ms`)), ms);
    input.signal?.addEventListener('abort', abort, { once: true });
    try {
      const response = await this.open(operation, input, controller.signal);
      if (response.status === 204) return undefined;
      const isJson = /json/.test(response.headers.get('content-type') ?? '');
      // Attachments may be JSON themselves.
      if (isJson && !operation.includes('/attachments/')) return await response.json();
      return await (await uncommon()).bytesOf(response, operation);
    } finally {
      clearTimeout(timer);
      input.signal?.removeEventListener('abort', abort);
    }
  }

  /** Sends one request and returns its successful response, with the body unread. @throws ApiError */
  async open(operation: string, input: AnyInput, signal: AbortSignal | undefined): Promise<Response> {
    const { session, fetch = globalThis.fetch, headers, onRequest } = this.#options;
    const [method, template] = operation.split(' ') as [string, string];
    const path = template.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(String(input.path?.[name])));
    const { query, body } = input;
    const search = query ? (await uncommon()).searchOf(query) : '';
    const isRaw = typeof body === 'string' || body instanceof Uint8Array;
    const type = isRaw ? (await uncommon()).typeOfRaw(path) : 'application/json';
    const started = now();
    let response: Response | undefined;
    try {
      response = await fetch(`${this.url}${path}${search}`, {
        method,
        headers: {
          ...(this.#credential && { authorization: `Bearer ${this.#credential}` }),
          ...(body !== undefined && { 'content-type': type }),
          ...headers,
          ...input.headers,
        },
        body: (isRaw ? body : JSON.stringify(body)) as RequestInit['body'],
        signal,
        // Another server would not get the credential, and POST would become GET.
        redirect: 'manual',
        ...(session && { credentials: 'same-origin' }),
      } as RequestInit);
      if (response.ok) return response;
      throw await (await uncommon()).apiError(response, `${method} ${path}`);
    } finally {
      onRequest?.({
        method,
        path,
        status: response?.status,
        ms: now() - started,
        requestId: response?.headers.get('x-request-id') ?? undefined,
      });
    }
  }
}

const uncommon = () => import('./uncommon.ts');

/** Whether a second execution changes nothing. */
const isRepeatable = (operation: string, { headers }: AnyInput): boolean =>
  !operation.startsWith('POST') ||
  /\/(wait|preview|generate|expire)$/.test(operation) ||
  headers?.['idempotency-key'] !== undefined;

/** How long to wait before the next attempt, in ms; Infinity when there must not be one. */
export function pauseBefore(failure: unknown, attempt: number, isSafe = true): number {
  const backoff = Math.min(FIRST_PAUSE_MS * 2 ** (attempt - 1), LONGEST_PAUSE_MS);
  const { status, code, retryAfterMs = backoff } = (failure ?? {}) as Partial<ApiError>;
  const isTransient = !status || TRANSIENT.includes(status) || code === 'idempotency_in_progress';
  // A 429 was refused before anything was done. Proxies say "Retry-After: 0", which is no pause at all.
  return status === 429 || (isSafe && isTransient) ? Math.max(retryAfterMs, backoff) : Infinity;
}
