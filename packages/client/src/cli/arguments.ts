import { parseArgs } from 'node:util';

/** What the caller wrote wrongly; exit code 1. */
export class UsageError extends Error {}

const OPTIONS = {
  ttl: { type: 'string' },
  label: { type: 'string', multiple: true },
  domain: { type: 'string' },
  'local-part': { type: 'string' },
  env: { type: 'boolean' },
  export: { type: 'boolean' },
  inbox: { type: 'string' },
  subject: { type: 'string' },
  from: { type: 'string' },
  to: { type: 'string' },
  body: { type: 'string' },
  href: { type: 'string' },
  kind: { type: 'string' },
  pattern: { type: 'string' },
  timeout: { type: 'string' },
  for: { type: 'string' },
  all: { type: 'boolean' },
  text: { type: 'boolean' },
  html: { type: 'boolean' },
  raw: { type: 'boolean' },
  json: { type: 'boolean' },
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

const UNITS: Record<string, number> = { ms: 1, s: 1000, '': 1000, m: 60_000 };

/** `30s`, `500ms`, `2m`, or a number of seconds. @returns milliseconds */
export function duration(text: string): number {
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|m|)$/.exec(text) ?? [];
  if (number === undefined) throw new UsageError(`"${text}" is not a duration. Write 30s, 500ms or 2m.`);
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
