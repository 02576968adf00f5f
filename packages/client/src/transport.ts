import { ApiError, apiError, ConnectionError, invalid, MayflyError, NotFoundError } from './errors.ts';
import type { Operations } from './generated/api.ts';
import { clearTimeout, now, setTimeout, sleep } from './time.ts';

/** A duration in milliseconds. */
export type Milliseconds = number;

/** The result of one attempt of a request, for logs. */
export interface RequestInfo {
  method: string;
  path: string;
  /** Undefined when no response arrived. */
  status: number | undefined;
  ms: Milliseconds;
  requestId: string | undefined;
}

export interface MayflyOptions {
  /** Default: `MAYFLY_URL`, else `http://127.0.0.1:8025`. The web console passes `location.origin`. */
  url?: string | undefined;
  /** An API key, or the read token of one inbox. Default: `MAYFLY_API_KEY`; on loopback the key of `mayfly dev`. */
  apiKey?: string | undefined;
  /**
   * True authenticates with the cookies of the page instead of an Authorization header, for the web console.
   */
  session?: boolean | undefined;
  fetch?: typeof fetch | undefined;
  headers?: Record<string, string> | undefined;
  /** Limit for a request that does not wait for mail, including retries. Default: 10,000. */
  timeout?: Milliseconds | undefined;
  /** Default timeout of waits. Default: 30,000; less in test runners with shorter limits. */
  waitTimeout?: Milliseconds | undefined;
  /** How often a failed request is retried. Default: 3. Waits and streams are retried until their end. */
  retries?: number | undefined;
  /** Called after each attempt. */
  onRequest?: ((info: RequestInfo) => void) | undefined;
}

export interface RequestOptions {
  signal?: AbortSignal | undefined;
  /** For the whole request, including retries. */
  timeout?: Milliseconds | undefined;
  headers?: Record<string, string> | undefined;
}

type Input<Name extends keyof Operations> = Omit<Operations[Name], 'result'>;
/** The arguments of an operation: `path`, `query` and `body`, and the options of the request. */
export type CallInput<Name extends keyof Operations> = Input<Name> & RequestOptions;
/** The arguments may be omitted if the operation requires none. */
export type CallArguments<Name extends keyof Operations> =
  Record<never, never> extends Input<Name> ? [input?: CallInput<Name>] : [input: CallInput<Name>];

/** The arguments of any operation. */
export interface AnyInput extends RequestOptions {
  path?: Record<string, string>;
  query?: object;
  body?: unknown;
}

