/*
 * `npm run release -- VERSION [--publish]`: versions, checks, builds and tries all packages, and shows what would be
 * published. docs/releasing.md has the checklist.
 */
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './compile.ts';

const [version = '', flag] = process.argv.slice(2);
/** A package comes after those that it needs. */
const ORDER = ['mayfly-client', 'mayfly-playwright', 'mayfly-cypress', 'mayfly-mcp', 'mayfly'];

const run = (program: string, ...args: string[]) =>
  execFileSync(program, args, { cwd: ROOT, stdio: 'inherit' });
const fail = (text: string): never => {
  process.stderr.write(`${text}\n`);
  process.exit(1);
};

function setVersion(): void {
  for (const path of [
    'package.json',
    ...globSync('packages/*/package.json', { cwd: ROOT }),
    'examples/signup/package.json',
  ]) {
    const file = join(ROOT, path);
    const manifest = JSON.parse(readFileSync(file, 'utf8'));
    if (path !== 'examples/signup/package.json') manifest.version = version;
    for (const group of ['dependencies', 'devDependencies']) {
      for (const name of Object.keys(manifest[group] ?? {})) {
        if (name.startsWith('@mayfly/')) manifest[group][name] = version;
      }
    }
    writeFileSync(file, `${JSON.stringify(manifest, null, 2)}\n`);
  }
  const python = join(ROOT, 'python/pyproject.toml');
  writeFileSync(python, readFileSync(python, 'utf8').replace(/^version = ".*"$/m, `version = "${version}"`));
  const mcp = join(ROOT, 'packages/mcp/src/server.ts');
  writeFileSync(
    mcp,
    readFileSync(mcp, 'utf8').replace(/^const VERSION = '.*';$/m, `const VERSION = '${version}';`),
  );
  run('npm', 'install', '--package-lock-only', '--ignore-scripts');
  // The document names the version of the server.
  run('npm', 'run', 'openapi');
}

if (!/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version)) fail('Usage: npm run release -- <version> [--publish]');
if (execFileSync('git', ['status', '--porcelain'], { cwd: ROOT, encoding: 'utf8' }) !== '') {
  fail('There are changes that are not committed. Commit or remove them first.');
}
if (!readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8').includes(`## ${version}`)) {
  fail(`CHANGELOG.md has no section "## ${version}". Write it first.`);
}
setVersion();
run('npm', 'run', 'check');
run('npm', 'test');
run('npm', 'run', 'try-packages');
for (const name of ORDER) {
  const tarball = join(ROOT, 'build/tarballs', `${name}-${version}.tgz`);
  run('npm', 'publish', tarball, ...(flag === '--publish' ? [] : ['--dry-run', '--provenance=false']));
}
process.stdout.write(
  flag === '--publish'
    ? 'Published.\n'
    : 'Nothing was published. Commit the versions, tag, and repeat with --publish.\n',
);
