#!/usr/bin/env -S MALLOC_ARENA_MAX=2 node --max-semi-space-size=4 --expose-gc
import * as nodeModule from 'node:module';
import { fileURLToPath } from 'node:url';
import { versionProblem } from './node-version.js';

// Plain JavaScript, and only this: it runs before anything can be cached. The settings above keep memory
// small and cost no speed that can be measured: room for young objects; heaps of glibc's malloc, which
// otherwise makes one for each thread and gives little back; the collection that src/memory.ts asks for.

/** Read before the sources are loaded, which takes a second at the first start. */
const parent = process.ppid;

/** Where tools keep such things, and nobody can write who could not change the sources as well. */
const CACHE = fileURLToPath(new URL('../../../node_modules/.cache/mayfly', import.meta.url));

const problem = versionProblem();
if (problem) {
  process.stderr.write(`${problem}\n`);
  process.exit(1);
}

/*
 * Compiled modules, and TypeScript without its types, are kept on disk: from the second start on neither
 * has to be made again, which takes most of the time and 10 MB a thread. Where the folder cannot be
 * written, or NODE_COMPILE_CACHE or NODE_DISABLE_COMPILE_CACHE says otherwise, so be it.
 */
const { directory } = nodeModule.enableCompileCache(CACHE);
// Threads read this.
if (directory) process.env.NODE_COMPILE_CACHE ??= directory;

const { main } = await import('../src/main.ts');
await main(parent);
