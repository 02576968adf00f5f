import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { defineConfig } from 'vitepress';

const DOCS = join(import.meta.dirname, '..');
const ROOT = join(DOCS, '..');
const { repository, version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const REPOSITORY = repository.url.replace(/^git\+|\.git$/g, '');

const LOGO = `data:image/svg+xml,${encodeURIComponent(readFileSync(join(ROOT, 'packages/web/src/icon.svg'), 'utf8'))}`;

/** Tables and code that are not on the screen are not laid out: that is most of what the page of the API costs. */
const ON_SCREEN_ONLY =
  '.vp-doc table, .vp-doc div[class*="language-"] { content-visibility: auto; contain-intrinsic-size: auto 300px }';

/** The navigation is the list of pages in docs/README.md: its headings, and the links below them. */
function sidebar() {
  const sections = readFileSync(join(DOCS, 'README.md'), 'utf8').split(/^## /m).slice(1);
  return sections.map((section) => ({
    text: section.slice(0, section.indexOf('\n')),
    collapsed: section.startsWith('Internals'),
    items: [...section.matchAll(/^- \[([^\]]+)\]\(([^)]+)\.md\)/gm)].map(([, text, page]) => ({
      text,
      link: `/${page}`,
    })),
  }));
}

/** The docs link to files of the repository beside them. On the site these links lead to the repository. */
function linkRepository(markdown) {
  markdown.core.ruler.push('repository-links', ({ tokens, env }) => {
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      const href = token.type === 'link_open' && token.attrGet('href');
      if (!href || /^([a-z]+:|#|\/)/.test(href)) continue;
      const [path, anchor] = href.split('#');
      const file = join(DOCS, dirname(env.relativePath), decodeURI(path));
      const isPage = !relative(DOCS, file).startsWith('..') && path.endsWith('.md');
      if (isPage || !existsSync(file)) continue;
      token.attrSet('href', `${REPOSITORY}/blob/main/${relative(ROOT, file)}${anchor ? `#${anchor}` : ''}`);
    }
  });
}

/** Anchors as repository browsers make them, so that one link works in both. */
const slugify = (heading) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');

export default defineConfig({
  title: 'Mayfly',
  description: 'Disposable inboxes for automated end-to-end tests',
  srcExclude: ['examples/**'],
  rewrites: { 'README.md': 'index.md' },
  outDir: join(ROOT, 'build/docs'),
  cacheDir: join(DOCS, 'node_modules/.cache'),
  cleanUrls: true,
  markdown: { config: linkRepository, anchor: { slugify } },
  head: [
    ['link', { rel: 'icon', href: LOGO }],
    ['style', {}, ON_SCREEN_ONLY],
  ],
  themeConfig: {
    logo: LOGO,
    search: { provider: 'local' },
    outline: { level: [2, 3] },
    sidebar: sidebar(),
    nav: [
      { text: 'First inbox', link: '/start' },
      { text: 'Playwright', link: '/playwright' },
      { text: 'API', link: '/api' },
      { text: version, link: `${REPOSITORY}/blob/main/CHANGELOG.md` },
    ],
    socialLinks: [{ icon: 'github', link: REPOSITORY }],
    docFooter: { prev: false, next: false },
  },
});
