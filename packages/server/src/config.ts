import { readFileSync } from 'node:fs';
import ipaddr from 'ipaddr.js';
import { createPlans, type PlanSettings, parsePlans } from './core/plans.ts';
import { hasValidChecksum } from './ids.ts';
import { LOG_LEVELS, type LogLevel } from './log.ts';
import { parseCidrs } from './webhooks/address-guard.ts';

/** One setting: said once here, and from here come parsing, `mayfly config`, and docs/configuration.md. */
interface Setting<T> {
  /** The environment variable; `NAME_FILE` names a file that holds the value. */
  name: string;
  /** As it would be written in the environment; '' means not set. */
  fallback: string;
  /** Ends the sentence "allowed: …". */
  allowed: string;
  /** What it is for. */
  sentence: string;
  /** Its value is never shown. */
  secret?: true;
  /** @throws Error of any text when `text` is not allowed */
  parse(text: string): T;
}

/** What is wrong with a value, in words for the operator. */
class SettingError extends Error {}

export type Role = 'http' | 'smtp' | 'worker';
const ROLES: readonly Role[] = ['http', 'smtp', 'worker'];

/** An API key that an operator chooses must not be guessable: 20 letters are the floor. */
const MIN_CHOSEN_KEY_LETTERS = 20;
/** A domain or host name in lower case (RFC 1123 section 2.1). */
export const HOSTNAME =
  /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/;

const port = (text: string): number => {
  const value = Number(text);
  if (!/^\d{1,5}$/.test(text) || value > 65_535) throw new Error('not a port');
  return value;
};
const count = (text: string): number => {
  const value = Number(text);
  if (!/^\d{1,9}$/.test(text) || value < 1) throw new Error('not a count');
  return value;
};
const words = (text: string): string[] =>
  text
    .split(',')
    .map((word) => word.trim())
    .filter(Boolean);
const cidrs = (text: string): string[] => {
  try {
    parseCidrs(text);
  } catch (cause) {
    throw new SettingError(cause instanceof Error ? cause.message : String(cause), { cause });
  }
  return text.split(/[\s,]+/).filter(Boolean);
};
const oneOf =
  <T extends string>(values: readonly T[]) =>
  (text: string): T => {
    const found = values.find((value) => value === text);
    if (!found) throw new Error('not one of them');
    return found;
  };
const host = (text: string): string => {
  if (!ipaddr.isValid(text) && !HOSTNAME.test(text)) throw new Error('not a host');
  return text;
};
const orNone =
  <T>(parse: (text: string) => T) =>
  (text: string): T | null =>
    text === '' ? null : parse(text);

/** A name server as `node:dns` takes it: an address, or one with a port (IPv6 then in brackets). */
const nameServer = (text: string): string => {
  const [, bracketed, plain, withPort = '53'] =
    /^(?:\[([0-9a-f:.]+)\]|([\d.]+))(?::(\d{1,5}))?$/i.exec(text) ?? [];
  const address = bracketed ?? plain ?? text;
  const valid =
    plain === undefined ? ipaddr.IPv6.isValid(address) : ipaddr.IPv4.isValidFourPartDecimal(plain);
  if (!valid || port(withPort) === 0) throw new Error('not a name server');
  return text;
};

const setting = <T>(one: Setting<T>): Setting<T> => one;

