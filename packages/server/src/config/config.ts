import { readFileSync } from 'node:fs';
import { createPlans } from '../accounts/plans.ts';
import { SETTINGS, type Setting } from './settings.ts';
import { SettingError } from './values.ts';

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

const quoted = (setting: Setting<unknown>, text: string): string =>
  setting.secret ? '(a secret)' : JSON.stringify(text);

/** The text of a setting: from its variable, from the file that `NAME_FILE` names, or its fallback. */
function given(
  setting: Setting<unknown>,
  env: Record<string, string | undefined>,
  problems: string[],
): string {
  const direct = env[setting.name];
  const file = env[`${setting.name}_FILE`];
  if (direct !== undefined && file !== undefined) {
    problems.push(`${setting.name}: given twice, also as ${setting.name}_FILE; allowed: one of the two`);
  }
  if (direct !== undefined) return direct;
  if (file === undefined) return setting.fallback;
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    problems.push(`${setting.name}_FILE: given ${JSON.stringify(file)}, which cannot be read (${reason})`);
    return setting.fallback;
  }
}

/** What is wrong between settings that are good each; of one that was not, and is missing, all is told already. */
function problemsBetween({ smtpTlsCert, smtpTlsKey, plans, signUpPlan }: Partial<Config>): string[] {
  const problems: string[] = [];
  if ((smtpTlsCert === null) !== (smtpTlsKey === null)) {
    problems.push('MAYFLY_SMTP_TLS_CERT and MAYFLY_SMTP_TLS_KEY: given one; allowed: both or none');
  }
  const planNames = plans && createPlans(plans).names;
  if (planNames && signUpPlan && !planNames.includes(signUpPlan)) {
    problems.push(
      `${SETTINGS.signUpPlan.name}: given ${JSON.stringify(signUpPlan)}; allowed: ${planNames.join(', ')}, or nothing: nobody signs up`,
    );
  }
  return problems;
}

/** The value of one setting; undefined when it is not allowed, which is added to the problems. */
function readSetting<T>(
  setting: Setting<T>,
  env: Record<string, string | undefined>,
  problems: string[],
): T | undefined {
  const text = given(setting, env, problems);
  try {
    return setting.parse(text);
  } catch (error) {
    const reason = error instanceof SettingError ? ` (${error.message})` : '';
    problems.push(`${setting.name}: given ${quoted(setting, text)}; allowed: ${setting.allowed}${reason}`);
    return undefined;
  }
}

/**
 * The SMTP certificate and its key, PEM, as they are in the environment and its files now; null for none.
 * @throws ConfigError when one of them cannot be read, or is not PEM
 */
export function readCertificate(
  env: Record<string, string | undefined>,
): { cert: string; key: string } | null {
  const problems: string[] = [];
  const cert = readSetting(SETTINGS.smtpTlsCert, env, problems);
  const key = readSetting(SETTINGS.smtpTlsKey, env, problems);
  if (problems.length > 0) throw new ConfigError(problems);
  return cert && key ? { cert, key } : null;
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
    const setting: Setting<unknown> = { ...declared, fallback: defaults[declared.name] ?? declared.fallback };
    known.add(setting.name).add(`${setting.name}_FILE`);
    const value = readSetting(setting, env, problems);
    if (value !== undefined) config[key] = value;
  }
  problems.push(...problemsBetween(config as Partial<Config>));
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
    (setting: Setting<unknown>) =>
      `| \`${setting.name}\` | ${setting.fallback === '' ? '–' : `\`${setting.fallback}\``} | ${cell(setting.allowed)} | ${cell(setting.sentence)} |`,
  );
  return ['| setting | default | allowed | what for |', '|---|---|---|---|', ...rows].join('\n');
}

/** The settings in force, one `NAME=value` line each, secrets hidden. */
export function describeConfig(config: Config): string {
  const shown = (setting: Setting<unknown>, value: unknown): string => {
    if (value === null) return '';
    if (setting.secret) return '(a secret)';
    if (Array.isArray(value)) return value.join(',');
    return typeof value === 'object' ? JSON.stringify(value) : String(value);
  };
  return Object.entries(SETTINGS)
    .map(([key, setting]) => `${setting.name}=${shown(setting, config[key as keyof Config])}`)
    .join('\n');
}
