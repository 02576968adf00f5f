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

const CONDITIONS = ['subject', 'from', 'to', 'body'];
/** What a command takes besides --inbox and --json: options, and how many words after its name. */
const USAGE: Record<string, { options?: string[]; words?: number }> = {
  new: { options: ['ttl', 'label', 'domain', 'local-part', 'env', 'export'] },
  code: { options: [...CONDITIONS, 'pattern', 'timeout'] },
  link: { options: [...CONDITIONS, 'href', 'kind', 'timeout'] },
  wait: { options: [...CONDITIONS, 'timeout'] },
  silence: { options: [...CONDITIONS, 'for'] },
  tail: { options: ['all'] },
  list: { options: ['all', 'label'] },
  read: { options: ['text', 'html', 'raw'], words: 1 },
  save: { words: 2 },
  open: {},
  faults: { words: 1 },
  lint: { words: 1 },
  timeline: { words: 1 },
  rm: { options: ['label'] },
  report: { options: ['label'] },
  call: { words: 2 },
  'wait-ready': { options: ['timeout'] },
};

/** @throws UsageError for what the command would ignore: it would do something else than was meant */
export function assertUsed(name: string, values: Values, rest: string[]): void {
  const { options = [], words = 0 } = USAGE[name] ?? {};
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

/** The expression of `--pattern`. @throws UsageError */
export function pattern(text: string): RegExp {
  try {
    return new RegExp(text);
  } catch (error) {
    throw new UsageError(`--pattern is not a regular expression. ${(error as Error).message}.`);
  }
}

/** The minutes of `--ttl`. @throws UsageError */
export function minutes(text: string): number {
  if (/^\d+$/.test(text)) return Number(text);
  throw new UsageError(`"${text}" is not a number of minutes. Write --ttl 15.`);
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