const SETTINGS = {
  httpHost: setting({
    name: 'MAYFLY_HTTP_HOST',
    fallback: '127.0.0.1',
    allowed: 'an address or host name to listen on',
    sentence:
      'Where the API listens. The default is reached from this machine only; 0.0.0.0 opens it to all.',
    parse: host,
  }),
  httpPort: setting({
    name: 'MAYFLY_HTTP_PORT',
    fallback: '8025',
    allowed: 'a port from 0 to 65535; 0 takes a free one and prints it',
    sentence: 'The port of the API.',
    parse: port,
  }),
  smtpHost: setting({
    name: 'MAYFLY_SMTP_HOST',
    fallback: '127.0.0.1',
    allowed: 'an address or host name to listen on',
    sentence: 'Where mail comes in.',
    parse: host,
  }),
  smtpPort: setting({
    name: 'MAYFLY_SMTP_PORT',
    fallback: '2525',
    allowed: 'a port from 0 to 65535; 0 takes a free one and prints it',
    sentence: 'The port for SMTP, with STARTTLS.',
    parse: port,
  }),
  smtpsPort: setting({
    name: 'MAYFLY_SMTPS_PORT',
    fallback: '',
    allowed: 'a port from 0 to 65535, or nothing for no such listener',
    sentence: 'A second SMTP port that speaks TLS from the first byte.',
    parse: orNone(port),
  }),
  smtpName: setting({
    name: 'MAYFLY_SMTP_NAME',
    fallback: '',
    allowed: 'a host name, or nothing for the first domain',
    sentence: 'The name the SMTP server gives itself, in its greeting and in Received lines.',
    parse: orNone(host),
  }),
  smtpTlsCert: setting({
    name: 'MAYFLY_SMTP_TLS_CERT',
    fallback: '',
    allowed: 'a PEM certificate chain, or nothing for a self-signed one made at each start',
    sentence: 'The certificate of STARTTLS and of the TLS port; usually given as MAYFLY_SMTP_TLS_CERT_FILE.',
    parse: orNone(pem('CERTIFICATE')),
  }),
  smtpTlsKey: setting({
    name: 'MAYFLY_SMTP_TLS_KEY',
    fallback: '',
    allowed: 'a PEM private key, together with MAYFLY_SMTP_TLS_CERT',
    sentence: 'The key of that certificate; usually given as MAYFLY_SMTP_TLS_KEY_FILE.',
    secret: true,
    parse: orNone(pem('PRIVATE KEY')),
  }),
  smtpProxyFrom: setting({
    name: 'MAYFLY_SMTP_PROXY_FROM',
    fallback: '',
    allowed: 'networks in CIDR form, separated by commas',
    sentence: 'Load balancers that speak the PROXY protocol (version 1 or 2) to us; nobody else may.',
    parse: cidrs,
  }),
  smtpBareLineEndings: setting({
    name: 'MAYFLY_SMTP_BARE_LINE_ENDINGS',
    fallback: 'refuse',
    allowed: 'refuse, normalise',
    sentence:
      'What to do with a mail that holds a CR or LF alone: refuse it (550 5.6.11), or make each a CRLF.',
    parse: oneOf(['refuse', 'normalise'] as const),
  }),
  smtpMaxConnections: setting({
    name: 'MAYFLY_SMTP_MAX_CONNECTIONS',
    fallback: '2000',
    allowed: 'a number from 1',
    sentence: 'SMTP connections open at once; the next one hears 421.',
    parse: count,
  }),
  smtpMaxConnectionsPerAddress: setting({
    name: 'MAYFLY_SMTP_MAX_CONNECTIONS_PER_ADDRESS',
    fallback: '50',
    allowed: 'a number from 1',
    sentence: 'The same from one address; senders on this machine are exempt.',
    parse: count,
  }),
  mailAuth: setting({
    name: 'MAYFLY_MAIL_AUTH',
    fallback: 'on',
    allowed: 'on, off',
    sentence: 'Whether mail from other machines is checked by SPF, DKIM and DMARC.',
    parse: oneOf(['on', 'off'] as const),
  }),
  dnsServers: setting({
    name: 'MAYFLY_DNS_SERVERS',
    fallback: '',
    allowed:
      'addresses, each with or without a port, separated by commas; or nothing for those of the machine',
    sentence: 'The name servers that are asked for senders, and for the hosts of webhooks.',
    parse: orNone((text) => words(text).map(nameServer)),
  }),
  postmaster: setting({
    name: 'MAYFLY_POSTMASTER',
    fallback: 'refuse',
    allowed: 'refuse, log',
    sentence: 'What to do with mail to postmaster: refuse it, or accept it and log that it came.',
    parse: oneOf(['refuse', 'log'] as const),
  }),
  dataDir: setting({
    name: 'MAYFLY_DATA_DIR',
    fallback: './data',
    allowed: 'a folder; it is made when missing',
    sentence: 'Where the embedded store keeps its files.',
    parse: (text) => {
      if (text === '') throw new Error('empty');
      return text;
    },
  }),
  domains: setting({
    name: 'MAYFLY_DOMAINS',
    fallback: 'mayfly.test',
    allowed: 'domain names in lower case, separated by commas',
    sentence: 'The domains whose mail is received; the first is the default of new inboxes.',
    parse: (text) => {
      const domains = words(text);
      if (domains.length === 0 || !domains.every((domain) => HOSTNAME.test(domain)))
        throw new Error('no domain');
      return domains;
    },
  }),
  roles: setting({
    name: 'MAYFLY_ROLES',
    fallback: 'http,smtp,worker',
    allowed: 'one or more of http, smtp, worker, separated by commas',
    sentence: 'What this process does; worker delivers webhooks and sweeps what is past its time.',
    parse: (text) => {
      const roles = words(text).map(oneOf(ROLES));
      if (roles.length === 0) throw new Error('no role');
      return roles;
    },
  }),
  publicUrl: setting({
    name: 'MAYFLY_PUBLIC_URL',
    fallback: '',
    allowed: 'an http or https URL without query, or nothing for the host that each request names',
    sentence: 'The base of the URLs in answers.',
    parse: orNone((text) => {
      const url = new URL(text);
      if (!/^https?:$/.test(url.protocol) || url.search || url.hash || url.username)
        throw new Error('not a base');
      return url.href.replace(/\/+$/, '');
    }),
  }),
  webhookAllow: setting({
    name: 'MAYFLY_WEBHOOK_ALLOW',
    fallback: '',
    allowed: 'networks in CIDR form, separated by commas',
    sentence: 'Private networks that webhooks may reach; public addresses always may.',
    parse: cidrs,
  }),
  apiKey: setting({
    name: 'MAYFLY_API_KEY',
    fallback: '',
    allowed: `${MIN_CHOSEN_KEY_LETTERS} or more of A-Z a-z 0-9 _ -; one that begins with mfk_ must be whole`,
    sentence:
      'A key of the first account that a pipeline must know beforehand; one is made and printed otherwise.',
    secret: true,
    parse: orNone((text) => {
      if (!/^[A-Za-z0-9_-]+$/.test(text) || text.length < MIN_CHOSEN_KEY_LETTERS) throw new Error('too weak');
      if (text.startsWith('mft_') || !hasValidChecksum(text)) throw new Error('not a whole key');
      return text;
    }),
  }),
  plans: setting<PlanSettings>({
    name: 'MAYFLY_PLANS',
    fallback: '{}',
    allowed: 'JSON: plan name to limits, null for no limit; see docs/accounts.md',
    sentence: 'Plans beside free, developer and unlimited, or other limits for those three.',
    parse: (text) => {
      try {
        return parsePlans(text);
      } catch (cause) {
        throw new SettingError(cause instanceof Error ? cause.message : String(cause), { cause });
      }
    },
  }),
  signUpPlan: setting({
    name: 'MAYFLY_SIGNUP_PLAN',
    fallback: '',
    allowed: 'the name of a plan, or nothing: nobody signs up',
    sentence: 'Lets anyone who reaches the API make an account of that plan by POST /v1/accounts.',
    parse: orNone((text) => text),
  }),
  metrics: setting({
    name: 'MAYFLY_METRICS',
    fallback: 'loopback',
    allowed: 'loopback, on, off',
    sentence: 'Who may read /metrics: requests to a loopback listener, everyone, or nobody.',
    parse: oneOf(['loopback', 'on', 'off'] as const),
  }),
  logLevel: setting({
    name: 'MAYFLY_LOG_LEVEL',
    fallback: 'info',
    allowed: LOG_LEVELS.join(', '),
    sentence: 'How much is logged on standard output, one JSON line an event.',
    parse: oneOf<LogLevel>(LOG_LEVELS),
  }),
};

