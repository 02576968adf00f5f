import { textLinks } from '../extract/links.ts';
import { TagReader } from '../extract/tag-reader.ts';
import { IMAGE_TYPES } from '../mail.ts';
import { readBodies } from '../parse.ts';

/*
 * Renders the HTML of a mail for a frame, whose sandbox and Content-Security-Policy prevent scripts. Adds the
 * mail's own images, opens links in a new tab, and removes DNS prefetch hints, which no policy blocks.
 */

/** Limit of shown characters (up to 400 ms of work): enough for pages that contain images as `data:` URIs. */
const MAX_LENGTH = 4 * 1024 * 1024;
/** Maximum characters of a page. Replaced `cid:` URLs and escapes make it longer than the HTML of the mail. */
export const MAX_PAGE_LENGTH = 2 * MAX_LENGTH;

type ImageOf = (contentId: string) => string | undefined;

const LOADING: ReadonlySet<string> = new Set(['src', 'srcset', 'background', 'poster', 'data', 'xlink:href']);
const HREF_LOADS: ReadonlySet<string> = new Set(['link', 'image', 'use', 'feimage']);
const LINKS: ReadonlySet<string> = new Set(['a', 'area']);
const CID = /cid:([^\s"'()<>,]+)/gi;
const REMOTE_IN_SET = /,\s*(?:https?:)?\/\//i;
const REMOTE = /^\s*(?:https?:)?\/\//i;
const STYLE_URL = /(?:url\(\s{0,9}["']?|@import\s{1,9}["'])(?:https?:)?\/\//gi;
const DOCTYPE = '<!doctype';
const BLANKS = ' \t\r\n\f';
const HEAD = '<base target="_blank">';

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '"': '&quot;', '<': '&lt;' };

const escaped = (value: string): string => value.replaceAll(/[&"<]/g, (one) => ESCAPES[one] ?? one);

class PageWriter extends TagReader {
  remoteCount = 0;
  private output = '';
  private copied = 0;
  private inStyle = false;
  private readonly imageOf: ImageOf;

  constructor(source: string, imageOf: ImageOf) {
    super(source, MAX_LENGTH);
    this.imageOf = imageOf;
  }

  write(): string | undefined {
    this.read();
    const page = this.output + this.html.slice(this.copied);
    return page.length > MAX_PAGE_LENGTH ? undefined : page;
  }

  onopentagend(end: number): void {
    this.inStyle = this.tag === 'style';
    if (this.tag === 'base' || this.attributes.size > 0) this.change(end + 1);
  }

  ontext(start: number, end: number): void {
    if (!this.inStyle) return;
    const text = this.html.slice(start, end);
    this.countStyle(text);
    const changed = this.withImages(text);
    if (changed !== text) this.replace(start, end, changed);
  }

  onclosetag(): void {
    this.inStyle = false;
  }

  private replace(start: number, end: number, text: string): void {
    if (this.output.length > MAX_PAGE_LENGTH) return;
    this.output += this.html.slice(this.copied, start) + text;
    this.copied = end;
  }

  private change(end: number): void {
    const { tag, attributes } = this;
    const isPrefetch = tag === 'meta' && /dns-prefetch/i.test(this.get('http-equiv'));
    // `link` elements other than style sheets are icons, or hints such as `dns-prefetch`.
    const isHint = tag === 'link' && !/(?:^|\s)stylesheet(?:\s|$)/i.test(this.get('rel'));
    if (tag === 'base' || isPrefetch || isHint) {
      this.replace(this.tagStart, end, '');
      return;
    }
    const changed = this.localImages();
    if (LINKS.has(tag)) {
      // Links to anchors stay in the frame. For links without a target, the `base` in HEAD opens a new tab.
      if (attributes.get('href')?.startsWith('#')) changed.set('target', '_self');
      else if (attributes.has('target')) changed.set('target', '_blank');
    }
    if (changed.size === 0) return;
    const isClosed = this.html[end - 2] === '/';
    const written = [...new Map([...attributes, ...changed])].map(
      ([name, value]) => ` ${name}="${escaped(value)}"`,
    );
    this.replace(this.tagStart, end, `<${tag}${written.join('')}${isClosed ? '/' : ''}>`);
  }

  private localImages(): Map<string, string> {
    const changed = new Map<string, string>();
    for (const [name, value] of this.attributes) {
      const loads = LOADING.has(name) || (name === 'href' && HREF_LOADS.has(this.tag));
      if (!loads && name !== 'style') continue;
      if (loads && (REMOTE.test(value) || REMOTE_IN_SET.test(value))) this.remoteCount += 1;
      if (name === 'style') this.countStyle(value);
      const local = this.withImages(value);
      if (local !== value) changed.set(name, local);
    }
    return changed;
  }

  private countStyle(text: string): void {
    this.remoteCount += text.match(STYLE_URL)?.length ?? 0;
  }

  private withImages(value: string): string {
    return value.replaceAll(CID, (whole, id: string) => this.imageOf(id) ?? whole);
  }
}

function doctypeEnd(html: string): number {
  let at = html.length - html.trimStart().length;
  while (html.startsWith('<!--', at)) {
    const end = html.indexOf('-->', at + 4);
    if (end === -1) return 0;
    at = end + 3;
    while (BLANKS.includes(html.charAt(at)) && at < html.length) at++;
  }
  if (html.slice(at, at + DOCTYPE.length).toLowerCase() !== DOCTYPE) return 0;
  return html.indexOf('>', at) + 1;
}

/** This note is at the beginning. At the end of the page, an unclosed element of the mail could hide it. */
const CUT_NOTE =
  '<p style="all:initial;display:block;font:14px/1.4 system-ui,sans-serif;padding:8px 16px;background:#fff3c4;color:#333">Only the first 4 MiB of this message are shown. Read the rest in the view “Source”, or download the message.</p>';

const noteOfCut = (source: string): string => (source.length > MAX_LENGTH ? CUT_NOTE : '');

/** @returns undefined if the page is too long */
export function previewPage(source: string, imageOf: ImageOf) {
  const writer = new PageWriter(source, imageOf);
  const written = writer.write();
  if (written === undefined) return undefined;
  const end = doctypeEnd(written);
  const start = end === 0 ? '<!doctype html>' : written.slice(0, end);
  const html = start + HEAD + noteOfCut(source) + written.slice(end);
  return { html, remoteCount: writer.remoteCount };
}

const WEB = /^https?:\/\//i;

function textPage(source: string) {
  const text = source.slice(0, MAX_LENGTH);
  let shown = '';
  let at = 0;
  for (const { href, start } of textLinks(text)) {
    if (!WEB.test(href)) continue;
    const label = escaped(href);
    shown += `${escaped(text.slice(at, start))}<a href="${label}">${label}</a>`;
    at = start + href.length;
  }
  const html = `<!doctype html>${HEAD}<title>Mayfly</title>${noteOfCut(source)}<pre style="font:14px monospace;margin:24px;white-space:pre-wrap">${shown}${escaped(text.slice(at))}</pre>`;
  return { html, remoteCount: 0 };
}

const note = (text: string) => ({
  html: `<!doctype html><title>Mayfly</title><p style="font:14px system-ui,sans-serif;margin:24px">${text}</p>`,
  remoteCount: 0,
});

/** Returns the HTML of a mail, or else its text, as a page. @param imagesUrl URL prefix before an attachment id */
export function previewMail(raw: Uint8Array, imagesUrl: string) {
  const { html, text, attachments } = readBodies(raw);
  const shown = html ?? text ?? '';
  const what = html === null ? 'text' : 'HTML';
  if (shown === '') return note('The message has no text.');
  const images = new Map<string, string>();
  for (const { id, contentId, contentType } of attachments) {
    if (contentId === null || !IMAGE_TYPES.has(contentType)) continue;
    images.set(contentId, imagesUrl + id);
    images.set(encodeURIComponent(contentId.toWellFormed()), imagesUrl + id);
  }
  const page = html === null ? textPage(shown) : previewPage(html, (contentId) => images.get(contentId));
  if (page !== undefined && page.html.length <= MAX_PAGE_LENGTH) return page;
  return note(
    `The ${what} of this message would be a page of more than 8 MiB. Read it in the view “Source”, or download the message.`,
  );
}
