import type { api } from '@mayfly/client';

/** A response of Mayfly's API. */
export interface Answer {
  status: number;
  /** Names in lower case. */
  headers: Readonly<Record<string, string | undefined>>;
  body: Buffer;
}

/** A request to Mayfly's API, with the credential of the caller. */
export interface Asked {
  method: string;
  /** Path with its query string. */
  path: string;
  body?: string | Uint8Array;
  /** Media type of the body. */
  type?: string;
  /** Aborts a held request. */
  signal?: AbortSignal | undefined;
}

type Input<Name extends keyof api.Operations> = Omit<api.Operations[Name], 'result'> & Pick<Asked, 'signal'>;
type AnyInput = Pick<Asked, 'signal'> & { path?: Record<string, string>; query?: object; body?: unknown };

/** Mayfly's API rejected a request. */
export class Refused extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** What both programs reply for an unknown path or id. */
export const NOT_FOUND = '404 page not found';

/** Quotes words as one phrase for a search of the API. */
export const phrase = (words: string): string => `"${words.replaceAll(/["\\]/g, '\\$&')}"`;

/** Mayfly's API with the permissions of one caller. */
export class Api {
  readonly #send: (asked: Asked) => Promise<Answer>;

  constructor(send: (asked: Asked) => Promise<Answer>) {
    this.#send = send;
  }

  /** @throws Refused with the message of the API */
  async call<Name extends keyof api.Operations>(
    operation: Name,
    input: Input<Name>,
  ): Promise<api.Operations[Name]['result']> {
    const { headers, body } = await this.answer(operation, input);
    const isJson = headers['content-type']?.startsWith('application/json') ?? false;
    return (isJson ? JSON.parse(String(body)) : body) as api.Operations[Name]['result'];
  }

  /** Returns the whole response, for bytes whose type matters. @throws Refused */
  async answer<Name extends keyof api.Operations>(operation: Name, input: Input<Name>): Promise<Answer> {
    const { path = {}, query = {}, body, signal } = input as AnyInput;
    const [method = '', template = ''] = operation.split(' ');
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) search.set(name, String(value));
    const isRaw = typeof body === 'string' || body instanceof Uint8Array;
    const answer = await this.#send({
      method,
      signal,
      path: `${template.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(path[name] ?? ''))}?${search}`,
      ...(body !== undefined && {
        body: isRaw ? body : JSON.stringify(body),
        type: isRaw ? 'message/rfc822' : 'application/json',
      }),
    });
    if (answer.status < 400) return answer;
    throw refusalOf(answer);
  }
}

/** Converts an error response (400 or above). */
export function refusalOf({ status, body }: Pick<Answer, 'status' | 'body'>): Refused {
  // The imitated programs know no ended ids, only unknown ones.
  if (status === 404 || status === 410) return new Refused(404, NOT_FOUND);
  return new Refused(status, (JSON.parse(String(body)) as api.Problem).detail);
}
