import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createPlans } from '../accounts/plans.ts';
import { isLoopback } from '../connection-limiter.ts';
import { messageOf } from '../errors.ts';
import { nearest, quoted } from '../text/nearest.ts';
import { DEV_DEFAULTS, SETTINGS, type Setting, variableOf } from './settings.ts';

type Key = keyof typeof SETTINGS;
export type Config = { [K in Key]: Exclude<ReturnType<(typeof SETTINGS)[K]['parse']>, undefined> };

export type Environment = Record<string, string | undefined>;

const PREFIX = 'MAYFLY_';
const FILE_SUFFIX = '_FILE';

const KEYS = Object.keys(SETTINGS) as Key[];
const NAMES = KEYS.map(variableOf);
const KNOWN = new Set(NAMES.flatMap((name) => [name, name + FILE_SUFFIX]));

/** Variables of clients cause no warning: clients often run in the same job as the server. */
const CLIENT_NAMES = new Set(['MAYFLY_URL', 'MAYFLY_TOKEN', 'MAYFLY_INBOX_ID', 'MAYFLY_INBOX_ADDRESS']);

// Kubernetes sets these variables for a Service `mayfly`, or one whose name begins with `mayfly-`:
// https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables
const INJECTED_NAME =
  /^MAYFLY_(?:[A-Z0-9_]+_)?(?:SERVICE_HOST|SERVICE_PORT(?:_[A-Z0-9_]+)?|PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)$/;
/** Form of the value that Kubernetes gives a variable `NAME_PORT`, such as `tcp://10.0.0.1:80`. */
const INJECTED_URL = /^(?:tcp|udp|sctp):\/\/\S+:\d+$/;

const isInjectedUrl = (name: string, value: string | undefined): boolean =>
  name.endsWith('_PORT') && INJECTED_URL.test(value ?? '');

/** True if Kubernetes set the variable, such as MAYFLY_HTTP_PORT for a Service `mayfly-http`. */
const isFromKubernetes = (name: string, env: Environment): boolean =>
  isInjectedUrl(name, env[name]) && env[name.replace(/PORT$/, 'SERVICE_HOST')] !== undefined;

const givenText = (name: string, env: Environment): string | undefined =>
  isFromKubernetes(name, env) ? undefined : env[name]?.trim();

export const isGiven = (name: string, env: Environment): boolean =>
  givenText(name, env) !== undefined || env[name + FILE_SUFFIX] !== undefined;

/** @param given the name of a variable without `MAYFLY_` */
export function nearestSetting(given: string): string | undefined {
  const known = nearest(
    given,
    NAMES.map((name) => name.slice(PREFIX.length)),
  );
  return known && PREFIX + known;
}

function suggestion(name: string): string {
  const isFile = name.toUpperCase().endsWith(FILE_SUFFIX);
  const known = nearestSetting(name.slice(PREFIX.length, isFile ? -FILE_SUFFIX.length : undefined));
  return known === undefined
    ? ' "mayfly config --table" lists all settings.'
    : ` Did you mean ${known}${isFile ? FILE_SUFFIX : ''}?`;
}

/** Warnings about `MAYFLY_` variables that are unknown, or that are ignored because Kubernetes set them. */
export function unusedVariables(env: Environment): string[] {
  const warnings: string[] = [];
  for (const name of Object.keys(env)) {
    if (!name.toUpperCase().startsWith(PREFIX)) continue;
    if (KNOWN.has(name)) {
      if (!isFromKubernetes(name, env)) continue;
      const service = name
        .toLowerCase()
        .replace(/_port$/, '')
        .replaceAll('_', '-');
      warnings.push(
        `${name} is ${quoted(env[name] ?? '')}, which Kubernetes sets for the Service ${quoted(service)}. It is ignored. To set the port, set ${name} in the container, or rename the Service.`,
      );
    } else if (!CLIENT_NAMES.has(name) && !INJECTED_NAME.test(name) && !isInjectedUrl(name, env[name])) {
      warnings.push(`${name} is not a setting and is ignored.${suggestion(name)}`);
    }
  }
  return warnings;
}

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

/** Reads a variable, or the file in `NAME_FILE`. @returns undefined if invalid; adds why to `problems` */
function readSetting<K extends Key>(key: K, env: Environment, problems: string[], fallback = '') {
  const name = variableOf(key);
  const setting: Setting = SETTINGS[key];
  const direct = givenText(name, env);
  const file = env[name + FILE_SUFFIX];
  if (direct !== undefined && file !== undefined)
    problems.push(`${name} and ${name}_FILE are both set. Set one of the two.`);
  let text = direct ?? fallback;
  let where = name;
  if (direct === undefined && file !== undefined) {
    where = `${name}, from the file ${quoted(file)},`;
    try {
      text = readFileSync(file, 'utf8').trim();
    } catch (cause) {
      const reason = messageOf(cause);
      problems.push(
        `${name}_FILE is ${quoted(file)}, a file that cannot be read (${reason}). Check its path.`,
      );
      return undefined;
    }
  }
  let reason = '';
  try {
    const value = setting.parse(text);
    if (value !== undefined) return value as Config[K];
  } catch (error) {
    reason = ` ${messageOf(error)}`.replace(/[^.!?]$/, '$&.');
  }
  const what = setting.secret
    ? 'has a value that is not valid; it is secret and not shown here'
    : `is ${quoted(text)}, which is not valid`;
  problems.push(`${where} ${what}.${reason} Use ${setting.allowed}.`);
  return undefined;
}

