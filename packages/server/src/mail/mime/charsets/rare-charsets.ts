import { createRequire } from 'node:module';
import { decodeHz, decodeIso2022Kr, decodeUtf7 } from './seven-bit-charsets.ts';

/*
 * Charsets that the platform does not know because browsers dropped them: those in tables of a library, and
 * three seven-bit ones.
 */

/** Decodes bytes of one charset; never throws, and what is no character becomes U+FFFD. */
export type CharsetDecoder = (bytes: Buffer) => string;

/** The library's part that is used here. */
interface CharsetLibrary {
  encodingExists(name: string): boolean;
  decode(bytes: Buffer, name: string): string;
}

const require = createRequire(import.meta.url);
let library: CharsetLibrary | undefined;

/** Loaded when the first mail needs it, for it costs every start 5 ms and its tables more; no mail of a test has. */
function charsetLibrary(): CharsetLibrary {
  library ??= require('iconv-lite') as CharsetLibrary;
  return library;
}

/** Names of the library that are transfer encodings. */
const NO_CHARSET = /^(?:hex|base64|binary)$/;

/** @param name lower case, letters and digits only, such as `cp850` */
export function rareCharset(name: string): CharsetDecoder | undefined {
  if (name === 'iso2022kr' || name === 'csiso2022kr') return decodeIso2022Kr;
  if (name === 'hz' || name === 'hzgb2312') return decodeHz;
  if (name === 'utf7' || name === 'unicode11utf7') return decodeUtf7;
  if (NO_CHARSET.test(name) || !charsetLibrary().encodingExists(name)) return undefined;
  return (bytes) => charsetLibrary().decode(bytes, name);
}
