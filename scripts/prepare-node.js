/*
 * Runs after `npm ci`, in the project's folder. On Linux and Windows npm installs a Node.js of the right version
 * as a package (optionalDependencies), and npm 11 links it to node_modules/.bin/node, where npm's scripts find
 * it before the one of the system. npm 10 removes that link again together with the packages for other systems,
 * so it is made here. Where there is no such package (macOS), or it does not run (Linux without glibc), the
 * installed Node.js is used, if it is new enough.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SYSTEM, versionProblem } from '../packages/server/bin/node-version.js';

const MODULES = 'node_modules';
const LINK = join(MODULES, '.bin', 'node');
const isWindows = process.platform === 'win32';
const binary = join(MODULES, `node-${SYSTEM}`, 'bin', isWindows ? 'node.exe' : 'node');

/** True for a link, also for one that leads nowhere. */
const isThere = (path) => lstatSync(path, { throwIfNoEntry: false }) !== undefined;

// `npm start` begins with the shell's `exec`, so that npm waits for the server. On Windows there is none, and no
// signal either: there it is a program that runs its arguments.
if (isWindows) {
  mkdirSync(join(MODULES, '.bin'), { recursive: true });
  writeFileSync(join(MODULES, '.bin', 'exec.cmd'), '@%*\r\n');
}
if (spawnSync(binary, ['--version']).status === 0) {
  if (!isWindows && !existsSync(LINK)) {
    mkdirSync(join(MODULES, '.bin'), { recursive: true });
    rmSync(LINK, { force: true });
    symlinkSync(join('..', `node-${SYSTEM}`, 'bin', 'node'), LINK);
  }
} else {
  if (!isWindows && isThere(LINK)) rmSync(LINK);
  const problem = versionProblem();
  // Not an error: the rest is installed, and `npm start` says it again.
  if (problem) process.stderr.write(`\n${problem}\n\n`);
}