type Settings = typeof SETTINGS;
/** What the process is told, parsed and checked. */
export type Config = { [K in keyof Settings]: Settings[K] extends Setting<infer T> ? T : never };

/** All that is wrong with a configuration, one line a problem. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: string[];

  constructor(problems: string[]) {
    super(
      `The configuration has ${problems.length === 1 ? 'a problem' : `${problems.length} problems`}:\n${problems.map((problem) => `  ${problem}`).join('\n')}`,
    );
    this.problems = problems;
  }
}

function pem(kind: string): (text: string) => string {
  return (text) => {
    if (!text.includes('-----BEGIN ') || !text.includes(`${kind}-----`)) throw new Error('not PEM');
    return text;
  };
}

const quoted = (one: Setting<unknown>, text: string): string =>
  one.secret ? '(a secret)' : JSON.stringify(text);

function given(one: Setting<unknown>, env: Record<string, string | undefined>, problems: string[]): string {
  const direct = env[one.name];
  const file = env[`${one.name}_FILE`];
  if (direct !== undefined && file !== undefined) {
    problems.push(`${one.name}: given twice, also as ${one.name}_FILE; allowed: one of the two`);
  }
  if (direct !== undefined) return direct;
  if (file === undefined) return one.fallback;
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    problems.push(`${one.name}_FILE: given ${JSON.stringify(file)}, which cannot be read (${reason})`);
    return one.fallback;
  }
}

/**
 * Reads the configuration.
 * @param env the environment, or anything shaped like it
 * @param defaults other fallbacks, by variable name: what a command prefers where nothing is given
 * @throws ConfigError that names every problem at once
 */
