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
}

function importsOf(file: string): Import[] {
  const statements = /(?:^(?:import|export)\s[^;]*?from\s*|import\s*\(\s*|^import\s*)'([^']+)'/gm;
  return [...source(file).matchAll(statements)].map(([, specifier = '']) => {
    const isOwn = specifier.startsWith('.');
    return { isOwn, target: isOwn ? normalize(join(dirname(file), specifier)) : specifier };
  });
}

/**
 * The levels of the folders (docs/internals/architecture.md): a file may import files of its own folder and of lower levels.
 */
const LEVELS = [
  ['text'],
  ['mail', 'database'],
  ['operations'],
  ['http'],
  ['accounts'],
  ['config'],
  ['usage'],
  ['inboxes', 'console'],
  ['refusals', 'providers', 'webhooks/outbound'],
  ['faults'],
  ['reading'],
  ['messages'],
  ['inbound', 'waits', 'webhooks'],
  ['smtp', 'reports', 'recordings', 'outgoing'],
  ['retention'],
];
/** Roots, which may import everything: what constructs the server, its commands, and all routes. `store.ts` lists the operations of all folders. */
const ROOTS =
  /^(main|app|start-mayfly)\.ts$|^cli\/|(^|\/)([a-z]+-)?api\.ts$|^http\/(access|routes)\/|^http\/(server|context)\.ts$/;
/** Transactions that cross nouns, with the SQL of nouns above them. */
const CROSSING = ['inboxes/sql/changing.ts', 'messages/sql/adding.ts'];
/** Arrows against the levels that have not been turned yet. */
const KNOWN = [
  'inboxes/new-inbox.ts imports http/access/credential.ts',
  'inboxes/new-inbox.ts imports http/context.ts',
  'inboxes/new-inbox.ts imports messages/cursor.ts',
];
/** Small modules at the root belong to no folder: everybody may import them, and they import each other and `text/`. */
const levelOf = (file: string) => LEVELS.findIndex((folders) => folders.includes(areaOf(file)));
/** Which folder alone may import a library. */
const HOME: Record<string, RegExp> = {
  'node:sqlite': /^(database|operations)\//,
  pg: /^database\//,
  fastify: /^http\/|^console\/|api\.ts$|^inboxes\/new-inbox\.ts$/,
  'iconv-lite': /^mail\//,
  htmlparser2: /^mail\//,
  undici: /^webhooks\//,
  mailauth: /^reading\/sender-checks\//,
  commander: /^(cli\/|main\.ts$)/,
};

/** Imports for which a condition is true, once each, in order. */
const importsWhere = (of: string[], isSo: (file: string, target: string, isOwn: boolean) => boolean) => {
  const found = of.flatMap((file) =>
    importsOf(file).flatMap(({ target, isOwn }) =>
      isSo(file, target, isOwn) ? [`${file} imports ${target}`] : [],
    ),
  );
  return [...new Set(found)].sort();
};

describe('the architecture', () => {
  it('lets files import files of their own folder and of lower levels only', () => {
    const ruled = files.filter((one) => !ROOTS.test(one) && one !== 'store.ts' && !CROSSING.includes(one));
    const violations = importsWhere(ruled, (file, target, isOwn) => {
      if (!isOwn || !target.endsWith('.ts') || areaOf(target) === areaOf(file)) return false;
      return ROOTS.test(target) || (target.includes('/') && levelOf(target) >= Math.max(levelOf(file), 1));
    });
    expect(violations).toEqual(KNOWN);
  });

  it('has a level for every folder of the sources', () => {
    const folders = readdirSync(SRC, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    const known = [...LEVELS.flat(), 'cli'];
    expect(folders.map(({ name }) => name).filter((name) => !known.includes(name))).toEqual([]);
  });

  it('has no two files that import each other', () => {
    const imports = new Map(files.map((file) => [file, importsOf(file).map(({ target }) => target)]));
    const pairs = importsWhere(files, (file, target) => imports.get(target)?.includes(file) === true);
    expect(pairs).toEqual([]);
  });

  it('keeps each library in its folder', () => {
    const isLibrary = (target: string, library: string) => `${target}/`.startsWith(`${library}/`);
    const violations = importsWhere(files, (file, target, isOwn) =>
      Object.entries(HOME).some(([name, home]) => !isOwn && isLibrary(target, name) && !home.test(file)),
    );
    expect(violations).toEqual([]);
  });

  it('lets only main.ts touch the process', () => {
    const touching = files.filter((file) => /\bprocess\.[a-z]|from 'node:process'/.test(source(file)));
    expect(touching).toEqual(['main.ts']);
  });

  it('reads time and randomness at the edge only', () => {
    const call = /\bDate\.now\(|\bnew Date\(\)|\bMath\.random\(|(?<!\.)\bset(?:Timeout|Interval)\(/;
    const reading = files.filter((file) => call.test(source(file)));
    expect(reading.filter((file) => !['clock.ts', 'ids.ts', 'main.ts'].includes(file))).toEqual([]);
  });
});
