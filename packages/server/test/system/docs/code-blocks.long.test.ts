import { execFile } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { startApp, type TestApp } from '../../support/start-app.ts';
import { type CodeBlock, codeBlocksOf, indentedCodeOf, PAGES, ROOT } from './code-blocks.ts';

const BETWEEN = '=== block ===';
/** Minimum length of a description of how a block was run by hand. */
const MIN_HOW_LETTERS = 15;
const where = ({ page, line }: CodeBlock) => `${page}:${line}`;

/** Runs the blocks of a page as one script. @returns the output of each block */
async function runBlocks(blocks: CodeBlock[], app: TestApp): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'mayfly-docs-'));
  const script = [
    'set -euo pipefail',
    // Without npx, which adds half a second to each command.
    'npx() { "$@"; }',
    // `npm run mail -- …` outside of the repository.
    'npm() { shift 3; mayfly mail "$@"; }',
    ...blocks.map(({ text }) => `${text}\necho '${BETWEEN}'`),
  ]
    .join('\n')
    .replaceAll('http://127.0.0.1:8025', app.url)
    .replaceAll('127.0.0.1:2525', `${app.smtp.host}:${app.smtp.port}`);
  try {
    const { stdout } = await promisify(execFile)('bash', ['-c', script], {
      cwd: folder,
      env: {
        PATH: `${join(ROOT, 'node_modules/.bin')}:${process.env.PATH}`,
        HOME: folder,
        KEY: 'dev',
        API: app.url,
        MAYFLY_URL: app.url,
        MAYFLY_DATA_DIR: app.dataDir,
        MAYFLY_SMTP_PORT: String(app.smtp.port),
      },
    });
    return stdout.split(BETWEEN);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @returns relative links of a page whose file or heading does not exist */
function brokenLinksOf(page: string): string[] {
  const source = readFileSync(join(ROOT, page), 'utf8').replaceAll(/^```[\s\S]*?^```$/gm, '');
  return [...source.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link = '']) => link)
    .filter((link) => {
      if (/^[a-z]+:/.test(link)) return false;
      const [path = '', anchor] = link.split('#');
      const file = path === '' ? join(ROOT, page) : join(ROOT, dirname(page), path);
      if (!existsSync(file)) return true;
      return anchor !== undefined && !headingsOf(readFileSync(file, 'utf8')).includes(anchor);
    });
}

/** @returns the anchors of the headings; a repeated heading gets a number, as in Markdown viewers */
function headingsOf(markdown: string): string[] {
  const counts = new Map<string, number>();
  return [...markdown.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => {
    const anchor = heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-');
    const count = counts.get(anchor) ?? 0;
    counts.set(anchor, count + 1);
    return count === 0 ? anchor : `${anchor}-${count}`;
  });
}

const fieldsOf = (json: string) => [...json.matchAll(/"(\w+)":/g)].map(([, name = '']) => name);

describe('README and docs', () => {
  const blocks = PAGES.flatMap(codeBlocksOf);

  it('say for each code block how it is tested', () => {
    const silent = blocks.filter(({ marker }) => marker.kind === 'none');
    expect(silent.map(where)).toEqual([]);
    const vague = blocks.filter(
      ({ marker }) => marker.kind === 'by hand' && marker.how.length < MIN_HOW_LETTERS,
    );
    expect(vague.map(where)).toEqual([]);
  });

  it('have no indented code blocks, which the tests would not find', () => {
    expect(PAGES.flatMap((page) => indentedCodeOf(page).map((line) => `${page}: ${line}`))).toEqual([]);
  });

  it('show files as they are', () => {
    for (const block of blocks) {
      if (block.marker.kind !== 'file') continue;
      const file = readFileSync(join(ROOT, dirname(block.page), block.marker.path), 'utf8');
      expect({ at: where(block), text: block.text }).toEqual({ at: where(block), text: file });
    }
  });

  it('have no broken links', () => {
    expect(PAGES.flatMap((page) => brokenLinksOf(page).map((link) => `${page}: ${link}`))).toEqual([]);
  });

  it('are listed in docs/README.md, each page once: the navigation of the site is made of it', () => {
    const list = readFileSync(join(ROOT, 'docs/README.md'), 'utf8');
    const listed = [...list.matchAll(/^- \[[^\]]+\]\(([^)]+\.md)\)/gm)].map(([, page]) => `docs/${page}`);
    const others = ['README.md', 'docs/README.md'];
    expect(listed.toSorted()).toEqual(PAGES.filter((page) => !others.includes(page)));
  });

  it('show every picture, and no picture lies there that no page shows', () => {
    const shown = PAGES.flatMap((page) =>
      [...readFileSync(join(ROOT, page), 'utf8').matchAll(/!\[[^\]]+\]\(([^)]+)\)/g)].map(([, path = '']) =>
        join(dirname(page), path),
      ),
    );
    const pictures = globSync('docs/**/*.png', { cwd: ROOT, exclude: ['docs/node_modules'] });
    expect([...new Set(shown)].toSorted()).toEqual(pictures.toSorted());
  });

  const pages = PAGES.filter((page) => codeBlocksOf(page).some(({ marker }) => marker.kind === 'run'));
  // Concurrent, because the commands of a page mostly wait for its server.
  it.concurrent.for(pages)(
    'have code blocks that run as they are and print what is shown: %s',
    async (page, { expect }) => {
      const app = await startApp({
        MAYFLY_WEBHOOK_ALLOW: '127.0.0.0/8',
        MAYFLY_SIGNUP_PLAN: 'free',
        MAYFLY_SINK: 'on',
        MAYFLY_DEV_KEY: 'on',
      });
      try {
        const onPage = codeBlocksOf(page);
        const outputs = await runBlocks(
          onPage.filter(({ marker }) => marker.kind === 'run'),
          app,
        );
        let run = -1;
        for (const block of onPage) {
          if (block.marker.kind === 'run') run++;
          if (block.marker.kind !== 'output') continue;
          const missing = fieldsOf(block.text).filter((name) => !outputs[run]?.includes(`"${name}":`));
          expect({ at: where(block), missing, got: missing.length > 0 ? outputs[run] : '' }).toEqual({
            at: where(block),
            missing: [],
            got: '',
          });
        }
      } finally {
        await app.stop();
      }
    },
  );
});
