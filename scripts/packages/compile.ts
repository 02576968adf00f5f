/*
 * Compiles one package to JavaScript and declarations, with the compiler and the options of the project. Node
 * strips types only outside of node_modules, so what is published must be JavaScript.
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
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');

/** In the published server the contract is a folder beside that of its own output. */
export const CONTRACT = 'contract';

export type Format = 'esm' | 'cjs';

export interface Compilation {
  /** Folder of the sources, relative to the root. */
  source: string;
  target: string;
  format: Format;
  /** Declarations are only for packages that programs import. Comments are in them, and not in the JavaScript. */
  withTypes: boolean;
  /** Files and folders of the sources that are left out. */
  without?: string[];
}

/** Names of files that the compiler leaves as they are: those of workers, and all in declarations. */
const namesOfOutput = (code: string) =>
  code.replaceAll(/((?:new URL\(|from |import\()'\.[^']*)\.ts'/g, "$1.js'");

/**
 * Modules that are loaded later. Test runners such as Jest load CommonJS in a context of their own, in which
 * `import()` is not available.
 */
const withRequire = (code: string) =>
  code.replaceAll(/\bimport\(('[^']+')\)/g, 'Promise.resolve().then(() => require($1))');

/** Compiles a copy in a folder of its own: its package.json says whether the output is ESM or CommonJS. */
export function compile({ source, target, format, withTypes, without = [] }: Compilation): void {
  const folder = mkdtempSync(join(ROOT, 'node_modules/.cache/compile-'));
  try {
    cpSync(join(ROOT, source), join(folder, 'src'), {
      recursive: true,
      filter: (path) => !without.some((name) => path.endsWith(`/${name}`)),
    });
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    writeFileSync(
      join(folder, 'package.json'),
      JSON.stringify({ type: format === 'esm' ? 'module' : 'commonjs' }),
    );
    // version.ts reads it.
    if (source.startsWith('packages/server'))
      cpSync(join(ROOT, 'packages/server/package.json'), join(folder, 'package.json'));
    const config = {
      extends: join(ROOT, 'tsconfig.json'),
      compilerOptions: {
        noEmit: false,
        rootDir: 'src',
        outDir: 'out',
        stripInternal: true,
        rewriteRelativeImportExtensions: true,
        verbatimModuleSyntax: format === 'esm',
        // Copies of sources of other packages are checked by `npm run check`.
        noCheck: true,
        types: ['node'],
      },
      include: ['src'],
      // The project leaves out node_modules, in which this copy lies.
      exclude: [],
    };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
    const tsc = (...options: string[]) =>
      execFileSync(process.execPath, [TSC, '-p', folder, ...options], { stdio: 'inherit' });
    tsc('--removeComments');
    if (withTypes) tsc('--declaration', '--emitDeclarationOnly');
    for (const file of globSync('**/*.{js,d.ts}', { cwd: join(folder, 'out') })) {
      const text = readFileSync(join(folder, 'out', file), 'utf8');
      mkdirSync(dirname(join(target, file)), { recursive: true });
      const contract = relative(dirname(file), join('..', CONTRACT, 'index.js'));
      const code = namesOfOutput(text).replaceAll("'@mayfly/client/contract'", `'${contract}'`);
      writeFileSync(join(target, file), format === 'cjs' && file.endsWith('.js') ? withRequire(code) : code);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
