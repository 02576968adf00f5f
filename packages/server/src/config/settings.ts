import ipaddr from 'ipaddr.js';
import { parsePlans } from '../accounts/plans.ts';
import { hasValidChecksum } from '../ids.ts';
import { LOG_LEVELS } from '../log.ts';
import { type HostPort, splitPort } from '../text/host-port.ts';
import { quoted } from '../text/nearest.ts';
import { type Cidr, parseCidrs } from '../text/networks.ts';

/** Describes a setting for the parser, `mayfly config`, error messages and docs/configuration.md. */
export interface Setting<T = unknown> {
  /** Default value as text, empty if absent. `mayfly dev` has other defaults: {@link DEV_DEFAULTS}. */
  fallback?: string;
  /** The allowed values with their unit; completes the sentence "Use …". */
  allowed: string;
  sentence: string;
  secret?: true;
  /** @returns undefined if the value is not allowed @throws Error whose message is shown before `allowed` */
  parse(text: string): T | undefined;
}

type Parse<T> = Setting<T>['parse'];
type Kind<T> = Pick<Setting<T>, 'allowed' | 'parse'>;

/** A host name in lower case (RFC 1123 section 2.1). */
export const HOSTNAME =
  /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/;

/** Minimum length of an API key that an operator chooses, so that it cannot be guessed. */
const MIN_CHOSEN_KEY_LETTERS = 20;

const orNone =
  <T>(parse: Parse<T>): Parse<T | null> =>
  (text) =>
    text === '' ? null : parse(text);

const oneOf = <T extends string>(...values: readonly T[]): Kind<T> => ({
  allowed: `${values.slice(0, -1).join(', ')} or ${values.at(-1)}`,
  parse: (text) => values.find((value) => value === text),
});

const requiring =
  (isValid: (text: string) => boolean): Parse<string> =>
  (text) =>
    isValid(text) ? text : undefined;

const ON_OR_OFF = oneOf('on', 'off');
const ON = { fallback: 'on', ...ON_OR_OFF };
const OFF = { fallback: 'off', ...ON_OR_OFF };

const listOf =
  <T>(parse: Parse<T>): Parse<T[]> =>
  (text) => {
    const words = text.split(',').map((word) => word.trim());
    const given = words.filter(Boolean).map(parse);
    const valid = given.filter((one) => one !== undefined);
    return valid.length > 0 && valid.length === given.length ? valid : undefined;
  };

const wholeNumber =
  (least: number, most: number): Parse<number> =>
  (text) => {
    const value = Number(text);
    return /^\d{1,9}$/.test(text) && value >= least && value <= most ? value : undefined;
  };

const PORT: Kind<number> = {
  allowed: 'a port number from 0 to 65535, where 0 selects a free port that the start-up message names',
  parse: wholeNumber(0, 65_535),
};

const PORT_OR_NONE: Kind<number | null> = {
  allowed: `${PORT.allowed}, or nothing for no such listener`,
  parse: orNone(PORT.parse),
};

const CONNECTIONS: Kind<number> = {
  allowed: 'a number of connections from 1 to 999999999',
  parse: wholeNumber(1, 999_999_999),
};

const hostname = requiring((text) => HOSTNAME.test(text));

const host: Parse<string> = (text) => (ipaddr.isValid(text) ? text : hostname(text));

const OWN_HOST = {
  fallback: '127.0.0.1',
  allowed: 'an IP address of this machine or a host name',
  parse: host,
};

/** A name server in the form of `node:dns`: an address, or one with a port (IPv6 then in brackets). */
function nameServer(text: string): string | undefined {
  const { host, port = '53' } = splitPort(text) ?? { host: text };
  const isV6 = text.startsWith('[') || host.includes(':');
  const isValid = isV6 ? ipaddr.IPv6.isValid(host) : ipaddr.IPv4.isValidFourPartDecimal(host);
  return isValid && PORT.parse(port) ? text : undefined;
}

function hostPort(text: string): HostPort | undefined {
  const given = splitPort(text);
  const [name, port] = [host(given?.host ?? ''), PORT.parse(given?.port ?? '')];
  return name && port ? { host: name, port, toString: () => text } : undefined;
}

