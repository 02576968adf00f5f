import { createHash, createHmac, randomBytes, randomFillSync, randomInt } from 'node:crypto';

/** What an id names; the prefix is part of the id (see the interface's section on identifiers). */
export type IdPrefix = 'inb' | 'msg' | 'att' | 'whk' | 'dlv' | 'evt' | 'key' | 'acc' | 'wai';

/** Crockford's base 32 in lower case: its letters are in ASCII order, so byte order is time order. */
const BASE32 = '0123456789abcdefghjkmnpqrstvwxyz';
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** 48 bits of milliseconds need ten letters of five bits. */
const TIME_LETTERS = 10;
/** 80 random bits, as in UUIDv7 and ULID: two ids of one millisecond do not meet. */
const RANDOM_BYTES = 10;
/** The latest time that an id can hold, epoch milliseconds. */
export const MAX_TIME = 2 ** 48 - 1;

/** 27 base-62 letters hold 160.7 random bits; the decisions ask for at least 160. */
const SECRET_LETTERS = 27;
const CHECKSUM_LETTERS = 6;

function timePart(time: number): string {
  if (!Number.isInteger(time) || time < 0 || time > MAX_TIME) throw new RangeError(`not a time: ${time}`);
  let rest = time;
  let letters = '';
  for (let i = 0; i < TIME_LETTERS; i++) {
    letters = BASE32.charAt(rest % 32) + letters;
    rest = Math.floor(rest / 32);
  }
  return letters;
}

function randomPart(random: Uint8Array): string {
  let letters = '';
  for (let i = 0; i < random.length; i += 5) {
    // Five bytes are eight letters.
    let bits = 0n;
    for (let j = 0; j < 5; j++) bits = (bits << 8n) | BigInt(random[i + j] ?? 0);
    for (let j = 7; j >= 0; j--) letters += BASE32.charAt(Number((bits >> BigInt(5 * j)) & 31n));
  }
  return letters;
}

/** Drawn for many ids at a time: ten bytes of their own cost more than the rest of an id. */
const pool = new Uint8Array(RANDOM_BYTES * 400);
let drawn = pool.length;

function drawRandom(): Uint8Array {
  if (drawn === pool.length) {
    randomFillSync(pool);
    drawn = 0;
  }
  drawn += RANDOM_BYTES;
  return pool.subarray(drawn - RANDOM_BYTES, drawn);
}

/**
 * A new id such as `msg_01jd…`: prefix, ten letters of time, sixteen of chance. Ids of one kind sort
 * as strings by their time (the layout of UUIDv7, RFC 9562 section 5.7, in 26 URL-safe letters).
 * @param now epoch milliseconds that the id carries
 * @param random ten random bytes, given by tests
 */
export function newId(prefix: IdPrefix, now: number, random: Uint8Array = drawRandom()): string {
  return `${prefix}_${timePart(now)}${randomPart(random)}`;
}

/** The beginning of all ids of that kind from a time on: it sorts before them. @param time epoch milliseconds */
export const firstIdAt = (prefix: IdPrefix, time: number): string => `${prefix}_${timePart(time)}`;

/** A new id of an SMTP session: sixteen letters of hexadecimal, all of them random. */
export function newSessionId(): string {
  return Buffer.from(drawRandom()).toString('hex', 0, 8);
}

const ID_BODY = /^[0-7][0-9a-hjkmnp-tv-z]{25}$/;

/** True when `value` has the form of an id of that kind; says nothing about its existence. */
export function isId(prefix: IdPrefix, value: string): boolean {
  return value.startsWith(`${prefix}_`) && ID_BODY.test(value.slice(prefix.length + 1));
}

/** The epoch milliseconds inside an id made by {@link newId}; `undefined` when it has another form. */
export function timeOfId(prefix: IdPrefix, id: string): number | undefined {
  if (!isId(prefix, id)) return undefined;
  let time = 0;
  for (const letter of id.slice(prefix.length + 1, prefix.length + 1 + TIME_LETTERS)) {
    time = time * 32 + BASE32.indexOf(letter);
  }
  return time;
}

/** The kinds of credential: an account's API key, an inbox's read token, a session of the console. */
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

function checksum(text: string): string {
  return base62(createHash('sha256').update(text).digest().subarray(0, 8), CHECKSUM_LETTERS);
}

function credential(prefix: CredentialPrefix, entropy: Uint8Array): string {
  const body = `${prefix}_${base62(entropy, SECRET_LETTERS)}`;
  return body + checksum(body);
}

/** A new random credential; only its {@link hashCredential} may be stored. */
export function newCredential(prefix: CredentialPrefix): string {
  // 32 bytes against the 20.1 used: the bias of taking them modulo 62^27 is below 2^-95.
  return credential(prefix, randomBytes(32));
}

/**
 * The read token of an inbox as a function of the Idempotency-Key that made it, so that a repeated request
 * returns the same token although only hashes are stored, whichever credential of the account repeats it.
 * @param idempotencyKey of which the server stores only a hash
 * @param nonce random, and stored
 */
export function deriveReadToken(idempotencyKey: string, nonce: string): string {
  return credential(
    'mft',
    createHmac('sha256', nonce).update(`mayfly read token ${idempotencyKey}`).digest(),
  );
}

/**
 * False for a credential that was mistyped or cut, found without a look at the database. Keys that
 * an operator chose (no `mfk_` or `mft_` in front) carry no checksum and pass.
 */
export function hasValidChecksum(value: string): boolean {
  if (!/^mf[kt]_/.test(value)) return true;
  if (!/^mf[kt]_[0-9A-Za-z]{33}$/.test(value)) return false;
  const body = value.slice(0, -CHECKSUM_LETTERS);
  return checksum(body) === value.slice(-CHECKSUM_LETTERS);
}

/** SHA-256 in hex: what is stored of a credential. A random secret needs no slow hash. */
export function hashCredential(value: string): string {
  return createHash('sha256').update(value).digest('hex');
}

/** A random number in [0, 1), for waits that must not meet; no secret hangs on it. */
export function randomFraction(): number {
  return randomInt(2 ** 32) / 2 ** 32;
}
