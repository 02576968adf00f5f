/*
 * Runs after `npm ci`, in the project's folder. Where the installed Node.js is too old, it installs the one of
 * scripts/node, which its lock file pins, and links it to node_modules/.bin/node, where npm's scripts find it first.
 * Where npm has no such package (macOS), or it does not run (Linux without glibc), it prints what to do.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { isBundled, SYSTEM, versionProblem } from '../packages/server/bin/node-version.js';

const FOLDER = join('scripts', 'node');
const PROGRAMS = join('node_modules', '.bin');
const LINK = join(PROGRAMS, 'node');
const isWindows = process.platform === 'win32';
const binary = join(FOLDER, 'node_modules', `node-${SYSTEM}`, 'bin', isWindows ? 'node.exe' : 'node');

/** True for a link, also for one that leads nowhere. */
const isThere = (path) => lstatSync(path, { throwIfNoEntry: false }) !== undefined;
const runs = () => spawnSync(binary, ['--version']).status === 0;

function install() {
  const { npm_execpath: npm } = process.env;
  const [program, ...first] = npm ? [process.execPath, npm] : ['npm'];
  // What npm itself was called with is in the environment, such as --omit=optional.
  const args = [...first, 'ci', '--include=optional', '--no-audit', '--no-fund'];
  process.stderr.write(
    `Node ${process.versions.node} is too old for Mayfly: installing another in ${FOLDER}\n`,
  );
  spawnSync(program, args, { cwd: FOLDER, stdio: ['ignore', 'ignore', 'inherit'], shell: isWindows && !npm });
  // 67 of 189 MB: headers, for compilers of addons.
  rmSync(join(FOLDER, 'node_modules', `node-${SYSTEM}`, 'include'), { recursive: true, force: true });
}

mkdirSync(PROGRAMS, { recursive: true });
// `npm start` begins with the shell's `exec`, so that npm waits for the server. On Windows there is none, and no
// signal either: there it is a program that runs its arguments.
if (isWindows) writeFileSync(join(PROGRAMS, 'exec.cmd'), '@%*\r\n');
if (!existsSync(LINK) && isThere(LINK)) rmSync(LINK);

const problem = versionProblem();
if (problem) {
  if (isBundled && !runs()) install();
  if (!runs()) {
    // Not an error: the rest is installed, and `npm start` says it again.
    process.stderr.write(`\n${problem}\n\n`);
  } else if (isWindows) {
    writeFileSync(join(PROGRAMS, 'node.cmd'), `@"%~dp0..\\..\\${binary}" %*\r\n`);
  } else {
    rmSync(LINK, { force: true });
    symlinkSync(relative(PROGRAMS, binary), LINK);
  }
}