const DEFAULT_URL = 'http://127.0.0.1:8025';
/** A URL without user name, query and `/v1`, which the paths contain. */
const SERVER_URL = /^https?:\/\/(?!.*\/v1$)[^?#@]+$/;
/** The key that `mayfly dev` accepts from its own machine. */
const DEV_KEY = 'dev';
const LOOPBACK = /^https?:\/\/(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?:[:/]|$)/i;
const DEFAULT_TIMEOUT = 10_000;
const DEFAULT_RETRIES = 3;
/** Backoff between attempts: doubles from the first to the longest pause. */
const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 1_000;
/** Statuses of a proxy or of a stopping server, which a retry may resolve. */
const TRANSIENT = [502, 503, 504];

export const environment = (name: string): string | undefined =>
  (globalThis as { process?: { env?: Record<string, string | undefined> } }).process?.env?.[name];

/** Sends requests: credentials, deadlines, retries, errors. */
export class Transport {
  readonly url: string;
  readonly waitTimeout: Milliseconds | undefined;
  readonly #options: MayflyOptions;
  readonly #credential: string | undefined;

  constructor(options: MayflyOptions) {
    this.#options = options;
    this.waitTimeout = options.waitTimeout;
    this.url = (options.url || environment('MAYFLY_URL') || DEFAULT_URL).trim().replace(/\/+$/, '');
    if (!SERVER_URL.test(this.url)) {
      throw new MayflyError(
        'invalid_url',
        `"${this.url}" is not the URL of a server. Write it like ${DEFAULT_URL}, without /v1.`,
      );
    }
    if (options.session) return;
    const given = options.apiKey || environment('MAYFLY_API_KEY');
    const key = (given || (LOOPBACK.test(this.url) ? DEV_KEY : '')).trim();
    if (!key || /[^\w-]/.test(key)) {
      const problem = key ? 'The API key is malformed' : `There is no API key for ${this.url}`;
      throw new MayflyError('no_credential', `${problem}: set MAYFLY_API_KEY, or pass "apiKey".`);
    }
    this.#credential = key;
  }

  /** A transport for the same server with another credential. */
  as(apiKey: string): Transport {
    return new Transport({ ...this.#options, apiKey, session: false });
  }

  /**
   * Sends a request and retries it where that is safe.
   * @throws ApiError, ConnectionError, or the reason of the signal
   */
  async send(operation: string, input: AnyInput = {}): Promise<unknown> {
    const { retries = DEFAULT_RETRIES, timeout = DEFAULT_TIMEOUT } = this.#options;
    const end = now() + (input.timeout ?? timeout);
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.attempt(operation, input, end - now());
      } catch (failure) {
        input.signal?.throwIfAborted();
        const pause = pauseBefore(failure, attempt, isRepeatable(operation, input));
        if (attempt <= retries && now() + pause < end) await sleep(pause, input.signal);
        // An earlier attempt deleted it, and its response was lost.
        else if (attempt > 1 && operation.startsWith('DELETE') && failure instanceof NotFoundError)
          return undefined;
        else throw this.errorFor(failure, attempt);
      }
    }
  }

  /** All items of a list, or the newest `limit`, newest first. @param name of the array in a page */
  async list<Item extends { id: string }>(
    operation: string,
    name: string,
    options?: ListOptions,
    path?: Record<string, string>,
  ): Promise<Item[]> {
    const items: Item[] = [];
    for await (const page of this.pages<Item>(operation, name, options, path)) items.push(...page);
    return items;
  }

  /** Yields the items of a list page by page, for lists that may not fit into memory. */
  async *pages<Item extends { id: string }>(
    operation: string,
    name: string,
    { limit = Number.POSITIVE_INFINITY, ...given }: ListOptions = {},
    path: Record<string, string> = {},
  ): AsyncGenerator<Item[]> {
    const [options, query] = splitOptions(given);
    let before: string | undefined;
    for (let hasMore = true, left = limit; hasMore && left > 0; ) {
      const input = { ...options, path, query: { ...query, limit: Math.min(left, PAGE), before } };
      const page = (await this.send(operation, input)) as Record<string, Item[]> & Page;
      const items = page[name] ?? [];
      yield items;
      left -= items.length;
      hasMore = page.hasMore;
      before = page.searchedTo ?? page.before ?? items.at(-1)?.id;
    }
  }

  /** Converts the failure of the last attempt to an error for the caller. */
  errorFor(failure: unknown, attempts: number): MayflyError {
    return MayflyError.is(failure) ? failure : new ConnectionError(this.url, attempts, failure);
  }

  /**
   * Makes one attempt with the time limit `ms`.
   * @throws ApiError, an error of `fetch`, or the signal's reason
   */
  async attempt(operation: string, input: AnyInput, ms: Milliseconds): Promise<unknown> {
    // A signal that is already aborted fires no event.
    input.signal?.throwIfAborted();
    const controller = new AbortController();
    const abort = () => controller.abort(input.signal?.reason);
    const timer = setTimeout(() => controller.abort(new Error(`no response in ${Math.round(ms)} ms`)), ms);
    input.signal?.addEventListener('abort', abort, { once: true });
    try {
      const response = await this.open(operation, input, controller.signal);
      if (response.status === 204) return undefined;
      const type = response.headers.get('content-type') ?? '';
      // Attachments are bytes, even if their type is JSON or HTML.
      const isAttachment = operation.includes('/attachments/');
      if (!isAttachment && /json/.test(type)) return await response.json();
      // A page of another program on this port, or the login page of a proxy.
      if (!isAttachment && /html/.test(type)) throw await apiError(response, operation);
      if (/event-stream/.test(type)) {
        controller.abort();
        throw invalid(`${operation} is a stream without an end: use the method stream().`);
      }
      return new Uint8Array(await response.arrayBuffer());
    } finally {
      clearTimeout(timer);
      input.signal?.removeEventListener('abort', abort);
    }
  }

  /** Sends one request and returns the successful response with its body unread. @throws ApiError */
  async open(operation: string, input: AnyInput, signal: AbortSignal | undefined): Promise<Response> {
    const { session, fetch = globalThis.fetch, headers, onRequest } = this.#options;
    const [method, template] = operation.split(' ') as [string, string];
    const path = template.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(String(input.path?.[name])));
    const { query = {}, body } = input;
    const isRaw = typeof body === 'string' || body instanceof Uint8Array;
    const rawType = path.endsWith('import') ? 'application/zip' : 'message/rfc822';
    const started = now();
    let response: Response | undefined;
    try {
      response = await fetch(`${this.url}${path}${searchOf(query)}`, {
        method,
        headers: {
          ...(this.#credential && { authorization: `Bearer ${this.#credential}` }),
          ...(body !== undefined && { 'content-type': isRaw ? rawType : 'application/json' }),
          ...headers,
          ...input.headers,
        },
        body: (isRaw ? body : JSON.stringify(body)) as RequestInit['body'],
        signal,
        // Following a redirect would drop the credential and turn POST into GET.
        redirect: 'manual',
        ...(session && { credentials: 'same-origin' }),
      } as RequestInit);
      if (response.ok) return response;
      throw await apiError(response, `${method} ${path}`);
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

/** The largest page that the API returns. */
const PAGE = 200;
interface Page {
  hasMore: boolean;
  before?: string | null;
  /** Where an incomplete search ended. */
  searchedTo?: string;
}
/** Splits an argument into the request options and the rest, which is the query or body. */
export function splitOptions<Given extends RequestOptions>({ signal, timeout, headers, ...rest }: Given) {
  return [{ signal, timeout, headers }, rest] as const;
}

/** Options of a list and of its requests. */
export interface ListOptions extends RequestOptions {
  /** The largest number of items, the newest first. Default: all. */
  limit?: number | undefined;
}

/** The query string of a URL; '' if no value is defined. */
function searchOf(query: object): string {
  const defined = Object.entries(query).filter(([, value]) => value !== undefined);
  return defined.length > 0 ? `?${new URLSearchParams(defined)}` : '';
}

/** Whether the request is idempotent. */
const isRepeatable = (operation: string, { headers }: AnyInput): boolean =>
  !operation.startsWith('POST') ||
  /\/(wait|preview|generate|expire)$/.test(operation) ||
  headers?.['idempotency-key'] !== undefined;

/** Pause before the next attempt; Infinity if the request must not be retried. */
export function pauseBefore(failure: unknown, attempt: number, isSafe = true): Milliseconds {
  const backoff = Math.min(FIRST_PAUSE * 2 ** (attempt - 1), LONGEST_PAUSE);
  if (MayflyError.is(failure) && !(failure instanceof ApiError)) return Number.POSITIVE_INFINITY;
  const { status, code, retryAfter = backoff } = (failure ?? {}) as Partial<ApiError>;
  const isTransient = !status || TRANSIENT.includes(status) || code === 'idempotency_in_progress';
  // The server rejects with 429 before it does anything. "Retry-After: 0" of proxies would be no pause.
  return status === 429 || (isSafe && isTransient) ? Math.max(retryAfter, backoff) : Number.POSITIVE_INFINITY;
}
