import { dirname } from 'node:path';
import type { Environment } from './config.ts';
import { DEV_DEFAULTS } from './settings.ts';
import { chosenKey } from './values.ts';

/*
 * `mayfly dev --like mailpit`: the default ports of the imitated program, its HTTP API without a password as
 * in the original, and the settings for it in Compose files.
 */

/** Programs that `mayfly dev --like` imitates. */
export const PROGRAMS = ['mailpit', 'mailhog'] as const;

/** Converts a setting to ours; undefined for a value without an equivalent. */
type Translate = (text: string) => Environment | undefined;

/** Converts an address such as `[::]:1025`, `0.0.0.0:1025` or `:1025` to host and port. */
const address =
  (listener: 'HTTP' | 'SMTP'): Translate =>
  (text) => {
    const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:]*)):(\d{1,5})$/.exec(text) ?? [];
    const host = bracketed ?? plain;
    if (port === undefined) return undefined;
    return { [`MAYFLY_${listener}_PORT`]: port, ...(host && { [`MAYFLY_${listener}_HOST`]: host }) };
  };

const to =
  (name: string, from: (text: string) => string | undefined = (text) => text): Translate =>
  (text) => {
    const value = from(text);
    return value === undefined ? undefined : { [name]: value };
  };

/** A rqlite URL has no folder. */
const folderOf = (path: string): string | undefined => (path.includes('://') ? undefined : dirname(path));

const isOn = (text: string): boolean => /^(?:1|true|yes|on)$/i.test(text);

/** For settings that Mayfly always fulfils. */
const nothing: Translate = () => ({});

/** Converts `user:password …` to an API key: the first password, if it has the form of a key. */
const password: Translate = (text) => {
  const [, key = ''] = /^[^:\s]+:(\S+)/.exec(text) ?? [];
  try {
    return { ...CLOSED, MAYFLY_API_KEY: chosenKey(key) };
  } catch {
    return undefined;
  }
};

const CLOSED = { MAYFLY_DEV_KEY: 'off' };

/** Variables that require a password, even if their value cannot be converted. */
const CLOSING = ['MP_UI_AUTH', 'MP_UI_AUTH_FILE', 'MH_AUTH_FILE'];

const TRANSLATED: Readonly<Record<string, Translate>> = {
  MP_DATABASE: to('MAYFLY_DATA_DIR', folderOf),
  MP_DATA_FILE: to('MAYFLY_DATA_DIR', folderOf),
  MP_SMTP_BIND_ADDR: address('SMTP'),
  MP_UI_BIND_ADDR: address('HTTP'),
  MP_SMTP_TLS_CERT: to('MAYFLY_SMTP_TLS_CERT_FILE'),
  MP_SMTP_TLS_KEY: to('MAYFLY_SMTP_TLS_KEY_FILE'),
  MP_UI_AUTH: password,
  MP_VERBOSE: to('MAYFLY_LOG_LEVEL', (text) => (isOn(text) ? 'debug' : undefined)),
  MP_QUIET: to('MAYFLY_LOG_LEVEL', (text) => (isOn(text) ? 'error' : undefined)),
  MP_SMTP_AUTH_ACCEPT_ANY: nothing,
  MP_SMTP_AUTH_ALLOW_INSECURE: nothing,
  MP_SEND_API_AUTH_ACCEPT_ANY: nothing,
  MP_SMTP_DISABLE_RDNS: nothing,
  MP_DISABLE_VERSION_CHECK: nothing,
  MP_HIDE_DELETE_ALL_BUTTON: nothing,
  MP_BLOCK_REMOTE_CSS_AND_FONTS: nothing,
  MP_COMPRESSION: nothing,
  MP_ENABLE_CHAOS: nothing,
  MP_DISABLE_WAL: nothing,
  MH_SMTP_BIND_ADDR: address('SMTP'),
  MH_API_BIND_ADDR: address('HTTP'),
  MH_UI_BIND_ADDR: address('HTTP'),
  MH_HOSTNAME: nothing,
};

/** A disabled switch needs no conversion, because disabled is the default. */
const isSwitchedOff = (text: string): boolean => /^(?:0|false|no|off)$/i.test(text);

/** The defaults and environment variables that imitate the other program. */
export function settingsLike(program: (typeof PROGRAMS)[number], env: Environment) {
  const defaults: Record<string, string> = {
    ...DEV_DEFAULTS,
    MAYFLY_DIALECT: program,
    MAYFLY_SMTP_PORT: '1025',
    MAYFLY_SMTP_AUTH_PLAINTEXT: 'on',
    MAYFLY_DEV_KEY: 'open',
    MAYFLY_HOSTS: 'host.docker.internal',
  };
  const translated: Environment = {};
  const unknown: string[] = [];
  for (const [name, value] of Object.entries(env)) {
    const text = value?.trim() ?? '';
    if (!/^M[PH]_[A-Z]/.test(name) || text === '' || isSwitchedOff(text)) continue;
    if (CLOSING.includes(name)) Object.assign(translated, CLOSED);
    const settings = TRANSLATED[name]?.(text);
    if (settings) Object.assign(translated, settings);
    else unknown.push(name);
  }
  return { defaults, env: { ...translated, ...env }, warning: warningOf(unknown) };
}

function warningOf(names: string[]): string | undefined {
  if (names.length === 0) return undefined;
  const closed = names.some((name) => CLOSING.includes(name))
    ? ' Clients send an API key as the password; MAYFLY_API_KEY sets one.'
    : '';
  return `Mayfly does without ${names.join(', ')}.${closed} docs/migrating.md says what it has instead.`;
}
