import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { AppError, codeOf } from '../../errors.ts';
import { quoted } from '../../text/nearest.ts';
import { type Cidr, isInside } from '../../text/networks.ts';
import type { Resolve } from './resolve.ts';

/* Checks webhook addresses at registration, and again on each connection, because DNS may have changed. */

export interface GuardSettings {
  allow: readonly Cidr[];
  resolve: Resolve;
  /** Whether errors name the resolved address. Off by default: otherwise clients could probe internal DNS. */
  namesAddresses?: boolean;
}

/** Some servers and proxies truncate or reject longer URLs, although RFC 9110 section 4.1 recommends 8,000. */
export const MAX_URL_LENGTH = 2048;

/** Ports that the Fetch standard blocks, and ports of servers that would run an HTTP body as commands. */
const REFUSED_PORTS: ReadonlySet<number> = new Set([
  1719, 1720, 1723, 2049, 2525, 3659, 4045, 4190, 5060, 5061, 6000, 6379, 6566, 6665, 6666, 6667, 6668, 6669,
  6679, 6697, 10080, 11211,
]);

/** The only range allocated for global unicast (RFC 4291 section 2.4, IANA registry). */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');

class AddressRefusedError extends Error {
  override readonly name = 'AddressRefusedError';
  readonly code = 'ERR_ADDRESS_REFUSED';
}

/** Public addresses and those in `allow`. IPv6 forms of IPv4 addresses (mapped, NAT64, 6to4 ...) are not public. */
export function isAllowedAddress(ip: string, allow: readonly Cidr[]): boolean {
  if (isIP(ip) === 0 || ip.includes('%')) return false;
  return isPublic(ipaddr.parse(ip)) || allow.some((network) => isInside(network, ip));
}

const isPublic = (address: Cidr['address']): boolean =>
  address.range() === 'unicast' &&
  (address.kind() === 'ipv4' || (address.match(GLOBAL_UNICAST) && !isIsatap(address)));

/** RFC 5214 section 6.1: the interface identifier is 0000:5efe or 0200:5efe, then an IPv4 address. */
function isIsatap(address: Cidr['address']): boolean {
  const bytes = address.toByteArray();
  return ((bytes[8] ?? 0) & 0xfd) === 0 && bytes[9] === 0 && bytes[10] === 0x5e && bytes[11] === 0xfe;
}

/** Checks a webhook's URL and all addresses of its host. @throws AppError `webhook_url_refused` */
export async function checkUrl(text: string, settings: GuardSettings): Promise<string> {
  const url = readUrl(text);
  try {
    requireAllowedLiteral(url, settings.allow);
    if (isIP(hostOf(url)) === 0) await findAllowed(url.hostname, settings);
  } catch (cause) {
    if (cause instanceof AddressRefusedError) throw refused(cause.message, cause);
    const reason = `The host name ${quoted(url.hostname)} could not be looked up: ${lookupFailure(cause)}.`;
    throw refused(`${reason} Check the name.`, cause);
  }
  return url.href;
}

/** The part of {@link checkUrl} that needs no network. @throws AppError `webhook_url_refused` */
export function readUrl(text: string): URL {
  const problem = problemOf(text, URL.parse(text));
  if (problem !== undefined) throw refused(problem);
  return new URL(text);
}

function problemOf(text: string, url: URL | null): string | undefined {
  if (text.length > MAX_URL_LENGTH)
    return `The webhook URL has ${text.length} characters, more than the limit of ${MAX_URL_LENGTH}.`;
  // The URL parser silently removes some of these characters. The checked URL would differ from the text.
  if (/[\p{Cc}\s\\]/u.test(text))
    return 'The webhook URL must not contain white space, control characters or backslashes. Percent-encode them.';
  if (!url) return `${shownUrl(text)} is not an absolute URL such as "https://example.com/hook".`;
  const { protocol, port, href } = url;
  if (protocol !== 'https:' && protocol !== 'http:')
    return `The webhook URL must begin with https:// or http://, not ${quoted(protocol)}.`;
  if (url.username !== '' || url.password !== '')
    return 'The webhook URL must not contain a user name or password. Verify the signature of webhooks instead.';
  if (!['', '80', '443'].includes(port) && (Number(port) < 1024 || REFUSED_PORTS.has(Number(port))))
    return `Port ${port} is not allowed for webhooks. Use 80, 443, or a port from 1024 up that no other known protocol uses.`;
  // Percent-encoding can lengthen the URL.
  if (href.length > MAX_URL_LENGTH)
    return `The webhook URL has ${href.length} characters when percent-encoded, more than the limit of ${MAX_URL_LENGTH}.`;
  return undefined;
}

/** The URL for error messages, without parts that may contain a secret. */
const shownUrl = (text: string): string =>
  text.includes('@') ? 'The given text' : quoted(text.replace(/[?#].*/s, '…'));

const refused = (sentence: string, cause?: unknown): AppError =>
  new AppError('webhook_url_refused', sentence, {}, { cause });

const hostOf = (url: URL): string => url.hostname.replace(/^\[(.*)\]$/, '$1');

export function requireAllowedLiteral(url: URL, allow: readonly Cidr[]): void {
  const host = hostOf(url);
  if (isIP(host) === 0 || isAllowedAddress(host, allow)) return;
  throw new AddressRefusedError(`The address ${host} is not public. ${howToAllow(host)}`);
}

async function findAllowed(host: string, settings: GuardSettings): Promise<string[]> {
  const { allow, resolve, namesAddresses = false } = settings;
  const addresses = await resolve(host);
  const name = quoted(host);
  if (addresses.length === 0) throw new AddressRefusedError(`The host name ${name} has no address.`);
  const wrong = addresses.find((address) => !isAllowedAddress(address, allow));
  if (wrong === undefined) return addresses;
  throw new AddressRefusedError(
    namesAddresses
      ? `The host name ${name} has the address ${wrong}, which is not public. ${howToAllow(wrong)}`
      : `The host name ${name} has an address that is not public. ${howToAllow()}`,
  );
}

function howToAllow(ip = ''): string {
  const example = isIP(ip) === 0 ? '' : `, for instance ${ip}/${isIP(ip) === 4 ? 32 : 128}`;
  return `Webhooks are sent to public addresses only, unless the operator allows their network with MAYFLY_WEBHOOK_ALLOW${example}.`;
}

function lookupFailure(cause: unknown): string {
  const code = codeOf(cause);
  if (code === 'ENOTFOUND' || code === 'ENODATA') return 'there is no such name';
  if (code === 'ETIMEOUT') return 'the name servers did not answer in time';
  return 'its name servers did not return a usable answer';
}

/** A `lookup` function for sockets. It fails unless all addresses of the host are allowed. */
export function guardedLookup(settings: GuardSettings): LookupFunction {
  return (host, options, callback) => {
    findAllowed(host, settings).then(
      (addresses) => {
        const found = addresses.map((address) => ({ address, family: isIP(address) }));
        const first = found[0];
        if (options.all) callback(null, found);
        else if (first) callback(null, first.address, first.family);
      },
      (error: Error) => callback(error, options.all ? [] : ''),
    );
  };
}
