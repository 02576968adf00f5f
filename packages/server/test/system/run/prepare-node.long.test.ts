import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { useFolderOfTest } from '../../support/folder.ts';

const PROJECT = join(import.meta.dirname, '../../../../..');
const PACKAGE = `node-${process.platform}-${process.arch}`;

const project = useFolderOfTest();
const path = (name: string) => join(project(), name);
beforeEach(() => {
  for (const name of ['scripts/prepare-node.js', 'packages/server/bin', 'package.json'])
    cpSync(join(PROJECT, name), path(name), { recursive: true });
  mkdirSync(path('node_modules/.bin'), { recursive: true });
  mkdirSync(path('scripts/node'), { recursive: true });
  // A script in place of npm, which stores its arguments and installs nothing.
  const store = "require('node:fs').writeFileSync(__dirname + '/npm.txt', process.argv.slice(2).join(' '))";
  writeFileSync(path('npm.cjs'), store);
});

const link = () => path('node_modules/.bin/node');
const bundled = () => path(`scripts/node/node_modules/${PACKAGE}/bin/node`);

/** Installs the npm package of Node.js with another program. */
function install(program: string): void {
  mkdirSync(dirname(bundled()), { recursive: true });
  writeFileSync(bundled(), program, { mode: 0o755 });
}

const RUNS = '#!/bin/sh\necho v24.21.0\n';
const DOES_NOT_RUN = '#!/no/such/loader\n';

/** Runs the script at the end of `npm ci`, with another version of Node.js. @returns its standard error */
function afterInstall(node: string, platform: string = process.platform): string {
  const versions = `{value:{...process.versions,node:"${node}"}}`;
  const disguise = `Object.defineProperties(process,{versions:${versions},platform:{value:"${platform}"}})`;
  const args = ['--import', `data:text/javascript,${disguise}`, 'scripts/prepare-node.js'];
  const env = { ...process.env, npm_execpath: path('npm.cjs') };
  const done = spawnSync(process.execPath, args, { cwd: project(), env, encoding: 'utf8' });
  expect(done).toMatchObject({ status: 0, stdout: '' });
  return done.stderr.trim();
}

const asked = () => existsSync(path('npm.txt')) && readFileSync(path('npm.txt'), 'utf8');

describe.skipIf(process.platform === 'win32')('the Node.js of the project, after npm ci', () => {
  it('is the installed one where that is new enough, and npm installs no other', () => {
    expect(afterInstall('24.15.0')).toBe('');
    expect(existsSync(link())).toBe(false);
    expect(asked()).toBe(false);
  });

  it('is the one that the lock file of scripts/node pins where the installed one is too old', () => {
    expect(afterInstall('20.20.2')).toMatch(/^Node 20\.20\.2 is too old for Mayfly: installing/);
    expect(asked()).toMatch(/^ci --include=optional/);
    const { packages } = JSON.parse(readFileSync(join(PROJECT, 'scripts/node/package-lock.json'), 'utf8'));
    expect(packages[`node_modules/${PACKAGE}`].integrity).toMatch(/^sha512-/);
  });

  it.each(['no', 'a broken'])('is installed once, and linked where there is %s link', (before) => {
    install(RUNS);
    if (before !== 'no') symlinkSync('../node-sparc/bin/node', link());
    expect(afterInstall('20.20.2')).toBe('');
    expect(realpathSync(link())).toBe(realpathSync(bundled()));
    expect(asked()).toBe(false);
  });

  it('is missing where the one of npm does not run, as on Linux without glibc, and it says so', () => {
    install(DOES_NOT_RUN);
    expect(afterInstall('20.20.2')).toMatch(/Mayfly needs Node 24\.15 or newer/);
    expect(existsSync(link())).toBe(false);
  });

  it('comes with an `exec` program on Windows, whose shell has none and which `npm start` needs', () => {
    expect(afterInstall('24.15.0', 'win32')).toBe('');
    expect(readFileSync(path('node_modules/.bin/exec.cmd'), 'utf8')).toBe('@%*\r\n');
    const { scripts } = JSON.parse(readFileSync(join(PROJECT, 'package.json'), 'utf8'));
    expect(scripts.start).toMatch(/^exec mayfly dev$/);
  });

  it('is reported as missing on macOS where the installed one is too old, with what to do', () => {
    expect(afterInstall('22.20.0', 'darwin')).toBe(
      `Mayfly needs Node 24.15 or newer, and this is 22.20.0. For this system (darwin-${process.arch}) npm has no Node package that the project could bring: install Node 24 from https://nodejs.org or with your version manager, and run \`npm start\` again.`,
    );
  });
});
