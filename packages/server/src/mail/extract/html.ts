import type { MailImage } from '@mayfly/client/contract';
import { cut, MAX_HTML_TEXT, MAX_IMAGE_TEXT, MAX_IMAGES } from '../limits.ts';
import { clean, foldBlanks, oneLine, withoutInvisible } from '../mime/clean.ts';
import { TagReader } from './tag-reader.ts';

const MAX_ANCHOR_TEXT = 500;
const MAX_ANCHORS = 2_000;

export interface HtmlAnchor {
  href: string;
  text: string;
  at: number;
}

export interface HtmlReading {
  /** The visible text: one line per block, a tab between table cells, and single spaces between words. */
  words: string;
  anchors: HtmlAnchor[];
  images: MailImage[];
}

const UNSEEN: ReadonlySet<string> = new Set('script style title template noscript object svg'.split(' '));
const VOID: ReadonlySet<string> = new Set('br hr img input meta link area base col wbr'.split(' '));
const CELLS: ReadonlySet<string> = new Set(['td', 'th']);
const BLOCKS: ReadonlySet<string> = new Set(
  (
    'address article aside blockquote body br caption center dd div dl dt fieldset figure footer form h1 h2 h3 h4 ' +
    'h5 h6 header hr html li main nav ol p pre section table tbody tfoot thead tr ul'
  ).split(' '),
);
const UNSEEN_FIELD = /^\s*(?:hidden|password|checkbox|radio|image|file|range|color)\s*$/i;
const HIDDEN_STYLE = /display\s*:\s*none|visibility\s*:\s*hidden/i;

const SPACE = 1;
const TAB = 2;
const LINE = 3;
const BREAKS = ['', ' ', '\t', '\n'];

/** Collects visible text and links. Counts nested tags of the same name to find the end of a hidden element. */
class PageReader extends TagReader {
  words = '';
  readonly anchors: HtmlAnchor[] = [];
  readonly images: MailImage[] = [];
  private pendingBreak = 0;
  private hiddenName = '';
  private hiddenDepth = 0;
  private anchor: HtmlAnchor | undefined;
  private anchorWords = '';
  /** Label of an anchor without text: its first non-empty `alt`, else its first non-empty `title`. */
  private alt = '';
  private title = '';

  ontext(start: number, end: number): void {
    if (this.hiddenDepth === 0) this.write(fold(this.html.slice(start, end)));
  }

  override ontextentity(codepoint: number): void {
    if (this.hiddenDepth === 0) this.write(fold(String.fromCodePoint(codepoint)));
  }

  onopentagend(): void {
    const { tag } = this;
    if (tag === 'a') this.endAnchor();
    const isHidden = this.hides();
    if (this.hiddenDepth > 0) {
      if (tag === this.hiddenName) this.hiddenDepth++;
    } else if (isHidden && !VOID.has(tag)) {
      this.hiddenName = tag;
      this.hiddenDepth = 1;
    } else {
      this.breakAt(tag);
    }
    if (tag === 'a') {
      this.anchor = { href: asBrowsersRead(this.get('href')), text: '', at: this.words.length };
      this.anchorWords = '';
      this.alt = '';
      this.title = this.get('title');
    } else if (tag === 'area') {
      const href = asBrowsersRead(this.get('href'));
      this.add({ href, text: labelOf(this.get('alt')), at: this.words.length });
    } else if (tag === 'img') {
      this.addImage();
    } else if (tag === 'input' && this.hiddenDepth === 0 && !isHidden && this.attributes.has('value')) {
      this.write(` ${fold(this.get('value')).trim()} `);
    }
  }

  private hides(): boolean {
    const { tag, attributes } = this;
    if (UNSEEN.has(tag) || attributes.size === 0) return UNSEEN.has(tag);
    if (attributes.has('hidden') || HIDDEN_STYLE.test(this.get('style'))) return true;
    return tag === 'input' && UNSEEN_FIELD.test(this.get('type'));
  }

  onclosetag(start: number, end: number): void {
    const name = this.html.slice(start, end).trimEnd().toLowerCase();
    if (this.hiddenDepth === 0) this.breakAt(name);
    else if (name === this.hiddenName) this.hiddenDepth--;
    if (name === 'a') this.endAnchor();
  }

