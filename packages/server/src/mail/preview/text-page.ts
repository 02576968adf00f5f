import { textLinks } from '../extract/links.ts';
import { escaped, HEAD, type PreviewPage } from './page.ts';

const WEB = /^https?:\/\//i;

/** The page of a mail without HTML: its text, with links that can be clicked, as mail programs show it. */
export function textPage(text: string): PreviewPage {
  let shown = '';
  let at = 0;
  for (const { href, start } of textLinks(text)) {
    if (!WEB.test(href)) continue;
    const label = escaped(href);
    shown += `${escaped(text.slice(at, start))}<a href="${label}">${label}</a>`;
    at = start + href.length;
  }
  const html = `<!doctype html>${HEAD}<title>Mayfly</title><pre style="font:14px monospace;margin:24px;white-space:pre-wrap">${shown}${escaped(text.slice(at))}</pre>`;
  return { html, remoteCount: 0 };
}
