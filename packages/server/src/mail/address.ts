import { isAscii } from 'node:buffer';
import { isIPv4, isIPv6 } from 'node:net';
import { domainToASCII } from 'node:url';

/** RFC 5321 section 4.5.3.1, RFC 1035 section 2.3.4. With angle brackets, an address has up to 256 octets. */
const MAX_LOCAL_OCTETS = 64;
const MAX_DOMAIN_OCTETS = 255;
const MAX_ADDRESS_OCTETS = 254;
const MAX_LABEL_OCTETS = 63;

export interface ParsedAddress {
  /** Without quotes and in Unicode form NFC. Upper case is kept (RFC 5321 section 2.4). */
  local: string;
  /** In lower case. International names are in ASCII form, and address literals keep their brackets. */
  domain: string;
}

const DOT_STRING =
  /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~\u{80}-\u{10FFFF}-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~\u{80}-\u{10FFFF}-]+)*$/u;
const QUOTED = /^"((?:[ !#-[\]-~\u{80}-\u{10FFFF}]|\\[ -~])*)"$/u;
/** No mail address may contain these characters: controls, line separators, lone surrogates. */
const NEVER = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/u;
const LABEL = /^[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?$/;
/** A source route such as `@one,@two:`. Servers accept and ignore it (RFC 5321 section 4.1.1.3). */
export const SOURCE_ROUTE = /^@[^\s:@,]+(?:,@[^\s:@,]+)*:/;

function readLocal(text: string): string | undefined {
  if (Buffer.byteLength(text) > MAX_LOCAL_OCTETS) return undefined;
  if (DOT_STRING.test(text)) return text.normalize('NFC');
  const quoted = QUOTED.exec(text)?.[1];
  return quoted?.replaceAll(/\\(.)/g, '$1').normalize('NFC');
}

/** IPv4 or IPv6 literals (RFC 5321 section 4.1.3). Others are rejected: no other type is registered. */
const isAddressLiteral = (inner: string): boolean =>
  isIPv4(inner) || (/^ipv6:[^%]*$/i.test(inner) && isIPv6(inner.slice('ipv6:'.length)));

function readDomain(text: string): string | undefined {
  if (text.startsWith('[') && text.endsWith(']')) {
    return isAddressLiteral(text.slice(1, -1)) ? text.toLowerCase() : undefined;
  }
  const domain = isAscii(Buffer.from(text)) ? text.toLowerCase() : domainToASCII(text.normalize('NFC'));
  if (domain.length === 0 || domain.length > MAX_DOMAIN_OCTETS) return undefined;
  const labels = domain.split('.');
  return labels.every((label) => label.length <= MAX_LABEL_OCTETS && LABEL.test(label)) ? domain : undefined;
}

function atSign(path: string): number {
  if (!path.startsWith('"')) return path.indexOf('@');
  for (let i = 1; i < path.length; i++) {
    if (path.charAt(i) === '\\') i++;
    else if (path.charAt(i) === '"') return path.charAt(i + 1) === '@' ? i + 1 : -1;
  }
  return -1;
}

/**
 * Parses an SMTP path (RFC 5321 section 4.1.2, RFC 6531) with or without angle brackets. Rejects comments
 * and folding white space, which only headers allow. @returns undefined if `text` is not exactly one address
 */
export function parseAddress(text: string, options: { smtputf8?: boolean } = {}): ParsedAddress | undefined {
  let path = text;
  if (path.startsWith('<')) {
    if (!path.endsWith('>')) return undefined;
    path = path.slice(1, -1);
    path = path.slice(SOURCE_ROUTE.exec(path)?.[0].length ?? 0);
  }
  const bytes = Buffer.from(path);
  if (NEVER.test(path) || bytes.length > MAX_ADDRESS_OCTETS) return undefined;
  if (!options.smtputf8 && !isAscii(bytes)) return undefined;
  const at = atSign(path);
  if (at < 1) return undefined;
  const local = readLocal(path.slice(0, at));
  const domain = readDomain(path.slice(at + 1));
  return local === undefined || domain === undefined ? undefined : { local, domain };
}

export const domainOf = (address: string): string => address.slice(address.lastIndexOf('@') + 1);

/** Returns the address that identifies an inbox: lower case, without `+tag`, quoted only if necessary. */
export function inboxAddress(parsed: ParsedAddress): string {
  const plus = parsed.local.indexOf('+');
  const base = plus > 0 ? parsed.local.slice(0, plus) : parsed.local;
  const local = base.toLowerCase().normalize('NFC');
  const written = DOT_STRING.test(local) ? local : `"${local.replaceAll(/["\\]/g, '\\$&')}"`;
  return `${written}@${parsed.domain}`;
}

const RESERVED_LOCAL_PARTS: ReadonlySet<string> = new Set(
  (
    'abuse ftp hostmaster info list list-request mailer-daemon marketing news noc postmaster ' +
    'root sales security support usenet uucp webmaster www'
  ).split(' '),
);

const CHOSEN = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/;

export const isChosenLocalPart = (localPart: string): boolean =>
  localPart.length <= MAX_LOCAL_OCTETS && CHOSEN.test(localPart);

export const isReservedLocalPart = (localPart: string): boolean =>
  RESERVED_LOCAL_PARTS.has(localPart.toLowerCase());
