import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';

const SRC = join(import.meta.dirname, '../src');
const files = globSync('**/*.ts', { cwd: SRC });
const source = (file: string) => readFileSync(join(SRC, file), 'utf8');

/** The room a file stands in: its folder, or its own name at the top. */
const roomOf = (file: string) =>
  file.includes('/') ? (file.split('/')[0] ?? '') : file.replace(/\.ts$/, '');

/** What a file imports: rooms of ours, and packages by name. */
function importsOf(file: string): { rooms: string[]; packages: string[] } {
  const rooms: string[] = [];
  const packages: string[] = [];
  for (const [, specifier = ''] of source(file).matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)) {
    if (specifier.startsWith('.')) rooms.push(roomOf(normalize(join(dirname(file), specifier))));
    else packages.push(specifier);
  }
  return { rooms, packages };
}

/** Small rooms that everybody may use. */
const EVERYWHERE = ['errors', 'clock', 'ids', 'log', 'events', 'version'];
/** Who may import whom (docs/architecture.md). */
const MAY_IMPORT: Record<string, string[]> = {
  smtp: ['core', 'mail', 'store'],
  http: ['core', 'store', 'mail'],
  cli: ['config', 'core', 'store'],
  core: ['mail', 'store', 'webhooks'],
  store: ['mail', 'core'],
  mail: [],
  webhooks: ['mail', 'store'],
};
/** Of these a room may see the types and nothing that runs. */
const TYPES_ONLY: Record<string, string[]> = {
  smtp: ['store'],
  http: ['store'],
  cli: ['store'],
  core: ['store'],
  webhooks: ['store'],
};
/** The plain values of core that others share. */
const CORE_VALUES = new Set(['core/limits.ts', 'core/memory.ts', 'core/plans.ts']);
/** Who alone may see a library. */
const HOME: Record<string, RegExp> = {
  kysely: /^store\//,
  'node:sqlite': /^store\//,
  fastify: /^http\//,
  'smtp-server': /^smtp\//,
  'postal-mime': /^mail\//,
  htmlparser2: /^mail\//,
  undici: /^webhooks\//,
  mailauth: /^core\/authenticate-/,
  commander: /^(cli\/|main\.ts$)/,
};

describe('the lines of the house', () => {
  it('are held by rooms: each imports only those it may', () => {
    const crossed: string[] = [];
    for (const file of files) {
      const allowed = MAY_IMPORT[roomOf(file)];
      if (!allowed) continue;
      for (const room of importsOf(file).rooms) {
        if (room !== roomOf(file) && !EVERYWHERE.includes(room) && !allowed.includes(room)) {
          crossed.push(`${file} imports ${room}`);
        }
      }
    }
    expect(crossed).toEqual([]);
  });

  it('let only types of the store out of it', () => {
    const crossed: string[] = [];
    for (const file of files) {
      for (const room of TYPES_ONLY[roomOf(file)] ?? []) {
        const runs = new RegExp(`^import (?!type )[^;]*from '\\.[^']*/${room}/[^']+'`, 'm');
        if (runs.test(source(file))) crossed.push(`${file} imports values of ${room}`);
      }
    }
    expect(crossed).toEqual([]);
  });

  it('keep the store below core: it shares its plain values only', () => {
    const crossed: string[] = [];
    for (const file of files.filter((one) => one.startsWith('store/'))) {
      for (const [, specifier = ''] of source(file).matchAll(/from '([^']+)'/g)) {
        const target = normalize(join(dirname(file), specifier));
        if (target.startsWith('core/') && !CORE_VALUES.has(target)) crossed.push(`${file} imports ${target}`);
      }
    }
    expect(crossed).toEqual([]);
  });

  it('keep each library in its room', () => {
    const crossed: string[] = [];
    for (const file of files) {
      for (const name of importsOf(file).packages) {
        const home = Object.entries(HOME).find(
          ([library]) => name === library || name.startsWith(`${library}/`),
        );
        if (home && !home[1].test(file)) crossed.push(`${file} imports ${name}`);
      }
    }
    expect(crossed).toEqual([]);
  });

  it('let only main.ts touch the process', () => {
    const touching = files.filter((file) => /\bprocess\.[a-z]|from 'node:process'/.test(source(file)));
    expect(touching).toEqual(['main.ts']);
  });

  it('let time and chance in at the edge only', () => {
    const edge = ['clock.ts', 'ids.ts', 'main.ts'];
    const reading = files.filter(
      (file) =>
        !edge.includes(file) &&
        /\bDate\.now\(|\bnew Date\(\)|\bMath\.random\(|\bsetTimeout\(|\bsetInterval\(/.test(source(file)),
    );
    expect(reading).toEqual([]);
  });
});