export function parseConfig(
  env: Record<string, string | undefined>,
  defaults: Record<string, string> = {},
): Config {
  const problems: string[] = [];
  const known = new Set<string>();
  const config: Record<string, unknown> = {};
  for (const [key, declared] of Object.entries(SETTINGS)) {
    const one: Setting<unknown> = { ...declared, fallback: defaults[declared.name] ?? declared.fallback };
    known.add(one.name).add(`${one.name}_FILE`);
    const text = given(one, env, problems);
    try {
      config[key] = one.parse(text);
    } catch (error) {
      const reason = error instanceof SettingError ? ` (${error.message})` : '';
      problems.push(`${one.name}: given ${quoted(one, text)}; allowed: ${one.allowed}${reason}`);
    }
  }
  if ((config.smtpTlsCert === null) !== (config.smtpTlsKey === null)) {
    problems.push('MAYFLY_SMTP_TLS_CERT and MAYFLY_SMTP_TLS_KEY: given one; allowed: both or none');
  }
  const { plans, signUpPlan } = config as Partial<Config>;
  const planNames = plans && createPlans(plans).names;
  if (planNames && signUpPlan && !planNames.includes(signUpPlan)) {
    problems.push(
      `${SETTINGS.signUpPlan.name}: given ${JSON.stringify(signUpPlan)}; allowed: ${planNames.join(', ')}, or nothing: nobody signs up`,
    );
  }
  for (const name of Object.keys(env)) {
    if (name.startsWith('MAYFLY_') && !known.has(name)) problems.push(`${name}: no setting has this name`);
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return config as Config;
}

/** The table of all settings in Markdown, for docs/configuration.md. */
export function settingsTable(): string {
  const cell = (text: string) => text.replaceAll('|', '\\|');
  const rows = Object.values(SETTINGS).map(
    (one: Setting<unknown>) =>
      `| \`${one.name}\` | ${one.fallback === '' ? '–' : `\`${one.fallback}\``} | ${cell(one.allowed)} | ${cell(one.sentence)} |`,
  );
  return ['| setting | default | allowed | what for |', '|---|---|---|---|', ...rows].join('\n');
}

/** The settings in force, one `NAME=value` line each, secrets hidden. */
export function describeConfig(config: Config): string {
  const shown = (one: Setting<unknown>, value: unknown): string => {
    if (value === null) return '';
    if (one.secret) return '(a secret)';
    if (Array.isArray(value)) return value.join(',');
    return typeof value === 'object' ? JSON.stringify(value) : String(value);
  };
  return Object.entries(SETTINGS)
    .map(([key, one]) => `${one.name}=${shown(one, config[key as keyof Config])}`)
    .join('\n');
}
