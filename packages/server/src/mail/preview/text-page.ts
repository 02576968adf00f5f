import type { MailLink } from '../mail.ts';
import { escaped } from './page.ts';

const WEB = /^https?:\/\//i;

/**
 * The page of a mail without HTML: its text, with links that can be clicked, as mail programs show it.
 * @param links of the mail, in order of appearance
 */
export function textPage(text: string, links: readonly MailLink[]): string {
  let shown = '';
  let at = 0;
  for (const { href } of links) {
    const start = WEB.test(href) ? text.indexOf(href, at) : -1;
    // A link of the header, or one within another.
    if (start < 0) continue;
    shown += `${escaped(text.slice(at, start))}<a href="${escaped(href)}">${escaped(href)}</a>`;
    at = start + href.length;
  }
  return `<!doctype html><title>Mayfly</title><pre style="font:14px monospace;margin:24px;white-space:pre-wrap">${shown}${escaped(text.slice(at))}</pre>`;
}
