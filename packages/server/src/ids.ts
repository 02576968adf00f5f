import { createHash, createHmac, randomBytes, randomInt, randomUUID } from 'node:crypto';

export type IdPrefix = 'inb' | 'msg' | 'att' | 'whk' | 'dlv' | 'evt' | 'key' | 'acc' | 'wai' | 'out';

/** Crockford's base 32, in ASCII order, so that ids sort by time. */
const BASE32 = '0123456789abcdefghjkmnpqrstvwxyz';
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

const TIME_LETTERS = 10;
export const MAX_TIME = 2 ** 48 - 1;

/** The random part of a credential: 160.7 bits in base 62. */
const SECRET_LETTERS = 27;
const CHECKSUM_LETTERS = 6;

function base32(value: number, letters: number): string {
  let rest = value;
  let text = '';
  for (let i = 0; i < letters; i++) {
    text = BASE32.charAt(rest % 32) + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}

function timePart(time: number): string {
  if (!Number.isInteger(time) || time < 0 || time > MAX_TIME) throw new RangeError(`not a time: ${time}`);
  return base32(time, TIME_LETTERS);
}

/** Makes an id such as `msg_01jd…`: a time and 80 random bits, as in a ULID. @param now epoch milliseconds */
export function newId(prefix: IdPrefix, now: number): string {
  // Faster than `randomBytes`, because Node.js generates the random bytes of many UUIDs at once.
  const uuid = randomUUID();
  const first = Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 11), 16);
  const second = Number.parseInt(uuid.slice(24, 34), 16);
  return `${prefix}_${timePart(now)}${base32(first, 8)}${base32(second, 8)}`;
}

/** Returns an id that sorts before all ids that are made at `time` or later. @param time epoch milliseconds */
export const firstIdAt = (prefix: IdPrefix, time: number): string => `${prefix}_${timePart(time)}`;

export const newUuid = (): string => randomUUID();

export const newSessionId = (): string => randomBytes(8).toString('hex');

const ID_BODY = /^[0-7][0-9a-hjkmnp-tv-z]{25}$/;

export const isId = (prefix: IdPrefix, value: string): boolean =>
  value.startsWith(`${prefix}_`) && ID_BODY.test(value.slice(prefix.length + 1));

/** Epoch milliseconds of an id made by {@link newId}; undefined for any other text. */
export function timeOfId(prefix: IdPrefix, id: string): number | undefined {
  if (!isId(prefix, id)) return undefined;
  let time = 0;
  for (const letter of id.slice(prefix.length + 1, prefix.length + 1 + TIME_LETTERS)) {
    time = time * 32 + BASE32.indexOf(letter);
  }
  return time;
}

export type CredentialPrefix = 'mfk' | 'mft' | 'mfs';

function base62(bytes: Uint8Array, letters: number): string {
  let value = BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
  let text = '';
  for (let i = 0; i < letters; i++) {
    text += BASE62.charAt(Number(value % 62n));
    value /= 62n;
  }
  return text;
}

const checksum = (text: string): string =>
  base62(createHash('sha256').update(text).digest().subarray(0, 8), CHECKSUM_LETTERS);

function credential(prefix: CredentialPrefix, entropy: Uint8Array): string {
  const body = `${prefix}_${base62(entropy, SECRET_LETTERS)}`;
  return body + checksum(body);
}

/** Makes a new secret. Never store it, only its {@link hashCredential}. */
export function newCredential(prefix: CredentialPrefix): string {
  // More than the 20.1 bytes that are needed, so that the bias of the modulo 62^27 is below 2^-95.
  return credential(prefix, randomBytes(32));
}

/** Deterministic, so that a repeated request returns the same token. @param nonce random, stored with the request */
export function deriveReadToken(idempotencyKey: string, nonce: string): string {
  return credential(
    'mft',
    createHmac('sha256', nonce).update(`mayfly read token ${idempotencyKey}`).digest(),
  );
}

/** False if an mfk_ or mft_ credential has a typing error. True for other texts, which have no checksum. */
export function hasValidChecksum(value: string): boolean {
  if (!/^mf[kt]_/.test(value)) return true;
  if (!/^mf[kt]_[0-9A-Za-z]{33}$/.test(value)) return false;
  const body = value.slice(0, -CHECKSUM_LETTERS);
  return checksum(body) === value.slice(-CHECKSUM_LETTERS);
}

/** SHA-256 in hex, which is stored instead of the credential. Random secrets need no slow hash. */
export const hashCredential = (value: string): string => createHash('sha256').update(value).digest('hex');

/** Random float in [0, 1) for jitter. Not for secrets. */
export const randomFraction = (): number => randomInt(2 ** 32) / 2 ** 32;
