'use strict';
// `npm run dev`: the server from its sources, without a bundle.
const parent = process.ppid;
void import('../src/main.ts').then(({ main }) => main(parent));
