import { execFile } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, it } from 'vitest';
import { useFolderOfTest } from '../../support/folder.ts';

const run = promisify(execFile);
const PROJECT = join(import.meta.dirname, '../../../../..');
const PACKAGE = `node-${process.platform}-${process.arch}`;

const project = useFolderOfTest();
beforeEach(() => {
  for (const path of ['scripts/prepare-node.js', 'packages/server/bin', 'package.json']) {
    cpSync(join(PROJECT, path), join(project(), path), { recursive: true });
  }
  mkdirSync(join(project(), 'node_modules/.bin'), { recursive: true });
  mkdirSync(join(project(), 'scripts/node'), { recursive: true });
  // A script in place of npm, which stores its arguments and installs nothing.
  const store = "require('node:fs').writeFileSync(__dirname + '/npm.txt', process.argv.slice(2).join(' '))";
  writeFileSync(npm(), store);
});

const link = () => join(project(), 'node_modules/.bin/node');
const bundled = () => join(project(), 'scripts/node/node_modules', PACKAGE, 'bin/node');

/** Installs the npm package of Node.js with another program. */
function install(program: string): void {
  mkdirSync(dirname(bundled()), { recursive: true });
  writeFileSync(bundled(), program);
  chmodSync(bundled(), 0o755);
}

const npm = () => join(project(), 'npm.cjs');

const RUNS = '#!/bin/sh\necho v24.21.0\n';
const DOES_NOT_RUN = '#!/no/such/loader\n';

/** Runs the script at the end of `npm ci`. @param versions the Node.js version and platform to emulate */
async function afterInstall(versions?: { node: string; platform?: string }): Promise<string> {
  const disguise = versions
    ? [
        '--import',
        `data:text/javascript,Object.defineProperty(process,"versions",{value:{...process.versions,node:"${versions.node}"}});${
          versions.platform ? `Object.defineProperty(process,"platform",{value:"${versions.platform}"})` : ''
        }`,
      ]
    : [];
  const { stderr, stdout } = await run(process.execPath, [...disguise, 'scripts/prepare-node.js'], {
    cwd: project(),
    env: { ...process.env, npm_execpath: npm() },
  });
  expect(stdout).toBe('');
  return stderr.trim();
}

const asked = () =>
  existsSync(join(project(), 'npm.txt')) && readFileSync(join(project(), 'npm.txt'), 'utf8');

describe.skipIf(process.platform === 'win32')('the Node.js of the project, after npm ci', () => {
  it('is the installed one where that is new enough, and npm installs no other', async () => {
    expect(await afterInstall({ node: '24.15.0' })).toBe('');
    expect(existsSync(link())).toBe(false);
    expect(asked()).toBe(false);
  });

  it('is the one that the lock file of scripts/node pins where the installed one is too old', async () => {
    expect(await afterInstall({ node: '20.20.2' })).toMatch(
      /^Node 20\.20\.2 is too old for Mayfly: installing/,
    );
    expect(asked()).toMatch(/^ci --include=optional/);
    const { packages } = JSON.parse(readFileSync(join(PROJECT, 'scripts/node/package-lock.json'), 'utf8'));
    expect(packages[`node_modules/${PACKAGE}`].integrity).toMatch(/^sha512-/);
  });

  it.each(['no', 'a broken'])('is installed once, and linked where there is %s link', async (before) => {
    install(RUNS);
    if (before !== 'no') symlinkSync('../node-sparc/bin/node', link());
    expect(await afterInstall({ node: '20.20.2' })).toBe('');
    expect(realpathSync(link())).toBe(realpathSync(bundled()));
    expect(asked()).toBe(false);
  });

  it('is missing where the one of npm does not run, as on Linux without glibc, and it says so', async () => {
    install(DOES_NOT_RUN);
    expect(await afterInstall({ node: '20.20.2' })).toMatch(/Mayfly needs Node 24\.15 or newer/);
    expect(lstatSync(link(), { throwIfNoEntry: false })).toBeUndefined();
  });

  it('comes with an `exec` program on Windows, whose shell has none and which `npm start` needs', async () => {
    expect(await afterInstall({ node: '24.15.0', platform: 'win32' })).toBe('');
    expect(readFileSync(join(project(), 'node_modules/.bin/exec.cmd'), 'utf8')).toBe('@%*\r\n');
    const { scripts } = JSON.parse(readFileSync(join(PROJECT, 'package.json'), 'utf8'));
    expect(scripts.start).toMatch(/^exec mayfly dev$/);
  });

  it('is reported as missing on macOS where the installed one is too old, with what to do', async () => {
    expect(await afterInstall({ node: '22.20.0', platform: 'darwin' })).toBe(
      `Mayfly needs Node 24.15 or newer, and this is 22.20.0. For this system (darwin-${process.arch}) npm has no Node package that the project could bring: install Node 24 from https://nodejs.org or with your version manager, and run \`npm start\` again.`,
    );
  });
});
