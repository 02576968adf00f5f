/* Writes one version into every package: `node scripts/packages/version.ts 0.2.0`. `npm run release` does it too. */
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './compile.ts';

/** Our packages depend on each other with exact versions. */
const MANIFESTS = ['package.json', ...globSync('packages/*/package.json', { cwd: ROOT }).sort()];
const EXAMPLE = 'examples/signup/package.json';
/** Lines of other files that name the version. */
const LINES: Array<[file: string, line: RegExp]> = [
  ['python/pyproject.toml', /^version = "(.*)"$/m],
  ['python/src/mayfly/testcontainers.py', /^VERSION = "(.*)"$/m],
  ['deploy/helm/mayfly/Chart.yaml', /^version: (.*)$/m],
  ['deploy/helm/mayfly/Chart.yaml', /^appVersion: (.*)$/m],
  ['deploy/helm/mayfly/values.yaml', /^image: mayfly:(.*)$/m],
  ['packages/client/src/cli/run.ts', /^const VERSION = '(.*)';$/m],
  ['packages/mcp/src/server.ts', /^const VERSION = '(.*)';$/m],
  ['packages/testcontainers/src/index.ts', /^const VERSION = '(.*)';$/m],
];

const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');
const write = (file: string, text: string) => writeFileSync(join(ROOT, file), text);

const ours = (manifest: Record<string, Record<string, string>>) =>
  ['dependencies', 'devDependencies'].flatMap((group) =>
    Object.entries(manifest[group] ?? {}).filter(([name]) => name.startsWith('@mayfly/')),
  );

/** Every place that names the version, with the version that it names. */
export function versions(): Record<string, string> {
  const found: Record<string, string> = {};
  for (const file of [...MANIFESTS, EXAMPLE]) {
    const manifest = JSON.parse(read(file));
    if (file !== EXAMPLE) found[file] = manifest.version;
    for (const [name, version] of ours(manifest)) found[`${file} ${name}`] = version;
  }
  for (const [file, line] of LINES) found[`${file} ${line}`] = line.exec(read(file))?.[1] ?? 'none';
  found['openapi.json'] = JSON.parse(read('openapi.json')).info.version;
  return found;
}

/** Changes all of them, and what is generated from them. */
export function setVersion(version: string): void {
  for (const file of [...MANIFESTS, EXAMPLE]) {
    const manifest = JSON.parse(read(file));
    if (file !== EXAMPLE) manifest.version = version;
    for (const group of ['dependencies', 'devDependencies']) {
      for (const name of Object.keys(manifest[group] ?? {})) {
        if (name.startsWith('@mayfly/')) manifest[group][name] = version;
      }
    }
    write(file, `${JSON.stringify(manifest, null, 2)}\n`);
  }
  for (const [file, line] of LINES) {
    const text = read(file);
    const changed = text.replace(line, (whole, old: string) => whole.replace(old, version));
    write(file, changed);
  }
  const run = (...args: string[]) => execFileSync('npm', args, { cwd: ROOT, stdio: 'inherit' });
  run('install', '--package-lock-only', '--ignore-scripts', '--no-audit', '--no-fund');
  // The document names the version of the server.
  run('run', 'openapi');
}

if (process.argv[1] === import.meta.filename) {
  const [version = ''] = process.argv.slice(2);
  if (!/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version)) {
    process.stderr.write('Usage: node scripts/packages/version.ts <version>\n');
    process.exit(1);
  }
  setVersion(version);
}
