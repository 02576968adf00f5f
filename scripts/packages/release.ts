/*
 * `npm run release -- VERSION [--tested] [--publish]`: versions, checks, builds and tries all packages, and shows what
 * would be published. docs/internals/releasing.md has the checklist.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './compile.ts';
import { setVersion } from './version.ts';

const [version = '', ...flags] = process.argv.slice(2);
/** A package comes after those that it needs. */
const ORDER = [
  'mayfly-client',
  'mayfly-playwright',
  'mayfly-vitest',
  'mayfly-cypress',
  'mayfly-testcontainers',
  'mayfly-mcp',
  'mayfly',
];

const run = (program: string, ...args: string[]) =>
  execFileSync(program, args, { cwd: ROOT, stdio: 'inherit' });
const fail = (text: string): never => {
  process.stderr.write(`${text}\n`);
  process.exit(1);
};

const unknown = flags.find((flag) => flag !== '--publish' && flag !== '--tested');
if (!/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version) || unknown)
  fail('Usage: npm run release -- <version> [--tested] [--publish]');
if (execFileSync('git', ['status', '--porcelain'], { cwd: ROOT, encoding: 'utf8' }) !== '') {
  fail('There are changes that are not committed. Commit or remove them first.');
}
const heading = new RegExp(`^## ${version.replaceAll('.', '\\.')} \\(\\d{4}-\\d{2}-\\d{2}\\)$`, 'm');
if (!heading.test(readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8'))) {
  fail(`CHANGELOG.md has no section "## ${version} (<date>)". Write it first.`);
}
setVersion(version);
// `npm install` accepts lock files that `npm ci` refuses.
run('npm', 'ci', '--dry-run', '--ignore-scripts', '--loglevel=error');
run('npm', 'run', 'check');
if (!flags.includes('--tested')) run('npm', 'run', 'test:all');
run('npm', 'run', 'try-packages');
const isDryRun = !flags.includes('--publish');
for (const name of ORDER) {
  const tarball = join(ROOT, 'build/tarballs', `${name}-${version}.tgz`);
  run('npm', 'publish', tarball, ...(isDryRun ? ['--dry-run', '--provenance=false'] : []));
}
process.stdout.write(
  isDryRun
    ? 'Nothing was published. Commit the versions, tag, and repeat with --publish.\n'
    : 'Published on npm. Upload build/python to PyPI: see docs/internals/releasing.md.\n',
);
