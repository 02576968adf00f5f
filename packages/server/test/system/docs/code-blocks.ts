import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '../../../../..');

/**
 * How a code block is tested, from the HTML comment on the line before it:
 * - `run`: executed in one shell with the other `run` blocks of the page
 * - `output`: all of its JSON fields are in the output of the preceding `run` block
 * - `file: PATH`: is the content of that file (relative to the page), which another test runs
 * - `by hand: HOW`: how it was run
 */
const KINDS = ['run', 'output', 'file', 'by hand'];

export type CodeBlock = ReturnType<typeof codeBlocksOf>[number];

/** README and every page in docs/, relative to the root. */
export const PAGES = [
  'README.md',
  ...globSync('docs/**/*.md', { cwd: ROOT, exclude: ['docs/node_modules'] }),
].sort();

const FENCE = /^( *)```(\S*)[^\n]*\n([\s\S]*?)^\1```$/gm;

/** @returns the kind, which is "none" without a valid comment, and the rest of the comment */
function markerBefore(text: string) {
  const [, words = ''] = /<!-- ([^\n]*) -->\s*$/.exec(text) ?? [];
  const [, kind = '', rest = ''] = /^([a-z ]+?)(?:: (.*))?$/.exec(words) ?? [];
  return { kind: KINDS.includes(kind) ? kind : 'none', rest };
}

/** @returns the fenced code blocks of a page in order, each with the line of its opening fence */
export function codeBlocksOf(page: string) {
  const source = readFileSync(join(ROOT, page), 'utf8');
  return [...source.matchAll(FENCE)].map((match) => {
    const before = source.slice(0, match.index);
    const [, indent = '', language = '', text = ''] = match;
    const line = before.split('\n').length;
    const code = text.replaceAll(new RegExp(`^${indent}`, 'gm'), '');
    return { page, line, language, text: code, marker: markerBefore(before) };
  });
}

/** @returns indented code blocks, which no test would run */
export function indentedCodeOf(page: string): string[] {
  const source = readFileSync(join(ROOT, page), 'utf8').replaceAll(FENCE, '');
  return [...source.matchAll(/\n\n {4}(\S[^\n]*)/g)]
    .map(([, line = '']) => line)
    .filter((line) => !/^[-*\d]/.test(line));
}
