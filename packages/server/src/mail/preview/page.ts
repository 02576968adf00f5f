import { Parser } from 'htmlparser2';

/*
 * Makes the page that shows the HTML of a mail in a frame. The frame's sandbox and the policy that is sent with the
 * page keep it from running anything; what is changed here is only what they cannot do: images of the mail itself,
 * links that open in a new tab, and hints for a browser to resolve names, which no policy covers.
 */

/** One image of a mail that is shown within the page, bytes. */
export const MAX_IMAGE_BYTES = 1024 * 1024;
/** All of them: base64 makes them a third larger, and the page is one response. */
export const MAX_IMAGES_BYTES = 8 * 1024 * 1024;

export interface PreviewPage {
  html: string;
  /** How many resources on other servers the mail names. */
  remoteCount: number;
}

/** Attributes that make a browser load something. */
const LOADING: ReadonlySet<string> = new Set(['src', 'srcset', 'background', 'poster', 'data', 'xlink:href']);
/** Elements whose `href` makes a browser load something. */
const HREF_LOADS: ReadonlySet<string> = new Set(['link', 'image', 'use', 'feimage']);
const LINKS: ReadonlySet<string> = new Set(['a', 'area']);
const CID = /cid:([^\s"'()<>,]+)/gi;
/** A further image of a `srcset`. */
const REMOTE_IN_SET = /,\s*(?:https?:)?\/\//i;
const REMOTE = /^\s*(?:https?:)?\/\//i;
const STYLE_URL = /(?:url\(\s{0,9}["']?|@import\s{1,9}["'])(?:https?:)?\/\//gi;
const DOCTYPE = '<!doctype';
const BLANKS = ' \t\r\n\f';
/** Links open in a new tab, also those that are not changed. */
const HEAD = '<base target="_blank">';

/** Text for HTML, also within an attribute in double quotes. */
export const escaped = (value: string): string =>
  value.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');

/** True for a `link` that loads no style sheet: an icon, or a hint such as `dns-prefetch`. */
const isHint = (attributes: Record<string, string>): boolean =>
  !/(?:^|\s)stylesheet(?:\s|$)/i.test(attributes.rel ?? '');

/** Reads the HTML as it streams by and copies it, but for the tags that are changed. */
class PageWriter {
  remoteCount = 0;
  private output = '';
  private copied = 0;
  private inStyle = false;
  private readonly source: string;
  private readonly imageOf: (contentId: string) => string | undefined;

  constructor(source: string, imageOf: (contentId: string) => string | undefined) {
    this.source = source;
    this.imageOf = imageOf;
  }

  write(): string {
    const parser = new Parser({
      onopentag: (name, attributes, isImplied) => {
        this.inStyle = name === 'style';
        if (!isImplied) this.tag(name, attributes, parser.startIndex, parser.endIndex + 1);
      },
      ontext: () => {
        if (this.inStyle) this.style(parser.startIndex, parser.endIndex + 1);
      },
      onclosetag: () => {
        this.inStyle = false;
      },
    });
    parser.end(this.source);
    return this.output + this.source.slice(this.copied);
  }

  /** Puts text in the place of a range of the source. */
  private replace(start: number, end: number, text: string): void {
    if (start < this.copied) return;
    this.output += this.source.slice(this.copied, start) + text;
    this.copied = end;
  }

  private tag(name: string, attributes: Record<string, string>, start: number, end: number): void {
    const isPrefetch = name === 'meta' && /dns-prefetch/i.test(attributes['http-equiv'] ?? '');
    if (name === 'base' || isPrefetch || (name === 'link' && isHint(attributes))) {
      this.replace(start, end, '');
      return;
    }
    const changed = this.withLocalImages(name, attributes);
    if (LINKS.has(name)) {
      // A place within the mail stays in the frame; a target of the mail's own would be a frame or this one.
      if (attributes.href?.startsWith('#')) changed.target = '_self';
      else if (attributes.target !== undefined) changed.target = '_blank';
    }
    const names = Object.keys(changed);
    if (names.every((one) => changed[one] === attributes[one])) return;
    const isClosed = this.source[end - 2] === '/';
    const written = names.map((one) => ` ${one}="${escaped(changed[one] ?? '')}"`).join('');
    this.replace(start, end, `<${name}${written}${isClosed ? '/' : ''}>`);
  }

  /** The attributes with images of the mail as `data:` URIs; counts what would be loaded from other servers. */
  private withLocalImages(name: string, attributes: Record<string, string>): Record<string, string> {
    const changed = { ...attributes };
    for (const [attribute, value] of Object.entries(attributes)) {
      const loads = LOADING.has(attribute) || (attribute === 'href' && HREF_LOADS.has(name));
      if (loads && (REMOTE.test(value) || REMOTE_IN_SET.test(value))) this.remoteCount += 1;
      if (attribute === 'style') this.countStyle(value);
      if (loads || attribute === 'style') changed[attribute] = this.withImages(value);
    }
    return changed;
  }

  private style(start: number, end: number): void {
    const text = this.source.slice(start, end);
    this.countStyle(text);
    const changed = this.withImages(text);
    if (changed !== text) this.replace(start, end, changed);
  }

  private countStyle(text: string): void {
    this.remoteCount += text.match(STYLE_URL)?.length ?? 0;
  }

  private withImages(value: string): string {
    return value.replaceAll(CID, (whole, id: string) => this.imageOf(id) ?? whole);
  }
}

/** Where the document type ends, which only blanks and comments may precede; 0 without one. */
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

/**
 * @param imageOf the `data:` URI of an image of the mail by its Content-ID; undefined where there is none
 * @returns the page, and what it would load from elsewhere
 */
export function previewPage(source: string, imageOf: (contentId: string) => string | undefined): PreviewPage {
  const writer = new PageWriter(source, imageOf);
  const written = writer.write();
  const end = doctypeEnd(written);
  // A page without a document type is laid out by the rules of old browsers.
  const start = end === 0 ? '<!doctype html>' : written.slice(0, end);
  const html = start + HEAD + written.slice(end);
  return { html, remoteCount: writer.remoteCount };
}
