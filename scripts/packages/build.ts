/*
 * `npm run build`: makes what is published, one folder for each package below build/. `npm pack` in such a folder
 * makes the tarball. The console is built first, where its package has a build script.
 */
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { isolatedDeclarationSync } from 'rolldown/experimental';
import { bundle, type Format, outputOf, ROOT, toCommonJs, writeDeclarations } from './compile.ts';

export const BUILD = join(ROOT, 'build');

interface PackageJson {
  name: string;
  version: string;
  description: string;
  keywords?: string[];
  engines: Record<string, string>;
  exports?: Record<string, string>;
  bin?: Record<string, string>;
  dependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  peerDependenciesMeta?: Record<string, { optional: boolean }>;
}

/** Libraries: every export of the sources as an ES module, and for most as CommonJS too. */
const LIBRARIES = [
  // For this repository only: the contract, which is made of TypeBox values, and what the web console uses.
  { folder: 'client', withCjs: true, without: ['contract', 'console'] },
  { folder: 'playwright', withCjs: true, without: [] },
  { folder: 'vitest', withCjs: false, without: [] },
  { folder: 'cypress', withCjs: true, without: [] },
  { folder: 'testcontainers', withCjs: true, without: [] },
  { folder: 'mcp', withCjs: false, without: [] },
];
type Library = (typeof LIBRARIES)[number];

const readPackage = (folder: string): PackageJson =>
  JSON.parse(readFileSync(join(ROOT, 'packages', folder, 'package.json'), 'utf8'));
