import { addBatch } from './sql/adding.ts';
import { ending } from './sql/ending.ts';
import { imports } from './sql/imports.ts';
import { one } from './sql/one.ts';
import { pages } from './sql/pages.ts';
import { searching } from './sql/search.ts';

export const messages = { addBatch, ...pages, ...searching, ...one, ...ending, ...imports };