/** Finds settings that contradict each other. A setting whose own value is invalid is undefined. */
function problemsBetween({ smtpTlsCert, smtpTlsKey, plans, signupPlan }: Partial<Config>): string[] {
  const problems: string[] = [];
  if ((smtpTlsCert === null) !== (smtpTlsKey === null)) {
    const [set, missing] = smtpTlsCert === null ? ['KEY', 'CERT'] : ['CERT', 'KEY'];
    problems.push(
      `MAYFLY_SMTP_TLS_${set} is set and MAYFLY_SMTP_TLS_${missing} is not. Set both, or neither of them.`,
    );
  }
  const planNames = plans && createPlans(plans).names;
  if (planNames && signupPlan && !planNames.includes(signupPlan)) {
    problems.push(
      `MAYFLY_SIGNUP_PLAN is ${quoted(signupPlan)}, which is not the name of a plan. Use one of ${planNames.join(', ')}, or nothing to switch sign-up off.`,
    );
  }
  return problems;
}

export const certificateOf = ({
  smtpTlsCert: cert,
  smtpTlsKey: key,
}: Pick<Config, 'smtpTlsCert' | 'smtpTlsKey'>) => (cert && key ? { cert, key } : null);

/** Reads the certificate again, for a reload. @throws ConfigError */
export function readCertificate(env: Environment) {
  const problems: string[] = [];
  const smtpTlsCert = readSetting('smtpTlsCert', env, problems) ?? null;
  const smtpTlsKey = readSetting('smtpTlsKey', env, problems) ?? null;
  if (problems.length > 0) throw new ConfigError(problems);
  return certificateOf({ smtpTlsCert, smtpTlsKey });
}

/** @param defaults by variable name, instead of those in SETTINGS @throws ConfigError with every problem */
export function parseConfig(env: Environment, defaults: Readonly<Record<string, string>> = {}): Config {
  const problems: string[] = [];
  const fallbackOf = (key: Key) => defaults[variableOf(key)] ?? (SETTINGS[key] as Setting).fallback;
  const config = Object.fromEntries(
    KEYS.map((key) => [key, readSetting(key, env, problems, fallbackOf(key))]),
  ) as Partial<Config>;
  problems.push(...problemsBetween(config));
  const { devKey = 'off' } = config;
  if (devKey !== 'off' && !('MAYFLY_DEV_KEY' in defaults)) {
    problems.push(`MAYFLY_DEV_KEY is "${devKey}", and only "mayfly dev" has a development key. Remove it.`);
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return config as Config;
}

export const databasePath = (dataDir: string): string => join(dataDir, 'mayfly.db');

/** Whether the API accepts the development key: only on loopback, because everyone knows that key. */
export const hasDevKey = ({ devKey, httpHost }: Config): boolean =>
  devKey !== 'off' && (httpHost === 'localhost' || isLoopback(httpHost));

/** All settings in Markdown, for docs/configuration.md. */
export function settingsTable(): string {
  const cell = (text: string) => text.replaceAll('|', '\\|');
  const shown = (text: string) => (text === '' ? '–' : `\`${text}\``);
  const rows = KEYS.map((key) => {
    const name = variableOf(key);
    const { fallback = '', allowed, sentence }: Setting = SETTINGS[key];
    const dev = DEV_DEFAULTS[name];
    const defaults = dev === undefined ? shown(fallback) : `${shown(fallback)}; in \`dev\` ${shown(dev)}`;
    return `| \`${name}\` | ${defaults} | ${cell(allowed)} | ${cell(sentence)} |`;
  });
  return ['| setting | default | allowed | meaning |', '|---|---|---|---|', ...rows].join('\n');
}

export function describeConfig(config: Config): string {
  const shown = (key: Key): string => {
    const value = config[key];
    if (value === null) return '';
    if ((SETTINGS[key] as Setting).secret) return '(a secret)';
    if (Array.isArray(value)) return value.join(',');
    return typeof value === 'object' ? JSON.stringify(value) : String(value);
  };
  return KEYS.map((key) => `${variableOf(key)}=${shown(key)}`).join('\n');
}

const LISTENERS = {
  http: { host: 'httpHost', ports: ['httpPort'] },
  smtp: { host: 'smtpHost', ports: ['smtpPort', 'smtpsPort'] },
  pop3: { host: 'smtpHost', ports: ['pop3Port'] },
  metrics: { host: 'metricsHost', ports: ['metricsPort'] },
} as const;

const EXPLAINED: Readonly<Record<string, (where: string, host: string, port: string) => string>> = {
  EADDRINUSE: (where, _host, port) =>
    `${where} is in use. Stop the program that listens there (another Mayfly?), or set ${port} to another port.`,
  EACCES: (where, _host, port) =>
    `${where} needs a right that this user does not have. Set ${port} to a port from 1024, or give the process the capability CAP_NET_BIND_SERVICE.`,
  EADDRNOTAVAIL: (where, host) =>
    `${where} cannot be opened, because this machine does not have that address. Set ${host} to one of its addresses, or to 0.0.0.0 for all of them.`,
  ENOTFOUND: (where, host) =>
    `${where} cannot be opened, because the host name is unknown. Set ${host} to an IP address of this machine.`,
};

export type ListenerName = keyof typeof LISTENERS;

/** @returns an Error that says why a listener did not start and which setting to change, or `error` itself */
export function explainListening(error: unknown, name: ListenerName, config: Config): unknown {
  if (!(error instanceof Error && 'code' in error)) return error;
  const explain = EXPLAINED[String(error.code)];
  if (!explain) return error;
  const { host, ports } = LISTENERS[name];
  const failed = 'port' in error ? error.port : undefined;
  const port = ports.find((one) => config[one] === failed) ?? ports[0];
  const where = `Port ${config[port]} on ${config[host]}`;
  return new Error(explain(where, variableOf(host), variableOf(port)), { cause: error });
}
