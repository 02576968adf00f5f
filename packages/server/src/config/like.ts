import { dirname } from 'node:path';
import { splitPort } from '../text/host-port.ts';
import type { Environment } from './config.ts';
import { chosenKey, DEV_DEFAULTS } from './settings.ts';

/** `mayfly dev --like` imitates these programs: their default ports, HTTP API and environment variables. */
export const PROGRAMS = ['mailpit', 'mailhog'] as const;

/** Converts a value to settings of Mayfly. Returns undefined for a value without an equivalent. */
type Translate = (text: string) => Environment | undefined;

const address =
  (listener: 'HTTP' | 'SMTP'): Translate =>
  (text) => {
    const { host, port } = splitPort(text) ?? {};
    if (port === undefined) return undefined;
    return { [`MAYFLY_${listener}_PORT`]: port, ...(host && { [`MAYFLY_${listener}_HOST`]: host }) };
  };

const to =
  (name: string, from: (text: string) => string | undefined = (text) => text): Translate =>
  (text) => {
    const value = from(text);
    return value === undefined ? undefined : { [name]: value };
  };

/** The folder of a database file; undefined for the URL of an rqlite server. */
const folderOf = (path: string): string | undefined => (path.includes('://') ? undefined : dirname(path));

const isOn = (text: string): boolean => /^(?:1|true|yes|on)$/i.test(text);

/** Variables that cause no warning: Mayfly does what they request anyway, or lacks what they configure. */
const FULFILLED = [
  'MP_SMTP_AUTH_ACCEPT_ANY',
  'MP_SMTP_AUTH_ALLOW_INSECURE',
  'MP_SEND_API_AUTH_ACCEPT_ANY',
  'MP_SMTP_DISABLE_RDNS',
  'MP_DISABLE_VERSION_CHECK',
  'MP_HIDE_DELETE_ALL_BUTTON',
  'MP_BLOCK_REMOTE_CSS_AND_FONTS',
  'MP_COMPRESSION',
  'MP_ENABLE_CHAOS',
  'MP_DISABLE_WAL',
  'MH_HOSTNAME',
];

/** Uses the first password of a list `user:password …` as the API key, if its form is that of an API key. */
const password: Translate = (text) => {
  const [, key = ''] = /^[^:\s]+:(\S+)/.exec(text) ?? [];
  return chosenKey(key) === undefined ? undefined : { ...CLOSED, MAYFLY_API_KEY: key };
};

const CLOSED = { MAYFLY_DEV_KEY: 'off' };

/** Variables that switch the development key off, even if their value cannot be converted. */
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
  MH_SMTP_BIND_ADDR: address('SMTP'),
  MH_API_BIND_ADDR: address('HTTP'),
  MH_UI_BIND_ADDR: address('HTTP'),
};

const isSwitchedOff = (text: string): boolean => /^(?:0|false|no|off)$/i.test(text);

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
    if (!/^M[PH]_[A-Z]/.test(name) || text === '' || isSwitchedOff(text) || FULFILLED.includes(name))
      continue;
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
