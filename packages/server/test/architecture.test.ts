import { globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';

const SRC = join(import.meta.dirname, '../src');
const files = globSync('**/*.ts', { cwd: SRC });
const source = (file: string) => readFileSync(join(SRC, file), 'utf8');

/** The top folder of a file, or its own name for a file at the root of the sources. */
const areaOf = (file: string) =>
  file.includes('/') ? (file.split('/')[0] ?? '') : file.replace(/\.ts$/, '');

interface Import {
  /** Relative to the sources for our own files, otherwise the name of a package. */
  target: string;
  isOwn: boolean;
  isTypeOnly: boolean;
}

function importsOf(file: string): Import[] {
  const found: Import[] = [];
  const statements = /(?:^(?:import|export)\s(type\s)?[^;]*?from\s*|import\s*\(\s*|^import\s*)'([^']+)'/gm;
  for (const [, type, specifier = ''] of source(file).matchAll(statements)) {
    const isOwn = specifier.startsWith('.');
    found.push({
      target: isOwn ? normalize(join(dirname(file), specifier)) : specifier,
      isOwn,
      isTypeOnly: type !== undefined,
    });
  }
  return found;
}

/** Small modules at the root that every folder may import; they import nothing but each other. */
const LEAVES = [
  'cache',
  'clock',
  'connection-limiter',
  'errors',
  'events',
  'ids',
  'log',
  'memory',
  'nearest',
  'version',
  'write-behind',
];
/** Which folders a folder may import, beside the leaves and itself (docs/internals/architecture.md). */
const MAY_IMPORT: Record<string, string[]> = {
  smtp: ['inbound', 'mail', 'monitoring', 'store', 'accounts'],
  inbound: ['mail', 'store', 'quota', 'accounts'],
  http: ['messages', 'accounts', 'quota', 'webhooks', 'inbound', 'mail', 'monitoring', 'store', 'console'],
  console: [],
  cli: ['config', 'accounts', 'quota', 'store'],
  config: ['accounts', 'webhooks'],
  monitoring: ['mail', 'store'],
  start: [
    ...['accounts', 'config', 'http', 'inbound', 'messages', 'monitoring', 'quota', 'smtp', 'store'],
    'webhooks',
  ],
  run: ['app', 'config'],
  messages: ['accounts', 'mail', 'store'],
  accounts: ['mail', 'store'],
  quota: ['accounts', 'mail', 'store'],
  webhooks: ['accounts', 'mail', 'monitoring', 'store'],
  store: ['mail'],
  mail: [],
};
/** Folders that see the store's contract only as types and constants, never an engine. */
const CONTRACT_ONLY = ['smtp', 'inbound', 'http', 'cli', 'messages', 'accounts', 'quota', 'webhooks'];
/** Which folder alone may import a library. */
const HOME: Record<string, RegExp> = {
  kysely: /^store\//,
  'node:sqlite': /^store\/sqlite\//,
  pg: /^store\/postgres\//,
  fastify: /^(http|console)\//,
  'iconv-lite': /^mail\//,
  htmlparser2: /^mail\//,
  undici: /^webhooks\//,
  mailauth: /^inbound\/authentication\//,
  commander: /^(cli\/|main\.ts$)/,
};

describe('the architecture', () => {
  it('lets each folder import only the folders of the table', () => {
    const violations: string[] = [];
    for (const file of files) {
      const area = areaOf(file);
      const allowed = LEAVES.includes(area) ? [] : MAY_IMPORT[area];
      if (!allowed) continue;
      for (const { target, isOwn } of importsOf(file)) {
        const to = areaOf(target);
        if (isOwn && target.endsWith('.ts') && to !== area && !LEAVES.includes(to) && !allowed.includes(to)) {
          violations.push(`${file} imports ${target}`);
        }
      }
    }
    expect(violations).toEqual([]);
  });

  it('knows every folder of the sources', () => {
    const folders = readdirSync(SRC, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    expect(folders.map(({ name }) => name).sort()).toEqual(Object.keys(MAY_IMPORT).sort());
  });

  it('shows the contract of the store, and no engine, to the other folders', () => {
    const violations: string[] = [];
    for (const file of files.filter((one) => CONTRACT_ONLY.includes(areaOf(one)))) {
      for (const { target, isOwn } of importsOf(file)) {
        if (isOwn && target.startsWith('store/') && !target.startsWith('store/contract/')) {
          violations.push(`${file} imports ${target}`);
        }
      }
    }
    expect(violations).toEqual([]);
  });

  it('has no two files that import each other', () => {
    const imports = new Map(
      files.map((file) => [file, new Set(importsOf(file).map(({ target }) => target))]),
    );
    const pairs = files.flatMap((file) =>
      [...(imports.get(file) ?? [])]
        .filter((target) => file < target && imports.get(target)?.has(file))
        .map((target) => `${file} and ${target}`),
    );
    expect(pairs).toEqual([]);
  });

  it('keeps each library in its folder', () => {
    const violations: string[] = [];
    for (const file of files) {
      for (const { target, isOwn } of importsOf(file)) {
        if (isOwn) continue;
        const home = Object.entries(HOME).find(
          ([library]) => target === library || target.startsWith(`${library}/`),
        );
        if (home && !home[1].test(file)) violations.push(`${file} imports ${target}`);
      }
    }
    expect(violations).toEqual([]);
  });

  it('lets only main.ts touch the process', () => {
    const touching = files.filter((file) => /\bprocess\.[a-z]|from 'node:process'/.test(source(file)));
    expect(touching).toEqual(['main.ts']);
  });

  it('reads time and randomness at the edge only', () => {
    const edge = ['clock.ts', 'ids.ts', 'main.ts'];
    const reading = files.filter(
      (file) =>
        !edge.includes(file) &&
        /\bDate\.now\(|\bnew Date\(\)|\bMath\.random\(|(?<!\.)\bsetTimeout\(|(?<!\.)\bsetInterval\(/.test(
          source(file),
        ),
    );
    expect(reading).toEqual([]);
  });
});
