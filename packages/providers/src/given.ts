import { type Call, Refused, type Reply } from './provider.ts';

/** Untrusted JSON object: fields may be missing or have wrong types. */
export type Given = Readonly<Record<string, unknown>>;

export const isGiven = (value: unknown): value is Given =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The value if it is an object, else an empty object. */
export const objectOf = (value: unknown): Given => (isGiven(value) ? value : {});

/** @returns undefined for invalid JSON */
export function parseJson(body: Uint8Array | string): unknown {
  try {
    return JSON.parse(typeof body === 'string' ? body : Buffer.from(body).toString());
  } catch {
    return undefined;
  }
}

/** A JSON response. */
export const json = (value: unknown, status = 200): Reply => ({
  status,
  type: 'application/json',
  body: JSON.stringify(value),
});

/** Longest list: more than any provider allows. Lists are processed on the main thread. */
const MAX_ITEMS = 1_000;

/**
 * A list unchanged, a single value as a list of one, nothing as an empty list. @throws Refused 400 if it is
 * too long
 */
export function listOf(value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) return [value];
  if (value.length <= MAX_ITEMS) return value;
  throw new Refused(400, `A list has ${value.length} items, and may have ${MAX_ITEMS}.`);
}

export const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** @returns undefined for invalid base64 */
export function bytesOf(base64: string): Buffer | undefined {
  const letters = base64.replace(/[\r\n]/g, '');
  return BASE64.test(letters) ? Buffer.from(letters, 'base64') : undefined;
}

export interface Mailbox {
  name: string;
  address: string;
}

const ADDRESS = /^[^\s@<>,;:"()[\]\\]+@[^\s@<>,;:"()[\]\\]+$/;
const NAMED = /^(?:"((?:[^"\\]|\\.)*)"|([^"<>]*?)) *<([^<>]*)>$/;
/** Longest mailbox: an address of 320 characters, and a name. */
const MAX_MAILBOX_LENGTH = 1_000;

/** Parses `ada@example.com` or `Ada <ada@example.com>`. @returns undefined for anything else */
export function mailboxOf(value: unknown): Mailbox | undefined {
  const text = textOf(value)?.trim();
  // Control characters could end the header field.
  if (text === undefined || text.length > MAX_MAILBOX_LENGTH || /\p{Cc}/u.test(text)) return undefined;
  if (ADDRESS.test(text)) return { name: '', address: text };
  const [, quoted, plain = '', address = ''] = NAMED.exec(text) ?? [];
  return ADDRESS.test(address) ? { name: quoted?.replace(/\\(.)/g, '$1') ?? plain, address } : undefined;
}

const FIELD_NAME = /^[!-9;-~]{1,100}$/;

/**
 * Whether a header field can be added unchanged: a valid name (RFC 5322 section 2.2), and no line break or
 * NUL in the value.
 */
export const isField = (name: string, value: string): boolean =>
  FIELD_NAME.test(name) && !/[\r\n\0]/.test(value);

/** Header fields that requests set by properties and not as custom headers. */
export const OWN_FIELD = /^(?:from|to|cc|bcc|reply-to|subject|message-id|mime-version|content-.*)$/i;

export interface Field {
  name: string;
  value: string;
}

/** Amazon SES's limit; only a few short fields are needed in events. */
const MAX_FIELDS_LENGTH = 10_000;

/** The first header fields of a mail, within the size limit for events. */
export function fieldsForEvents(fields: readonly Field[]): Field[] {
  let length = 0;
  return fields.filter(({ name, value }) => {
    length += name.length + value.length;
    return length <= MAX_FIELDS_LENGTH;
  });
}

/** A rejection with the provider's name for the error. */
export class NamedRefusal extends Refused {
  readonly kind: string;

  constructor(status: number, kind: string, message: string) {
    super(status, message);
    this.kind = kind;
  }
}

/**
 * The password of basic authentication (RFC 7617), which some providers' SDKs use for the key; undefined
 * without one.
 */
export function basicPassword({ authorization = '' }: Call['headers']): string | undefined {
  const encoded = /^Basic +(.*)$/i.exec(authorization)?.[1];
  return encoded === undefined
    ? undefined
    : Buffer.from(encoded, 'base64').toString().split(':').slice(1).join(':');
}
