import { parseArgs } from 'node:util';
import type { Match, Milliseconds } from '@mayfly/client';

/** An error in the arguments of the command line; exit code 1. */
export class UsageError extends Error {}

const TEXT = { type: 'string' } as const;
const FLAG = { type: 'boolean' } as const;
const texts = <Name extends string>(...names: Name[]) =>
  Object.fromEntries(names.map((name) => [name, TEXT])) as Record<Name, typeof TEXT>;
const flags = <Name extends string>(...names: Name[]) =>
  Object.fromEntries(names.map((name) => [name, FLAG])) as Record<Name, typeof FLAG>;
const OPTIONS = {
  ...texts('ttl', 'domain', 'local-part', 'subject', 'from', 'to', 'body', 'timeout', 'within'),
  ...texts('href', 'kind', 'pattern', 'inbox', 'run', 'expect', 'save', 'compare', 'junit'),
  ...flags('env', 'export', 'sms', 'all', 'text', 'html', 'raw', 'json', 'version'),
  label: { type: 'string', multiple: true },
  help: { type: 'boolean', short: 'h' },
} as const;

export type Values = ReturnType<typeof parse>['values'];

/** @throws UsageError for an unknown option or a missing value */
export function parse(args: string[]) {
  try {
    return parseArgs({ args, options: OPTIONS, allowPositionals: true });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

/**
 * Rejects options and arguments that the command would ignore.
 * @param options that the command accepts besides --inbox and --json
 * @param words the largest number of arguments after its name
 * @throws UsageError
 */
export function assertUsed(
  name: string,
  options: string[],
  words: number,
  values: Values,
  rest: string[],
): void {
  const ignored = Object.keys(values).find((one) => !['inbox', 'json', ...options].includes(one));
  if (ignored) {
    const known = options.map((one) => `--${one}`).join(', ') || 'none of its own';
    throw new UsageError(`"mf ${name}" has no option --${ignored}. It takes ${known}, --inbox and --json.`);
  }
  const extra = rest[words];
  if (extra === undefined) return;
  const meant = options.includes('subject')
    ? ` Write --subject ${JSON.stringify(extra)} for a part of the subject.`
    : '';
  throw new UsageError(`"mf ${name}" has no use for ${JSON.stringify(extra)}.${meant}`);
}

/** The conditions of a mail that a command waits for. */
export const matchOf = ({ subject, from, to, body }: Values): Match => ({
  ...(subject !== undefined && { subject }),
  ...(from !== undefined && { from }),
  ...(to !== undefined && { to }),
  ...(body !== undefined && { text: body }),
});

/** Parses the expression of `--pattern`. @throws UsageError */
export function patternOf(text: string): RegExp {
  try {
    return new RegExp(text);
  } catch (error) {
    throw new UsageError(`--pattern is not a regular expression. ${(error as Error).message}.`);
  }
}

/** Parses the minutes of `--ttl`. @throws UsageError */
export function minutes(text: string): number {
  if (/^\d+$/.test(text)) return Number(text);
  throw new UsageError(`"${text}" is not a number of minutes. Write --ttl 15.`);
}

const UNITS: Record<string, Milliseconds> = { ms: 1, s: 1000, '': 1000, m: 60_000 };

/** Parses seconds, or `30s`, `500ms`, `2m`. */
export function duration(text: string): Milliseconds {
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|m|)$/.exec(text) ?? [];
  if (number === undefined)
    throw new UsageError(`"${text}" is not a duration. Write 30 (seconds), 500ms or 2m.`);
  return Number(number) * (UNITS[unit] ?? 1000);
}

/** `--label run=1 --label worker=2` as an object. */
export function labels(pairs: string[] = []): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=');
      if (at < 1) throw new UsageError(`"${pair}" is not a label. Write --label name=value.`);
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
}

/** Parses JSON from the command line. @param advice what to write instead @throws UsageError */
export function jsonOf(text: string, advice: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new UsageError(`This is not JSON: ${text}. ${advice}`);
  }
}
