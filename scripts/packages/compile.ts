/*
 * Compiles libraries to JavaScript and declarations. Node.js strips types only outside of node_modules, so what is
 * published must be JavaScript. The server has packages/server/build.js.
 */
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');

export type Format = 'esm' | 'cjs';

/** What a library is made of. */
export interface Bundle {
  /** Files that are imported or run, relative to the root. */
  entries: string[];
  target: string;
}

/** The file names of outputs, without their extension: `src/cli/main.ts` as `cli/main`. */
export const outputOf = (source: string) => source.replace(/^.*\/src\//, '').replace(/\.ts$/, '');

/**
 * Writes the JavaScript of a library as ES modules: one file for each entry, and those that entries share. Comments
 * are in the declarations only.
 */
export async function bundle({ entries, target }: Bundle): Promise<void> {
  const built = await rolldown({
    input: Object.fromEntries(entries.map((entry) => [outputOf(entry), join(ROOT, entry)])),
    external: (id) => !/^[./]/.test(id),
    platform: 'neutral',
    transform: { target: 'es2022' },
  });
  await built.write({
    dir: target,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: '[name].js',
    comments: false,
    minifyInternalExports: false,
  });
  for (const file of globSync('**/*.js', { cwd: target })) {
    const code = readFileSync(join(target, file), 'utf8');
    // Each module begins with the path of its source, which users do not have.
    writeFileSync(join(target, file), code.replaceAll(/^\/\/ packages\/.*\n/gm, ''));
  }
}

const NAMES = /\{([^}]*)\}/.source;

/**
 * An ES module of {@link bundle} as CommonJS, without the getter for each export that bundlers write. `import()`
 * becomes `require`: test runners such as Jest load CommonJS in a context of their own, without `import()`.
 * @throws Error for a form of import or export that {@link bundle} does not write
 */
export function toCommonJs(code: string): string {
  const renamed = (names: string) => names.replaceAll(' as ', ': ');
  const converted = code
    .replaceAll(
      new RegExp(`^export ${NAMES} from ("[^"]+");$`, 'gm'),
      (_, names, from) => `const {${renamed(names)}} = require(${from});\nmodule.exports = {${names}};`,
    )
    .replaceAll(
      new RegExp(`^import ${NAMES} from ("[^"]+");$`, 'gm'),
      (_, names, from) => `const {${renamed(names)}} = require(${from});`,
    )
    .replaceAll(/^import ("[^"]+");$/gm, 'require($1);')
    .replaceAll(new RegExp(`^export ${NAMES};$`, 'gm'), 'module.exports = {$1};')
    .replaceAll(/\bimport\(("[^"]+")\)/g, 'Promise.resolve().then(() => require($1))');
  const left = /^(?:import|export)\b.*|\bimport[.(].*|^module\.exports = .* as .*/m.exec(converted);
  if (left) throw new Error(`The build does not know how CommonJS writes: ${left[0]}`);
  return `'use strict';\n${converted}`;
}

export interface Declarations {
  /** Folder of the sources, relative to the root. */
  source: string;
  target: string;
  /** Files and folders of the sources that are left out. */
  without?: string[];
}

/** The compiler leaves the names of files as they are. */
const namesOfOutput = (code: string) => code.replaceAll(/((?:from |import\()'\.[^']*)\.ts'/g, "$1.js'");

/** Compiles a copy in a folder of its own, file by file, with the options of the project. */
export function writeDeclarations({ source, target, without = [] }: Declarations): void {
  const folder = mkdtempSync(join(ROOT, 'node_modules/.cache/compile-'));
  try {
    cpSync(join(ROOT, source), join(folder, 'src'), {
      recursive: true,
      filter: (path) => !without.some((name) => path.endsWith(`/${name}`)),
    });
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
    const config = {
      extends: join(ROOT, 'tsconfig.json'),
      compilerOptions: {
        noEmit: false,
        rootDir: 'src',
        outDir: 'out',
        stripInternal: true,
        rewriteRelativeImportExtensions: true,
        // Copies of sources of other packages are checked by `npm run check`.
        noCheck: true,
        types: ['node'],
      },
      include: ['src'],
      // The project leaves out node_modules, in which this copy lies.
      exclude: [],
    };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
    const options = ['--declaration', '--emitDeclarationOnly'];
    execFileSync(process.execPath, [TSC, '-p', folder, ...options], { stdio: 'inherit' });
    for (const file of globSync('**/*.d.ts', { cwd: join(folder, 'out') })) {
      const text = readFileSync(join(folder, 'out', file), 'utf8');
      mkdirSync(dirname(join(target, file)), { recursive: true });
      writeFileSync(join(target, file), namesOfOutput(text));
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
