'use strict';
// `npm run dev`: the server from its sources, without a bundle.
const { enableCompileCache } = require('node:module');
const { join } = require('node:path');

const parent = process.ppid;
const { directory } = enableCompileCache(join(__dirname, '../../../node_modules/.cache/mayfly'));
// Threads read this.
if (directory) process.env.NODE_COMPILE_CACHE ??= directory;
void import('../src/main.ts').then(({ main }) => main(parent));
