import { nearest, quoted } from '../text/nearest.ts';
import { SETTINGS } from './settings.ts';

export type Environment = Record<string, string | undefined>;

const PREFIX = 'MAYFLY_';
const FILE_SUFFIX = '_FILE';

const NAMES = Object.values(SETTINGS).map(({ name }) => name);
const KNOWN = new Set(NAMES.flatMap((name) => [name, name + FILE_SUFFIX]));

/** Read by clients, which often run in the same job as the server. */
const CLIENT_NAMES = new Set(['MAYFLY_URL', 'MAYFLY_TOKEN', 'MAYFLY_INBOX_ID', 'MAYFLY_INBOX_ADDRESS']);

/*
 * Kubernetes sets variables for every Service of a namespace. Those of a Service `mayfly`, or one whose name begins
 * with `mayfly-`, have our prefix:
 * https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables
 */
const INJECTED_NAME =
  /^MAYFLY_(?:[A-Z0-9_]+_)?(?:SERVICE_HOST|SERVICE_PORT(?:_[A-Z0-9_]+)?|PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)$/;
/** The value of `NAME_PORT`. */
const INJECTED_URL = /^(?:tcp|udp|sctp):\/\/\S+:\d+$/;

const isInjectedUrl = (name: string, value: string | undefined): boolean =>
  name.endsWith('_PORT') && INJECTED_URL.test(value ?? '');

/**
 * True for a setting such as `MAYFLY_HTTP_PORT` whose value Kubernetes set for a Service `mayfly-http`. Such a value
 * is ignored.
 */
const isFromKubernetes = (name: string, env: Environment): boolean =>
  isInjectedUrl(name, env[name]) && env[name.replace(/PORT$/, 'SERVICE_HOST')] !== undefined;

/** The trimmed text of a setting; undefined if it is not set. */
export const givenText = (name: string, env: Environment): string | undefined =>
  isFromKubernetes(name, env) ? undefined : env[name]?.trim();

/** True if a setting is set, directly or by a file. */
export const isGiven = (name: string, env: Environment): boolean =>
  givenText(name, env) !== undefined || env[name + FILE_SUFFIX] !== undefined;

function suggestion(name: string): string {
  const isFile = name.toUpperCase().endsWith(FILE_SUFFIX);
  const given = name.slice(PREFIX.length, isFile ? -FILE_SUFFIX.length : undefined);
  const known = nearest(
    given,
    NAMES.map((one) => one.slice(PREFIX.length)),
  );
  return known === undefined
    ? ' "mayfly config --table" lists all settings.'
    : ` Did you mean ${PREFIX}${known}${isFile ? FILE_SUFFIX : ''}?`;
}

/** Warnings about variables that have our prefix and are not used. */
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
