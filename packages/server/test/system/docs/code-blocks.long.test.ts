import { execFile } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { useFolder } from '../../support/folder.ts';
import { startApp, type TestApp } from '../../support/start-app.ts';
import { type CodeBlock, codeBlocksOf, indentedCodeOf, PAGES, ROOT } from './code-blocks.ts';

const BETWEEN = '=== block ===';
/** Minimum length of a description of how a block was run by hand. */
const MIN_HOW_LETTERS = 15;
const where = ({ page, line }: CodeBlock) => `${page}:${line}`;
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const folder = useFolder();

/** Runs the blocks of a page as one script. @returns the output of each block */
async function runBlocks(blocks: CodeBlock[], app: TestApp): Promise<string[]> {
  const cwd = mkdtempSync(join(folder(), 'page-'));
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
  const env = {
    ...{ PATH: `${join(ROOT, 'node_modules/.bin')}:${process.env.PATH}`, HOME: cwd, KEY: 'dev' },
    ...{ API: app.url, MAYFLY_URL: app.url, MAYFLY_DATA_DIR: app.dataDir },
    MAYFLY_SMTP_PORT: String(app.smtp.port),
  };
  const { stdout } = await promisify(execFile)('bash', ['-c', script], { cwd, env });
  return stdout.split(BETWEEN);
}

/** @returns relative links of a page whose file or heading does not exist */
function brokenLinksOf(page: string): string[] {
  const source = read(page).replaceAll(/^```[\s\S]*?^```$/gm, '');
  const links = [...source.matchAll(/\]\((?![a-z]+:)([^)\s]+)\)/g)].map(([, link = '']) => link);
  return links.filter((link) => {
    const [path = '', anchor] = link.split('#');
    const file = path === '' ? page : join(dirname(page), path);
    if (!existsSync(join(ROOT, file))) return true;
    return anchor !== undefined && !headingsOf(read(file)).includes(anchor);
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
    const isVague = ({ marker }: CodeBlock) =>
      marker.kind === 'none' || (marker.kind === 'by hand' && marker.rest.length < MIN_HOW_LETTERS);
    expect(blocks.filter(isVague).map(where)).toEqual([]);
  });

  it('have no indented code blocks, which the tests would not find', () => {
    expect(PAGES.flatMap((page) => indentedCodeOf(page).map((line) => `${page}: ${line}`))).toEqual([]);
  });

  it('show files as they are', () => {
    for (const block of blocks) {
      if (block.marker.kind !== 'file') continue;
      const file = read(join(dirname(block.page), block.marker.rest));
      expect({ at: where(block), text: block.text }).toEqual({ at: where(block), text: file });
    }
  });

  it('have no broken links', () => {
    expect(PAGES.flatMap((page) => brokenLinksOf(page).map((link) => `${page}: ${link}`))).toEqual([]);
  });

  it('are listed in docs/README.md, each page once: the navigation of the site is made of it', () => {
    const listed = [...read('docs/README.md').matchAll(/^- \[[^\]]+\]\(([^)]+\.md)\)/gm)].map(
      ([, page]) => `docs/${page}`,
    );
    const others = ['README.md', 'docs/README.md'];
    expect(listed.toSorted()).toEqual(PAGES.filter((page) => !others.includes(page)));
  });

  it('show every picture, and no picture lies there that no page shows', () => {
    const shown = PAGES.flatMap((page) => {
      const images = [...read(page).matchAll(/!\[[^\]]+\]\(([^)]+)\)/g)];
      return images.map(([, path = '']) => join(dirname(page), path));
    });
    const pictures = globSync('docs/**/*.png', { cwd: ROOT, exclude: ['docs/node_modules'] });
    expect([...new Set(shown)].toSorted()).toEqual(pictures.toSorted());
  });

  const ENV = { MAYFLY_SINK: 'on', MAYFLY_DEV_KEY: 'on' };
  const pages = PAGES.filter((page) => codeBlocksOf(page).some(({ marker }) => marker.kind === 'run'));
  // Concurrent, because the commands of a page mostly wait for its server.
  it.concurrent.for(pages)(
    'have code blocks that run as they are and print what is shown: %s',
    async (page, { expect, onTestFinished }) => {
      const app = await startApp({ ...ENV, MAYFLY_WEBHOOK_ALLOW: '127.0.0.0/8', MAYFLY_SIGNUP_PLAN: 'free' });
      onTestFinished(app.stop);
      const onPage = codeBlocksOf(page);
      const runs = onPage.filter(({ marker }) => marker.kind === 'run');
      const outputs = await runBlocks(runs, app);
      let output = '';
      for (const block of onPage) {
        if (block.marker.kind === 'run') output = outputs.shift() ?? '';
        if (block.marker.kind !== 'output') continue;
        const missing = fieldsOf(block.text).filter((name) => !output.includes(`"${name}":`));
        expect(missing, `${where(block)}: ${output}`).toEqual([]);
      }
    },
  );
});
