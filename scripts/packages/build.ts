/*
 * `npm run build`: makes what is published, one folder for each package below build/. `npm pack` in such a folder
 * makes the tarball. The console is built first, where its package has a build script.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CONTRACT, compile, ROOT } from './compile.ts';

export const BUILD = join(ROOT, 'build');

interface PackageJson {
  name: string;
  version: string;
  description: string;
  engines: Record<string, string>;
  exports?: Record<string, string>;
  bin?: Record<string, string>;
  dependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  peerDependenciesMeta?: Record<string, { optional: boolean }>;
}

/** Libraries: every export of the sources as an ES module, and for most as CommonJS too. */
const LIBRARIES = [
  // The contract is made of TypeBox values, for this repository only; `mf` needs no second copy.
  { folder: 'client', withCjs: true, onlyEsm: ['cli'], without: ['contract'] },
  { folder: 'playwright', withCjs: true, onlyEsm: [], without: [] },
  { folder: 'cypress', withCjs: true, onlyEsm: [], without: [] },
  { folder: 'testcontainers', withCjs: true, onlyEsm: [], without: [] },
  { folder: 'mcp', withCjs: false, onlyEsm: ['main.ts'], without: [] },
];
type Library = (typeof LIBRARIES)[number];

const readPackage = (folder: string): PackageJson =>
  JSON.parse(readFileSync(join(ROOT, 'packages', folder, 'package.json'), 'utf8'));
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as PackageJson;
const writeJson = (path: string, value: object) => writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`);

/** Our own packages are released together. */
const pinned = (dependencies: Record<string, string> = {}) =>
  Object.fromEntries(
    Object.entries(dependencies).map(([name, range]) => [
      name,
      name.startsWith('@mayfly/') ? version : range,
    ]),
  );

const common = (source: PackageJson) => ({
  description: source.description,
  license: 'Apache-2.0',
  engines: source.engines,
  publishConfig: { access: 'public', provenance: true },
});

/** `./src/index.ts` as `index`. */
const outputOf = (source: string) => source.replace('./src/', '').replace(/\.ts$/, '');

/** Both module systems have the same types, so that an inbox of one can be passed to the other. */
const shareTypes = (target: string, file: string) =>
  writeFileSync(join(target, `dist/esm/${file}.d.ts`), `export * from '../cjs/${file}.js';\n`);

/** `./src/index.ts` as its outputs, types first. */
function exportOf(source: string, withCjs: boolean) {
  const file = outputOf(source);
  const entry = (format: string) => ({
    types: `./dist/${format}/${file}.d.ts`,
    default: `./dist/${format}/${file}.js`,
  });
  return withCjs ? { import: entry('esm'), require: entry('cjs') } : entry('esm');
}

function buildLibrary({ folder, withCjs, onlyEsm, without }: Library): void {
  const source = readPackage(folder);
  const target = join(BUILD, folder);
  const sources = `packages/${folder}/src`;
  const exported = Object.entries(source.exports ?? {}).filter(
    ([, file]) => !without.some((name) => file.includes(`/${name}/`)),
  );
  compile({
    source: sources,
    target: join(target, 'dist/esm'),
    format: 'esm',
    withTypes: !withCjs,
    without,
  });
  if (withCjs) {
    compile({
      source: sources,
      target: join(target, 'dist/cjs'),
      format: 'cjs',
      withTypes: true,
      without: [...without, ...onlyEsm],
    });
    writeJson(join(target, 'dist/cjs/package.json'), { type: 'commonjs' });
    for (const [, file] of exported) shareTypes(target, outputOf(file));
  }
  writeJson(join(target, 'package.json'), {
    name: source.name,
    version,
    ...common(source),
    type: 'module',
    sideEffects: folder === 'cypress' ? ['./dist/*/commands.js'] : false,
    exports: {
      ...Object.fromEntries(exported.map(([name, file]) => [name, exportOf(file, withCjs)])),
      './package.json': './package.json',
    },
    ...(source.bin && {
      bin: Object.fromEntries(
        Object.entries(source.bin).map(([name, file]) => [
          name,
          file.replace('./src/', 'dist/esm/').replace(/\.ts$/, '.js'),
        ]),
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

/** The server with its contract and the console, as `mayfly`. */
function buildServer(): void {
  const source = readPackage('server');
  const target = join(BUILD, 'mayfly');
  const server = join(target, 'server');
  compile({ source: 'packages/server/src', target: join(server, 'dist'), format: 'esm', withTypes: false });
  compile({
    source: 'packages/client/src/contract',
    target: join(server, CONTRACT),
    format: 'esm',
    withTypes: false,
  });
  cpSync(join(ROOT, 'packages/server/bin'), join(server, 'bin'), { recursive: true });
  const bin = join(server, 'bin/mayfly.js');
  const text = readFileSync(bin, 'utf8')
    .replace('../src/main.ts', '../dist/main.js')
    // The node_modules folder that this package lies in.
    .replace('../../../node_modules/.cache/mayfly', '../../../.cache/mayfly');
  writeFileSync(bin, text);
  // The scope of these files, and what version.js reads.
  const { name, dependencies = {} } = source;
  const { '@mayfly/client': _, ...others } = dependencies;
  writeJson(join(server, 'package.json'), {
    name,
    version,
    type: 'module',
  });
  for (const folder of ['web/dist']) {
    const built = join(ROOT, 'packages', folder);
    if (existsSync(built)) cpSync(built, join(target, folder), { recursive: true });
    else process.stderr.write(`packages/${folder} does not exist: the package has no console.\n`);
  }
  writeJson(join(target, 'package.json'), {
    name: 'mayfly',
    version,
    ...common(source),
    type: 'module',
    bin: { mayfly: 'server/bin/mayfly.js' },
    dependencies: others,
    files: ['server', 'web'],
  });
  finish('server', target);
}

/** License and README. */
function finish(folder: string, target: string): void {
  cpSync(join(ROOT, 'LICENSE'), join(target, 'LICENSE'));
  const readme = join(ROOT, 'packages', folder, 'README.md');
  cpSync(existsSync(readme) ? readme : join(ROOT, 'README.md'), join(target, 'README.md'));
}

/** @returns the folders of the packages, ready for `npm pack` */
export function build(): string[] {
  rmSync(BUILD, { recursive: true, force: true });
  mkdirSync(BUILD, { recursive: true });
  mkdirSync(join(ROOT, 'node_modules/.cache'), { recursive: true });
  const web = JSON.parse(readFileSync(join(ROOT, 'packages/web/package.json'), 'utf8'));
  if (web.scripts?.build)
    execFileSync('npm', ['run', 'build', '--workspace', '@mayfly/web'], { cwd: ROOT, stdio: 'inherit' });
  const libraries = LIBRARIES.filter(({ folder }) =>
    existsSync(join(ROOT, 'packages', folder, 'package.json')),
  );
  for (const library of libraries) buildLibrary(library);
  buildServer();
  return [...libraries.map(({ folder }) => join(BUILD, folder)), join(BUILD, 'mayfly')];
}

if (process.argv[1] === import.meta.filename) {
  for (const folder of build()) process.stdout.write(`${folder.slice(ROOT.length)}\n`);
}