  override onend(): void {
    this.endAnchor();
  }

  private addImage(): void {
    const alt = this.attributes.get('alt') ?? null;
    this.alt ||= alt ?? '';
    this.title ||= this.get('title');
    const src = asBrowsersRead(this.get('src'));
    if (src === '' || this.images.length >= MAX_IMAGES) return;
    const label = alt === null ? null : cut(oneLine(alt), MAX_IMAGE_TEXT);
    this.images.push({ src: cut(clean(src), MAX_IMAGE_TEXT), alt: label });
  }

  private add(link: HtmlAnchor): void {
    if (link.href !== '' && this.anchors.length < MAX_ANCHORS) this.anchors.push(link);
  }

  private breakAt(tag: string): void {
    if (BLOCKS.has(tag)) this.pendingBreak = LINE;
    else if (CELLS.has(tag) && this.pendingBreak < TAB) this.pendingBreak = TAB;
  }

  private write(text: string): void {
    const from = text.startsWith(' ') ? 1 : 0;
    if (from === 1 && this.pendingBreak === 0) this.pendingBreak = SPACE;
    if (text.length === from) return;
    const between = this.words === '' ? '' : (BREAKS[this.pendingBreak] ?? '');
    const blankAfter = text.endsWith(' ');
    const written = between + text.slice(from, blankAfter ? -1 : undefined);
    this.words += written;
    // The text of an anchor is collected separately: a slice of `words` would copy all of it for each link.
    if (this.anchor !== undefined && this.anchorWords.length < MAX_ANCHOR_TEXT) this.anchorWords += written;
    this.pendingBreak = blankAfter ? SPACE : 0;
  }

  private endAnchor(): void {
    const { anchor } = this;
    this.anchor = undefined;
    if (anchor === undefined || anchor.href === '') return;
    anchor.text = labelOf(this.anchorWords.trim() || this.alt || this.title);
    this.add(anchor);
  }
}

const labelOf = (words: string): string => foldBlanks(words.slice(0, MAX_ANCHOR_TEXT)).trim();

/** Trims a URL as the URL standard does. Keeps invisible characters, because browsers send them. */
const asBrowsersRead = (href: string): string =>
  href.replace(/[\t\n\r]+/g, '').replace(/^[\0- ]+|(?<![\0- ])[\0- ]+$/g, '');

function fold(text: string): string {
  // Fast path: in a page full of "<" or entities, the tokenizer calls this with single characters.
  if (text.length === 1 && text > ' ' && text <= '~') return text;
  return foldBlanks(withoutInvisible(text));
}

export function readHtml(html: string): HtmlReading {
  const { words, anchors, images } = new PageReader(html).read();
  return { words, anchors, images };
}

export const textOfPage = ({ words }: HtmlReading): string => clean(cut(words, MAX_HTML_TEXT));

const MAX_COMPARED = 256 * 1024;
const MAX_LINE = 2_048;
/** Limit of characters that are compared (a few milliseconds). Further lines are returned unchecked. */
const MAX_SEARCHED = 2 * 1024 * 1024;

export function wordsOnlyInPage(text: string, page: string): string | null {
  const plain = foldBlanks(text.slice(0, MAX_COMPARED)).toLowerCase();
  const kept: number[] = [];
  let from = 0;
  let searched = 0;
  // One toLowerCase call for the whole page takes half the time of one call per line.
  const lines = page.toLowerCase().replaceAll('\t', ' ').split('\n');
  for (const [i, line] of lines.entries()) {
    if (line.length > MAX_LINE || searched > MAX_SEARCHED) {
      kept.push(i);
      continue;
    }
    // Both texts usually have the same order, so the search continues after the previous match.
    let at = plain.indexOf(line, from);
    if (at < 0) at = plain.indexOf(line);
    searched += at < from ? plain.length : at - from;
    if (at < 0) kept.push(i);
    else from = at + line.length;
  }
  if (kept.length === 0) return null;
  const asSent = page.split('\n');
  return kept.map((i) => asSent[i]).join('\n');
}
