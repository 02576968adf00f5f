import { readFileSync } from 'node:fs';
import { defineConfig } from 'vite';

const { version } = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8'));

/**
 * Puts the style sheet into the page: one request less before the first screen. The server allows exactly this
 * style by its hash (packages/server/src/console/pages.ts).
 */
const styleInPage = {
  name: 'style-in-page',
  apply: 'build',
  transformIndexHtml: {
    order: 'post',
    handler(html, { bundle }) {
      return html.replace(/<link rel="stylesheet"[^>]*href="\/console\/([^"]+)">/, (_, file) => {
        const style = String(bundle[file].source).trim();
        delete bundle[file];
        return `<style>${style}</style>`;
      });
    },
  },
};

const icon = readFileSync(new URL('src/icon.svg', import.meta.url), 'utf8');
const iconInPage = {
  name: 'icon-in-page',
  transformIndexHtml: {
    order: 'pre',
    handler: (html) => html.replace('%ICON%', `data:image/svg+xml,${encodeURIComponent(icon)}`),
  },
};

/** With `npm run dev`, what the page requests is answered by a server that runs. */
const server = process.env.MAYFLY_URL ?? 'http://127.0.0.1:8025';
const proxy = Object.fromEntries(
  ['/v1', '/preview', '/docs', '/openapi.json', '/console/session'].map((path) => [path, { target: server }]),
);

export default defineConfig({
  base: '/console/',
  server: { proxy },
  plugins: [iconInPage, styleInPage],
  define: { __VERSION__: JSON.stringify(version) },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    target: ['es2023', 'chrome125', 'firefox128', 'safari17.5'],
    // The icon is part of the script. The policy of the page allows no data: scripts and no inline code.
    assetsInlineLimit: (path) => path.endsWith('.svg'),
    modulePreload: { polyfill: false },
    rolldownOptions: {
      preserveEntrySignatures: false,
      output: {
        // One script for the first screen, and one for screens that share parts: each script costs by itself.
        codeSplitting: {
          groups: [
            { name: 'index', tags: ['$initial'], priority: 1 },
            { name: 'why', test: /screens\/(why\/|runs\/(runs|failures))/ },
            { name: 'inboxes', test: /screens\/(inboxes\/(inboxes|create)|sign-in|palette)/ },
            { name: 'account', test: /screens\/(webhooks|keys|usage|domains|inbox\/sent)|ui\/(shown|bars)/ },
          ],
        },
      },
    },
    reportCompressedSize: false,
  },
});
