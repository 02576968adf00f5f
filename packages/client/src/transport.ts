import { ApiError, apiError, ConnectionError, invalid, MayflyError, NotFoundError } from './errors.ts';
import type { Operations } from './generated/api.ts';
import { clearTimeout, now, setTimeout, sleep } from './time.ts';

/** Every time span of this library. */
export type Milliseconds = number;

/** What happened to one attempt of a request, for logs. */
export interface RequestInfo {
  method: string;
  path: string;
  /** Undefined when no response arrived. */
  status: number | undefined;
  ms: Milliseconds;
  requestId: string | undefined;
}

export interface MayflyOptions {
  /** Default: `MAYFLY_URL`, else `http://127.0.0.1:8025`. A page of the server itself passes `location.origin`. */
  url?: string | undefined;
  /** An API key, or the read token of one inbox. Default: `MAYFLY_API_KEY`; on loopback the key of `mayfly dev`. */
  apiKey?: string | undefined;
  /** True sends no Authorization header but the cookies of the page, for the web console. */
  session?: boolean | undefined;
  fetch?: typeof fetch | undefined;
  headers?: Record<string, string> | undefined;
  /** For a request that does not wait for mail, its retries included. Default: 10,000. */
  timeout?: Milliseconds | undefined;
  /** For waits that name none. Default: 30,000; in test runners less. */
  waitTimeout?: Milliseconds | undefined;
  /** How often a failed request is repeated. Default: 3. Waits and streams go on until their end. */
  retries?: number | undefined;
  /** Called after each attempt. */
  onRequest?: ((info: RequestInfo) => void) | undefined;
}

export interface RequestOptions {
  signal?: AbortSignal | undefined;
  /** For the whole request, retries included. */
  timeout?: Milliseconds | undefined;
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
/** The key that `mayfly dev` accepts from programs of its own machine. */
const DEV_KEY = 'dev';
const LOOPBACK = /^https?:\/\/(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?:[:/]|$)/i;
const DEFAULT_TIMEOUT = 10_000;
const DEFAULT_RETRIES = 3;
/** Pauses between attempts double up to the longest. */
const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 1_000;
/** Not responses of our server about this request, but of what stands before it, or of its end. */
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

  /** The same server with another credential. */
  as(apiKey: string): Transport {
    return new Transport({ ...this.#options, apiKey, session: false });
  }

  /**
   * Sends a request and repeats it where that is safe.
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
        // The first of several attempts deleted it, and only its response was lost.
        else if (attempt > 1 && operation.startsWith('DELETE') && failure instanceof NotFoundError)
          return undefined;
        else throw this.errorFor(failure, attempt);
      }
    }
  }

  /** All items of a list, newest first, or as many as `limit`. @param name of the array in a page */
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

  /** The same page by page, for lists that need not fit into memory. */
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

  /** What the caller gets of whatever the last attempt threw. */
  errorFor(failure: unknown, attempts: number): MayflyError {
    return MayflyError.is(failure) ? failure : new ConnectionError(this.url, attempts, failure);
  }

  /** One attempt of at most `ms`. @throws ApiError, whatever `fetch` throws, or the signal's reason */
  async attempt(operation: string, input: AnyInput, ms: Milliseconds): Promise<unknown> {
    // A signal that is aborted already calls no listener.
    input.signal?.throwIfAborted();
    const controller = new AbortController();
    const abort = () => controller.abort(input.signal?.reason);
    const timer = setTimeout(() => controller.abort(new Error(`no response in ${Math.round(ms)} ms`)), ms);
    input.signal?.addEventListener('abort', abort, { once: true });
    try {
      const response = await this.open(operation, input, controller.signal);
      if (response.status === 204) return undefined;
      const type = response.headers.get('content-type') ?? '';
      // Attachments may be of any type themselves.
      const isAttachment = operation.includes('/attachments/');
      if (!isAttachment && /json/.test(type)) return await response.json();
      // A page of another program on that port, or the login page of a proxy.
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

  /** Sends one request and returns its successful response, with the body unread. @throws ApiError */
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
        // Another server would not get the credential, and POST would become GET.
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

/** The longest page of lists. */
const PAGE = 200;
interface Page {
  hasMore: boolean;
  before?: string | null;
  /** Of a search that has not looked at everything. */
  searchedTo?: string;
}
/** The options of a request, and what is left: its query or body. */
export function splitOptions<Given extends RequestOptions>({ signal, timeout, headers, ...rest }: Given) {
  return [{ signal, timeout, headers }, rest] as const;
}

/** The query of a list, with the options of its requests. */
export interface ListOptions extends RequestOptions {
  /** At most so many, the newest. Default: all. */
  limit?: number | undefined;
}

/** A query as the end of a URL; '' when nothing is defined. */
function searchOf(query: object): string {
  const defined = Object.entries(query).filter(([, value]) => value !== undefined);
  return defined.length > 0 ? `?${new URLSearchParams(defined)}` : '';
}

/** Whether a second execution changes nothing. */
const isRepeatable = (operation: string, { headers }: AnyInput): boolean =>
  !operation.startsWith('POST') ||
  /\/(wait|preview|generate|expire)$/.test(operation) ||
  headers?.['idempotency-key'] !== undefined;

/** How long to wait before the next attempt; Infinity when there must not be one. */
export function pauseBefore(failure: unknown, attempt: number, isSafe = true): Milliseconds {
  const backoff = Math.min(FIRST_PAUSE * 2 ** (attempt - 1), LONGEST_PAUSE);
  if (MayflyError.is(failure) && !(failure instanceof ApiError)) return Number.POSITIVE_INFINITY;
  const { status, code, retryAfter = backoff } = (failure ?? {}) as Partial<ApiError>;
  const isTransient = !status || TRANSIENT.includes(status) || code === 'idempotency_in_progress';
  // A 429 was refused before anything was done. Proxies say "Retry-After: 0", which is no pause at all.
  return status === 429 || (isSafe && isTransient) ? Math.max(retryAfter, backoff) : Number.POSITIVE_INFINITY;
}