const { version, description, repository, bugs, homepage } = JSON.parse(
  readFileSync(join(ROOT, 'package.json'), 'utf8'),
) as PackageJson & { repository: { type: string; url: string }; bugs: string; homepage: string };
const writeJson = (path: string, value: object) => writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`);

/** Our own packages are released together. */
const pinned = (dependencies: Record<string, string> = {}) =>
  Object.fromEntries(
    Object.entries(dependencies).map(([name, range]) => [
      name,
      name.startsWith('@mayfly/') ? version : range,
    ]),
  );

/** The licences of the code and data of others that the server contains. */
const NOTICES = 'THIRD-PARTY-NOTICES';

/** Words by which the server is found; those of the libraries are in their sources. */
const KEYWORDS = ['email', 'testing', 'e2e', 'inbox', 'disposable', 'smtp', 'smtp-server', 'mailpit', 'otp'];

/** npm compares `repository` with the repository that a release with provenance was built in. */
const common = (source: PackageJson, folder: string) => ({
  description: source.description,
  keywords: source.keywords ?? KEYWORDS,
  license: 'Apache-2.0',
  homepage,
  bugs,
  repository: { ...repository, directory: `packages/${folder}` },
  engines: source.engines,
  publishConfig: { access: 'public', provenance: true },
});

/** `./src/index.ts` as its outputs, types first. */
function exportOf(source: string, withCjs: boolean) {
  const file = outputOf(source);
  const entry = (format: Format) => ({
    types: `./dist/${format}/${file}.d.ts`,
    default: `./dist/${format}/${file}.js`,
  });
  return withCjs ? { import: entry('esm'), require: entry('cjs') } : entry('esm');
}

/**
 * For `moduleResolution: node10`, which knows no export maps: TypeScript before 6 uses it with CommonJS, as many
 * projects of Cypress, Jest and Playwright have it.
 */
function fieldsForNode10(exported: Record<string, string>) {
  const { '.': main = '', ...others } = exported;
  const types = (source: string) => `./dist/cjs/${outputOf(source)}.d.ts`;
  const paths = Object.entries(others).map(([name, source]) => [name.slice(2), [types(source)]]);
  return {
    main: `./dist/cjs/${outputOf(main)}.js`,
    types: types(main),
    ...(paths.length > 0 && { typesVersions: { '*': Object.fromEntries(paths) } }),
  };
}

/** A declaration and those that it names. */
function withNamed(folder: string, file: string, known = new Set<string>()): Set<string> {
  if (known.has(file)) return known;
  known.add(file);
  for (const [, name = ''] of readFileSync(join(folder, file), 'utf8').matchAll(/['"]\.\/([\w/-]+)\.js['"]/g))
    withNamed(folder, join(dirname(file), `${name}.d.ts`), known);
  return known;
}

/** Indented by tabs, as the JavaScript is. */
const withTabs = (code: string) =>
  code.replaceAll(/^(?: {4})+/gm, (spaces) => '\t'.repeat(spaces.length / 4));

/**
 * Writes the declarations of the exports, and no others. Both module systems have the same ones, so that an inbox
 * of one can be passed to the other.
 */
function writeTypes({ folder, withCjs, without }: Library, exported: string[], dist: string): void {
  const types = join(dist, withCjs ? 'cjs' : 'esm');
  writeDeclarations({ source: `packages/${folder}/src`, target: types, without });
  const named = new Set(exported.flatMap((file) => [...withNamed(types, `${outputOf(file)}.d.ts`)]));
  for (const file of globSync('**/*.d.ts', { cwd: types })) {
    if (!named.has(file)) rmSync(join(types, file));
    else writeFileSync(join(types, file), withTabs(readFileSync(join(types, file), 'utf8')));
  }
  if (!withCjs) return;
  for (const file of exported)
    writeFileSync(join(dist, `esm/${outputOf(file)}.d.ts`), `export * from '../cjs/${outputOf(file)}.js';\n`);
}

/** The ES modules once more as CommonJS, without the programs. */
function writeCommonJs(dist: string, programs: string[]): void {
  const left = new Set(programs.map((file) => `${outputOf(file)}.js`));
  for (const file of globSync('**/*.js', { cwd: join(dist, 'esm') })) {
    if (left.has(file)) continue;
    const target = join(dist, 'cjs', file);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, toCommonJs(readFileSync(join(dist, 'esm', file), 'utf8')));
  }
  writeJson(join(dist, 'cjs/package.json'), { type: 'commonjs' });
}

async function buildLibrary(library: Library): Promise<void> {
  const { folder, withCjs, without } = library;
  const source = readPackage(folder);
  const target = join(BUILD, folder);
  const dist = join(target, 'dist');
  const exported = Object.entries(source.exports ?? {}).filter(
    ([, file]) => !without.some((name) => file.includes(`/${name}/`)),
  );
  const entries = (files: string[]) => files.map((file) => join('packages', folder, file));
  const imported = exported.map(([, file]) => file);
  const programs = Object.values(source.bin ?? {});
  await bundle({ entries: entries([...imported, ...programs]), target: join(dist, 'esm') });
  if (withCjs) writeCommonJs(dist, programs);
  writeTypes(library, imported, dist);
  writeJson(join(target, 'package.json'), {
    name: source.name,
    version,
    ...common(source, folder),
    type: 'module',
    ...(withCjs && fieldsForNode10(Object.fromEntries(exported))),
    sideEffects: folder === 'cypress' ? ['./dist/*/commands.js'] : false,
    exports: {
      ...Object.fromEntries(exported.map(([name, file]) => [name, exportOf(file, withCjs)])),
      './package.json': './package.json',
    },
    ...(source.bin && {
      bin: Object.fromEntries(
        Object.entries(source.bin).map(([name, file]) => [name, `dist/esm/${outputOf(file)}.js`]),
      ),
    }),
    // The contract alone needs TypeBox.
    ...(folder !== 'client' && { dependencies: pinned(source.dependencies) }),
    ...(source.peerDependencies && { peerDependencies: source.peerDependencies }),
    ...(source.peerDependenciesMeta && { peerDependenciesMeta: source.peerDependenciesMeta }),
    files: ['dist'],
  });
  finish(folder, target);
}

/** What `mayfly` exports; its types name no others. */
const START = 'packages/server/src/start-mayfly.ts';

/** The server as `mayfly`: the bundle that a clone runs, too. */
function buildServer(): void {
  const source = readPackage('server');
  const target = join(BUILD, 'mayfly');
  mkdirSync(target);
  execFileSync(process.execPath, [join(ROOT, 'packages/server/build.js'), join(target, 'dist')]);
  renameSync(join(target, 'dist', NOTICES), join(target, NOTICES));
  const { code } = isolatedDeclarationSync(START, readFileSync(join(ROOT, START), 'utf8'));
  writeFileSync(join(target, 'dist/start-mayfly.d.cts'), withTabs(code));
  for (const file of ['jest-environment.js', 'mayfly.js', 'node-version.js', 'package.json'])
    cpSync(join(ROOT, 'packages/server/bin', file), join(target, 'bin', file));
  writeJson(join(target, 'package.json'), {
    name: 'mayfly',
    version,
    ...common({ ...source, description }, 'server'),
    // Of the files of the console; those of the server are named .cjs, or have a package.json of their own.
    type: 'module',
    bin: { mayfly: 'bin/mayfly.js' },
    // Comes with Jest; only bin/jest-environment.js needs it.
    peerDependencies: { 'jest-environment-node': '*' },
    peerDependenciesMeta: { 'jest-environment-node': { optional: true } },
    main: './dist/start-mayfly.cjs',
    types: './dist/start-mayfly.d.cts',
    exports: {
      '.': { types: './dist/start-mayfly.d.cts', default: './dist/start-mayfly.cjs' },
      './jest-environment': './bin/jest-environment.js',
      './package.json': './package.json',
    },
    files: ['bin', 'dist', NOTICES],
  });
  finish('server', target);
}

/** License and README. */
function finish(folder: string, target: string): void {
  cpSync(join(ROOT, 'LICENSE'), join(target, 'LICENSE'));
  cpSync(join(ROOT, 'packages', folder, 'README.md'), join(target, 'README.md'));
}

/** @returns the folders of the packages, ready for `npm pack` */
export async function build(): Promise<string[]> {
  rmSync(BUILD, { recursive: true, force: true });
  mkdirSync(BUILD, { recursive: true });
  mkdirSync(join(ROOT, 'node_modules/.cache'), { recursive: true });
  const web = JSON.parse(readFileSync(join(ROOT, 'packages/web/package.json'), 'utf8'));
  if (web.scripts?.build)
    execFileSync('npm', ['run', 'build', '--workspace', '@mayfly/web'], { cwd: ROOT, stdio: 'inherit' });
  const libraries = LIBRARIES.filter(({ folder }) =>
    existsSync(join(ROOT, 'packages', folder, 'package.json')),
  );
  for (const library of libraries) await buildLibrary(library);
  buildServer();
  return [...libraries.map(({ folder }) => join(BUILD, folder)), join(BUILD, 'mayfly')];
}

if (process.argv[1] === import.meta.filename) {
  for (const folder of await build()) process.stdout.write(`${folder.slice(ROOT.length)}\n`);
}
