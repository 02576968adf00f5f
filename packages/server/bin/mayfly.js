#!/usr/bin/env -S MALLOC_ARENA_MAX=2 node --max-semi-space-size=4 --expose-gc
'use strict';
// Plain JavaScript, and only this: it runs before anything can be cached. The settings above keep memory
// small and cost no speed that can be measured: room for young objects; heaps of glibc's malloc, which
// otherwise makes one for each thread and gives little back; the collection that src/memory.ts asks for.
const { existsSync } = require('node:fs');
const nodeModule = require('node:module');
const { join } = require('node:path');
const { versionProblem } = require('./node-version.js');

/** Read before the sources are loaded, which takes a second at the first start. */
const parent = process.ppid;

/** Undefined: the sources, from the second start on without their types. */
function bundle() {
  const here = join(__dirname, 'bundle.js');
  return existsSync(here) ? require(here).upToDateBundle() : join(__dirname, '../dist');
}

/**
 * Compiled code is kept on disk: from the second start on it need not be made again, which takes most of the time
 * and 10 MB a thread. It lies where nobody can write who could not change the program as well. Where the folder
 * cannot be written, or NODE_COMPILE_CACHE or NODE_DISABLE_COMPILE_CACHE says otherwise, so be it.
 */
function keepCompiled(folder) {
  const { directory } = nodeModule.enableCompileCache(folder);
  // Threads read this.
  if (directory) process.env.NODE_COMPILE_CACHE ??= directory;
}

function start() {
  const folder = bundle();
  keepCompiled(folder ? join(folder, '.cache') : join(__dirname, '../../../node_modules/.cache/mayfly'));
  if (folder && process.argv[2] === 'sendmail')
    return require(join(folder, 'cli-sendmail.cjs')).main(process, Date.now());
  if (folder) return require(join(folder, 'main.cjs')).main(parent);
  return import('../src/main.ts').then(({ main }) => main(parent));
}

const problem = versionProblem();
if (problem) {
  process.stderr.write(`${problem}\n`);
  process.exitCode = 1;
} else void start();