const NETWORKS: Kind<Cidr[]> = {
  allowed: 'networks in CIDR notation, separated by commas, or nothing',
  parse: parseCidrs,
};

const postgresUrl = requiring((text) => {
  const { protocol = '', hostname = '' } = URL.parse(text) ?? {};
  return /^postgres(ql)?:$/.test(protocol) && hostname !== '';
});

function baseUrl(text: string): string | undefined {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash || url.username) return undefined;
  return url.href.replace(/\/+$/, '');
}

/** Checks that `text` is an origin in the form that browsers send (HTML standard, "origin"). @throws Error */
function origin(text: string): string {
  const [, scheme = ''] = /^([a-z][a-z0-9+.-]*):\/\/[^/?#@*\s]+$/.exec(text) ?? [];
  const parsed = URL.parse(text);
  const isWeb = parsed !== null && /^https?:$/.test(parsed.protocol);
  // Browser extensions and web views have schemes other than http and https.
  if (scheme !== '' && (!isWeb || parsed.origin === text)) return text;
  const hint = isWeb && !text.includes('*') ? ` Did you mean "${parsed.origin}"?` : '';
  throw new Error(`${quoted(text)} is not an origin.${hint}`);
}

function corsOrigins(text: string): string[] | undefined {
  if (text === '' || text === '*') return text === '' ? [] : ['*'];
  return listOf(origin)(text);
}

/** @param kind end of the label of a PEM block (RFC 7468): `PRIVATE KEY` also accepts `RSA PRIVATE KEY` */
const pem = (kind: string) =>
  requiring((text) => text.includes('-----BEGIN ') && text.includes(`${kind}-----`));

/** An API key that the operator chose. If it begins with `mfk_`, its checksum must be right. */
export const chosenKey = requiring(
  (text) =>
    /^[A-Za-z0-9_-]+$/.test(text) &&
    text.length >= MIN_CHOSEN_KEY_LETTERS &&
    !text.startsWith('mft_') &&
    hasValidChecksum(text),
);

export const SETTINGS = {
  httpHost: {
    ...OWN_HOST,
    sentence:
      'Address that the API listens on. The default accepts connections from this machine only, 0.0.0.0 from everywhere.',
  },
  httpPort: {
    fallback: '8025',
    ...PORT,
    sentence: 'Port of the API.',
  },
  publicUrl: {
    allowed:
      'an http or https URL without user name, query and fragment, or nothing for the host of each request',
    sentence: 'Base of the URLs in responses: the URL of the reverse proxy, if there is one.',
    parse: orNone(baseUrl),
  },
  dialect: {
    fallback: 'off',
    ...oneOf('mailpit', 'mailhog', 'off'),
    sentence:
      'mailpit or mailhog also serves the HTTP interface of that program, for tests that were written for it (docs/migrating.md).',
  },
  corsOrigins: {
    allowed:
      'origins such as https://app.example.com, separated by commas, or * for every origin, or nothing',
    sentence:
      'Web pages of these origins may call the API from a browser. They need an API key or a read token; cookies are never accepted from them.',
    parse: corsOrigins,
  },
  console: {
    ...ON,
    sentence: 'on serves the web console at / and /console; off removes it and its sessions.',
  },
  httpMaxConnectionsPerAddress: {
    fallback: '2000',
    ...CONNECTIONS,
    sentence:
      'How many of the 10000 API connections one client address (of IPv6, one /64 network) may have. Behind a reverse proxy all clients have its address: set it to 10000 there.',
  },
  metricsHost: {
    ...OWN_HOST,
    sentence: 'Address that the listener of MAYFLY_METRICS_PORT listens on.',
  },
  metricsPort: {
    ...PORT_OR_NONE,
    sentence: 'A port that serves /metrics for Prometheus and nothing else.',
  },
  metrics: {
    ...OFF,
    sentence:
      'on also serves /metrics on the port of the API, to everyone who reaches it, without a credential.',
  },

  smtpHost: {
    ...OWN_HOST,
    sentence: 'Address that both SMTP ports listen on. 0.0.0.0 accepts connections from everywhere.',
  },
  smtpPort: {
    fallback: '2525',
    ...PORT,
    sentence: 'Port for SMTP; with STARTTLS where MAYFLY_SMTP_STARTTLS offers it.',
  },
  smtpsPort: {
    ...PORT_OR_NONE,
    sentence: 'A second SMTP port, with TLS from the first byte.',
  },
  smtpName: {
    allowed: 'a host name, or nothing for the first domain',
    sentence: 'Name of the SMTP server, in its greeting and in Received header lines.',
    parse: orNone(host),
  },
  smtpTlsCert: {
    allowed: 'a certificate chain in PEM format, or nothing',
    sentence:
      'Certificate of STARTTLS and of the TLS port; usually given as MAYFLY_SMTP_TLS_CERT_FILE. Without it the TLS port uses a self-signed one, made at each start.',
    parse: orNone(pem('CERTIFICATE')),
  },
  smtpTlsKey: {
    allowed: 'a private key in PEM format, together with MAYFLY_SMTP_TLS_CERT',
    sentence: 'Key of that certificate; usually given as MAYFLY_SMTP_TLS_KEY_FILE.',
    secret: true,
    parse: orNone(pem('PRIVATE KEY')),
  },
  smtpStarttls: {
    fallback: 'auto',
    ...oneOf('auto', 'self-signed', 'off'),
    sentence:
      'Whether STARTTLS is offered: auto only with MAYFLY_SMTP_TLS_CERT; self-signed always, with a generated certificate where none is given, which most mail libraries reject; off never.',
  },
  smtpAuth: {
    fallback: 'inbox',
    ...oneOf('inbox', 'any', 'off'),
    sentence:
      'Which SMTP user names and passwords are accepted: inbox only those of an inbox, which then takes all mail of the session (docs/smtp.md); any all others too, which change nothing; off none.',
  },
  smtpAuthPlaintext: {
    ...OFF,
    sentence:
      'Whether SMTP AUTH is offered on connections without TLS from other machines; it always is on loopback and with TLS.',
  },
  smtpProxyFrom: {
    ...NETWORKS,
    sentence:
      'Load balancers that send the PROXY protocol (version 1 or 2). A PROXY header from any other address is rejected.',
  },
  smtpBareLineEndings: {
    fallback: 'refuse',
    ...oneOf('refuse', 'normalise'),
    sentence:
      'What happens to a message that contains a CR or LF on its own: refuse rejects it (550 5.6.11), normalise replaces each by CRLF. Command lines that end with LF alone are rejected or accepted likewise.',
  },
  smtpMaxConnections: {
    fallback: '2000',
    ...CONNECTIONS,
    sentence: 'How many SMTP connections may be open at once. Further clients get 421.',
  },
  smtpMaxConnectionsPerAddress: {
    fallback: '50',
    ...CONNECTIONS,
    sentence: 'How many of them one IP address may have. Clients on this machine are not limited.',
  },
  pop3Port: {
    ...PORT_OR_NONE,
    sentence:
      'A port on MAYFLY_SMTP_HOST that serves inboxes by POP3, with the TLS, the rule for passwords and the numbers of connections of SMTP (docs/pop3.md).',
  },
  mailAuth: {
    ...ON,
    sentence: 'Whether mail from other machines is checked by SPF, DKIM and DMARC.',
  },
  dnsServers: {
    allowed:
      'IP addresses, each with or without a port, separated by commas, or nothing for the name servers of this machine',
    sentence: 'Name servers for the checks of senders and for the host names of webhooks.',
    parse: orNone(listOf(nameServer)),
  },
  postmaster: {
    fallback: 'refuse',
    ...oneOf('refuse', 'log'),
    sentence: 'What happens to mail to postmaster: refuse rejects it, log accepts it and logs that it came.',
  },

  dataDir: {
    fallback: './data',
    allowed: 'the path of a folder; it is created when it is missing',
    sentence: 'Folder of the embedded database.',
    parse: requiring((text) => text !== ''),
  },
  databaseUrl: {
    allowed:
      'a URL such as postgres://user:password@host:5432/database, or nothing for the embedded database',
    sentence:
      'PostgreSQL 15 or newer instead of the embedded database. Several servers may share one (docs/postgresql.md).',
    secret: true,
    parse: orNone(postgresUrl),
  },
  domains: {
    fallback: 'mayfly.test',
    allowed: 'domain names in lower case, separated by commas',
    sentence: 'Domains whose mail is received. The first is the default of new inboxes.',
    parse: listOf(hostname),
  },
  sink: {
    ...OFF,
    sentence:
      'Whether one permanent inbox, the sink, takes every mail to any domain that no other inbox takes (docs/receiving.md).',
  },
  roles: {
    fallback: 'http,smtp,worker',
    allowed: 'one or more of http, smtp and worker, separated by commas',
    sentence:
      'What this process does. worker delivers webhooks and outgoing mail, and frees the space of what has expired.',
    parse: listOf(oneOf('http', 'smtp', 'worker').parse),
  },
  webhookAllow: {
    ...NETWORKS,
    sentence:
      'Networks that webhooks may reach although they are not public. Public addresses are always allowed.',
  },
  replySmtp: {
    allowed: 'host:port, several separated by commas, of which the first that answers is used, or nothing',
    sentence:
      'The SMTP server of the application under test, to which replies and bounces go whose address is not of this server. Mail is never sent to any other host.',
    parse: orNone(listOf(hostPort)),
  },
  apiKey: {
    allowed: `${MIN_CHOSEN_KEY_LETTERS} or more characters of A-Z a-z 0-9 _ -; a key that begins with mfk_ must be complete`,
    sentence:
      'An API key of the first account that must be known beforehand, for example in a pipeline. Without it the first start generates one. Another value adds a key, and the old one works until it is revoked with mayfly key revoke.',
    secret: true,
    parse: orNone(chosenKey),
  },
  devKey: {
    fallback: 'off',
    ...oneOf('on', 'open', 'off'),
    sentence:
      'Whether "Authorization: Bearer dev" is the first account. Only `mayfly dev` has it, only while the API listens on loopback, and only for programs of this machine (docs/security.md). open, the default of `mayfly dev --like`, also serves the interface of MAYFLY_DIALECT without a credential to everyone who reaches the port.',
  },
  hosts: {
    allowed: 'host names in lower case, separated by commas, or nothing',
    sentence:
      'Host names, also those of a reverse proxy, under which MAYFLY_DEV_KEY=open needs no credential, beside localhost, addresses and names without a dot such as those of containers.',
    parse: orNone(listOf(hostname)),
  },
  plans: {
    fallback: '{}',
    allowed: 'a JSON object of plan names and their limits, null for no limit; see docs/accounts.md',
    sentence: 'Plans in addition to free, developer and unlimited, or other limits of these three.',
    parse: parsePlans,
  },
  signupPlan: {
    allowed: 'the name of a plan, or nothing to switch sign-up off',
    sentence: 'Lets everyone who reaches the API create an account on this plan by POST /v1/accounts.',
    parse: orNone((text) => text),
  },
  logLevel: {
    fallback: 'info',
    ...oneOf(...LOG_LEVELS),
    sentence: 'How much is logged on standard output, as one JSON line per event.',
  },
} satisfies Record<string, Setting>;

/** The environment variable of a setting: `MAYFLY_HTTP_HOST` for `httpHost`. */
export const variableOf = (key: keyof typeof SETTINGS): string =>
  `MAYFLY_${key.replaceAll(/[A-Z]/g, '_$&').toUpperCase()}`;

/** Defaults of `mayfly dev`, by variable name; they replace those of {@link SETTINGS}. */
export const DEV_DEFAULTS: Readonly<Record<string, string>> = {
  MAYFLY_METRICS_PORT: '8026',
  MAYFLY_DEV_KEY: 'on',
  MAYFLY_WEBHOOK_ALLOW: '127.0.0.0/8,::1/128',
  MAYFLY_LOG_LEVEL: 'warn',
  MAYFLY_SMTP_BARE_LINE_ENDINGS: 'normalise',
  MAYFLY_SMTP_AUTH: 'any',
  MAYFLY_SINK: 'on',
  MAYFLY_DIALECT: 'mailpit',
};
