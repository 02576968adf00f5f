import ipaddr from 'ipaddr.js';
import { type PlanSettings, parsePlans } from '../accounts/plans.ts';
import { messageOf } from '../errors.ts';
import { hasValidChecksum } from '../ids.ts';
import { type HostPort, splitPort } from '../text/host-port.ts';
import { quoted } from '../text/nearest.ts';
import { parseCidrs } from '../webhooks/outbound/address-guard.ts';

/** One setting: the source of parsing, `mayfly config`, error messages and docs/configuration.md. */
export interface Setting<T = unknown> {
  /** Default, as the text of the variable; without it the setting is not set. For `mayfly dev` see {@link DEV_DEFAULTS}. */
  fallback?: string;
  /** What is allowed, with its unit; completes the sentence "Use …". */
  allowed: string;
  sentence: string;
  secret?: true;
  /** @throws SettingError if its message is more specific than `allowed`, otherwise any Error */
  parse(text: string): T;
}

/** An error whose message, in whole sentences, is shown to the operator. */
export class SettingError extends Error {}

type Kind<T> = Pick<Setting<T>, 'allowed' | 'parse'>;

/** A host name in lower case (RFC 1123 section 2.1). */
export const HOSTNAME =
  /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/;

/** Minimum length of an API key that an operator chooses, so that it cannot be guessed. */
export const MIN_CHOSEN_KEY_LETTERS = 20;

export const orNone =
  <T>(parse: (text: string) => T) =>
  (text: string): T | null =>
    text === '' ? null : parse(text);

export const oneOf = <T extends string>(...values: readonly T[]): Kind<T> => ({
  allowed: `${values.slice(0, -1).join(', ')} or ${values.at(-1)}`,
  parse(text) {
    const found = values.find((value) => value === text);
    if (!found) throw new Error('not one of them');
    return found;
  },
});

function requiring(isValid: (text: string) => boolean, otherwise: string): (text: string) => string {
  return (text) => {
    if (!isValid(text)) throw new Error(otherwise);
    return text;
  };
}

export const SWITCH = oneOf('on', 'off');

export const listOf =
  <T>(parse: (text: string) => T) =>
  (text: string): T[] => {
    const words = text.split(',').map((word) => word.trim());
    const list = words.filter(Boolean).map(parse);
    if (list.length === 0) throw new Error('an empty list');
    return list;
  };

const wholeNumber =
  (least: number, most: number) =>
  (text: string): number => {
    const value = Number(text);
    if (!/^\d{1,9}$/.test(text) || value < least || value > most) throw new Error('not a number in range');
    return value;
  };

export const PORT: Kind<number> = {
  allowed: 'a port number from 0 to 65535, where 0 selects a free port that the start-up message names',
  parse: wholeNumber(0, 65_535),
};

export const PORT_OR_NONE: Kind<number | null> = {
  allowed: `${PORT.allowed}, or nothing for no such listener`,
  parse: orNone(PORT.parse),
};

export const CONNECTIONS: Kind<number> = {
  allowed: 'a number of connections from 1 to 999999999',
  parse: wholeNumber(1, 999_999_999),
};

export const hostname = requiring((text) => HOSTNAME.test(text), 'not a host name');

/** A host name or an IP address. */
export const host = (text: string): string => (ipaddr.isValid(text) ? text : hostname(text));

export const OWN_HOST: Kind<string> = {
  allowed: 'an IP address of this machine or a host name',
  parse: host,
};

/** A name server in the form of `node:dns`: an address, or one with a port (IPv6 then in brackets). */
export function nameServer(text: string): string {
  const { host, port = '53' } = splitPort(text) ?? { host: text };
  const isV6 = text.startsWith('[') || host.includes(':');
  const isValid = isV6 ? ipaddr.IPv6.isValid(host) : ipaddr.IPv4.isValidFourPartDecimal(host);
  if (!isValid || PORT.parse(port) === 0) throw new Error('not a name server');
  return text;
}

/** IPv6 in brackets. */
export function hostPort(text: string): HostPort {
  const { host: name = '', port = '0' } = splitPort(text) ?? {};
  if (PORT.parse(port) === 0) throw new Error('not a host with a port');
  return { host: host(name), port: Number(port) };
}

export const NETWORKS: Kind<string[]> = {
  allowed: 'networks in CIDR notation, separated by commas, or nothing',
  parse(text) {
    explained(() => parseCidrs(text));
    return text.split(/[\s,]+/).filter(Boolean);
  },
};

export const folder = requiring((text) => text !== '', 'empty');

export const postgresUrl = requiring((text) => {
  const { protocol, hostname } = new URL(text);
  return /^postgres(ql)?:$/.test(protocol) && hostname !== '';
}, 'not a URL of PostgreSQL');

/** @returns the URL without a trailing slash */
export function baseUrl(text: string): string {
  const url = new URL(text);
  if (!/^https?:$/.test(url.protocol) || url.search || url.hash || url.username)
    throw new Error('not a base');
  return url.href.replace(/\/+$/, '');
}

/** The serialization of an origin, as browsers send it (HTML standard, "origin"). */
function origin(text: string): string {
  const [, scheme = ''] = /^([a-z][a-z0-9+.-]*):\/\/[^/?#@*\s]+$/.exec(text) ?? [];
  const parsed = URL.canParse(text) ? new URL(text) : null;
  const isWeb = parsed !== null && /^https?:$/.test(parsed.protocol);
  // Other schemes are those of browser extensions and web views.
  if (scheme !== '' && (!isWeb || parsed.origin === text)) return text;
  const hint = isWeb && !text.includes('*') ? ` Did you mean "${parsed.origin}"?` : '';
  throw new SettingError(`${quoted(text)} is not an origin.${hint}`);
}

export function corsOrigins(text: string): string[] {
  if (text === '' || text === '*') return text === '' ? [] : ['*'];
  return listOf(origin)(text);
}

/** @param kind the end of a PEM label (RFC 7468) */
export const pem = (kind: string) =>
  requiring((text) => text.includes('-----BEGIN ') && text.includes(`${kind}-----`), 'not PEM');

/** An API key chosen by the operator; a key with our prefix must have a valid checksum. */
export const chosenKey = requiring(
  (text) =>
    /^[A-Za-z0-9_-]+$/.test(text) &&
    text.length >= MIN_CHOSEN_KEY_LETTERS &&
    !text.startsWith('mft_') &&
    hasValidChecksum(text),
  'too weak, or not a whole key',
);

export const plans = (text: string): PlanSettings => explained(() => parsePlans(text));

/** Converts errors of a parser to SettingErrors, so that their messages are shown. */
function explained<T>(parse: () => T): T {
  try {
    return parse();
  } catch (cause) {
    const reason = messageOf(cause);
    throw new SettingError(/[.!?]$/.test(reason) ? reason : `${reason}.`, { cause });
  }
}
