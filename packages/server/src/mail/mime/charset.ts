import { isUtf8 } from 'node:buffer';

/*
 * What mail programs make of text whose charset is not told, or told wrongly: bytes that are valid UTF-8
 * are UTF-8, for no other text looks so by chance; all else is windows-1252, which gives each byte a letter.
 */

const FALLBACK = 'windows-1252';
/** Names that promise ASCII: with 8-bit bytes the promise is broken. */
const ASCII = /^(?:us-)?ascii$|^ansi_x3\.4-1968$/i;
/** How far into a page browsers look for its charset, bytes. */
const META_BYTES = 1_024;
const META_CHARSET = /<meta[^>]{1,200}?charset\s*=\s*["']?([\w:.-]{2,40})/i;

/** Names that the platform knows, once they were met: there are some two hundred. */
const known = new Set<string>();

function isKnown(name: string): boolean {
  const label = name.toLowerCase();
  if (known.has(label)) return true;
  try {
    new TextDecoder(label);
  } catch {
    return false;
  }
  known.add(label);
  return true;
}

function charsetOfPage(bytes: Uint8Array): string | undefined {
  const start = Buffer.from(bytes.subarray(0, META_BYTES)).toString('latin1');
  const name = META_CHARSET.exec(start)?.[1];
  return name !== undefined && isKnown(name) ? name : undefined;
}

/**
 * The charset to read a body in.
 * @param declared by its Content-Type; '' for none
 * @returns a name, or undefined to read it as declared
 */
export function charsetOf(declared: string, bytes: Uint8Array, isPage: boolean): string | undefined {
  const name = declared.trim();
  const isVague = name === '' || ASCII.test(name);
  if (!isVague && isKnown(name)) return undefined;
  if (isUtf8(bytes)) return 'utf-8';
  // The MIME library may know the name, such as that of a code page.
  if (!isVague) return undefined;
  return (isPage ? charsetOfPage(bytes) : undefined) ?? FALLBACK;
}

/** A line of a header in UTF-8 (RFC 6532); one that is not is taken for windows-1252. */
export function utf8Line(line: Uint8Array): Uint8Array {
  return isUtf8(line) ? line : new TextEncoder().encode(new TextDecoder(FALLBACK).decode(line));
}

/** Encoded words (RFC 2047) whose charset says nothing: written by gateways that did not know it either. */
export const VAGUE_WORD =
  /=\?(?:(?:us-)?ascii|ansi_x3\.4-1968|(?:x-)?unknown(?:-8bit)?|8bit)(?=(?:\*[\w-]*)?\?[bq]\?)/gi;
