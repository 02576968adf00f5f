import { cut, MAX_HTML_TEXT, MAX_IMAGE_TEXT, MAX_IMAGES } from '../limits.ts';
import type { MailImage } from '../mail.ts';
import { clean, foldBlanks, oneLine, withoutInvisible } from '../mime/clean.ts';
import { TagReader } from './tag-reader.ts';

/** Characters kept of the text of one link; a link around a whole page is no label. */
const MAX_ANCHOR_TEXT = 500;

/** Links read of one page. */
const MAX_ANCHORS = 2_000;

export interface HtmlAnchor {
  /** The attribute with its entities decoded once, without blanks around it and line breaks within. */
  href: string;
  text: string;
  /** How many characters of `words` came before it. */
  at: number;
}

export interface HtmlReading {
  /** The visible text: a line for each block, a tab between the cells of a row, otherwise single spaces. */
  words: string;
  anchors: HtmlAnchor[];
  images: MailImage[];
}

/** Elements whose content is not shown. */
const UNSEEN: ReadonlySet<string> = new Set('script style title template noscript object svg'.split(' '));
const VOID: ReadonlySet<string> = new Set('br hr img input meta link area base col wbr'.split(' '));
const CELLS: ReadonlySet<string> = new Set(['td', 'th']);
const BLOCKS: ReadonlySet<string> = new Set(
  (
    'address article aside blockquote body br caption center dd div dl dt fieldset figure footer form h1 h2 h3 h4 ' +
    'h5 h6 header hr html li main nav ol p pre section table tbody tfoot thead tr ul'
  ).split(' '),
);
/** Types of fields whose value is not shown; others may hold a code to be copied. */
const UNSEEN_FIELD = /^\s*(?:hidden|password|checkbox|radio|image|file|range|color)\s*$/i;
const HIDDEN_STYLE = /display\s*:\s*none|visibility\s*:\s*hidden/i;

const SPACE_CODE = 0x20;
const SPACE = 1;
const TAB = 2;
const LINE = 3;
const BREAKS = ['', ' ', '\t', '\n'];

/** Reads what is visible. A hidden element ends where its own name is closed as often as it was opened. */
class PageReader extends TagReader {
  words = '';
  readonly anchors: HtmlAnchor[] = [];
  readonly images: MailImage[] = [];
  private image: MailImage = { src: '', alt: null };
  private pendingBreak = 0;
  private hides = false;
  private hiddenName = '';
  private hiddenDepth = 0;
  private anchor: HtmlAnchor | undefined;
  /** The part of a picture that is read, `<area>` of an image map: a link without an end tag. */
  private area: HtmlAnchor = { href: '', text: '', at: 0 };
  private anchorWords = '';
  private alt = '';
  private title = '';
  /** The value of an `<input>`. */
  private field = '';

  ontext(start: number, end: number): void {
    if (this.hiddenDepth > 0) return;
    this.write(fold(this.html.slice(start, end)));
  }

  override ontextentity(codepoint: number): void {
    if (this.hiddenDepth === 0) this.write(fold(String.fromCodePoint(codepoint)));
  }

  protected begin(): void {
    this.hides = UNSEEN.has(this.tag);
    this.field = '';
    if (this.tag === 'a') {
      this.endAnchor();
      this.anchor = { href: '', text: '', at: 0 };
      this.title = '';
    } else if (this.tag === 'area') {
      this.area = { href: '', text: '', at: this.words.length };
    } else if (this.tag === 'img') {
      this.image = { src: '', alt: null };
    }
  }

  protected attribute(attribute: string, value: string): void {
    const { tag } = this;
    if (attribute === 'style') this.hides ||= HIDDEN_STYLE.test(value);
    else if (attribute === 'href') this.addressAttribute(value);
    else if (attribute === 'hidden') this.hides = true;
    else if (tag === 'img') this.imageAttribute(attribute, value);
    else if (tag === 'a' && attribute === 'title') this.title ||= value;
    else if (tag === 'area' && attribute === 'alt') this.area.text = labelOf(value);
    else if (tag === 'input' && attribute === 'value') this.field = value;
    else if (tag === 'input' && attribute === 'type') this.hides ||= UNSEEN_FIELD.test(value);
  }

  private addressAttribute(value: string): void {
    const target = this.tag === 'a' ? this.anchor : this.tag === 'area' ? this.area : undefined;
    if (target?.href === '') target.href = asBrowsersRead(value);
  }

  private imageAttribute(attribute: string, value: string): void {
    if (attribute === 'src') this.image.src ||= asBrowsersRead(value);
    else if (attribute === 'title') this.title ||= value;
    else if (attribute === 'alt') {
      this.image.alt ??= value;
      this.alt ||= value;
    }
  }

  onclosetag(start: number, end: number): void {
    const name = this.html.slice(start, end).trimEnd().toLowerCase();
    if (this.hiddenDepth > 0) {
      if (name === this.hiddenName) this.hiddenDepth--;
    } else {
      this.breakAt(name);
    }
    if (name === 'a') this.endAnchor();
  }

  override onend(): void {
    this.endAnchor();
  }

  protected opened(): void {
    const { tag } = this;
    if (this.hiddenDepth > 0) {
      if (tag === this.hiddenName) this.hiddenDepth++;
    } else if (this.hides && !VOID.has(tag)) {
      this.hiddenName = tag;
      this.hiddenDepth = 1;
    } else {
      this.breakAt(tag);
    }
    if (tag === 'a' && this.anchor !== undefined) {
      this.anchorWords = '';
      this.anchor.at = this.words.length;
      this.alt = '';
    }
    if (tag === 'area') this.add(this.area);
    if (tag === 'img') this.addImage();
    if (this.field !== '' && this.hiddenDepth === 0 && !this.hides)
      this.write(` ${fold(this.field).trim()} `);
  }

  private addImage(): void {
    const { src, alt } = this.image;
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

  /** `text` has no blanks but single spaces. */
  private write(text: string): void {
    if (text === '') return;
    let from = 0;
    if (text.startsWith(' ')) {
      from = 1;
      if (this.pendingBreak === 0) this.pendingBreak = SPACE;
      if (text.length === 1) return;
    }
    const between = this.words === '' ? '' : (BREAKS[this.pendingBreak] ?? '');
    const blankAfter = text.endsWith(' ');
    const written = between + text.slice(from, blankAfter ? -1 : undefined);
    this.words += written;
    // Kept beside, because cutting it out of the growing words would copy them for every link.
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

/**
 * The first steps of the URL standard's parser: controls and blanks around an address go, tabs and line
 * breaks also within. All else stays, invisible characters too: a click would send them.
 */
function asBrowsersRead(href: string): string {
  const address = href.replace(/[\t\n\r]+/g, '');
  let start = 0;
  let end = address.length;
  while (start < end && address.charCodeAt(start) <= SPACE_CODE) start++;
  while (end > start && address.charCodeAt(end - 1) <= SPACE_CODE) end--;
  return address.slice(start, end);
}

/** Folds white space and removes invisible characters, with which senders fill previews. */
function fold(text: string): string {
  // A page of "<" or of entities is given one character at a time.
  if (text.length === 1 && text > ' ' && text <= '~') return text;
  return foldBlanks(withoutInvisible(text));
}

/** Reads the visible words, the links with their text, and the images. Linear in the length of the page. */
export function readHtml(html: string): HtmlReading {
  const reader = new PageReader(html);
  reader.read();
  return { words: reader.words, anchors: reader.anchors, images: reader.images };
}

/** The visible words, as they are shown. */
export const textOfPage = ({ words }: HtmlReading): string => clean(cut(words, MAX_HTML_TEXT));

/** Characters of a plain text that a page is compared with; what is behind them is found in the page as well. */
const MAX_COMPARED = 256 * 1024;
/** Characters of a line of a page that is compared. Longer ones are kept without. */
const MAX_LINE = 2_048;
/** Characters searched for the lines of one page, a few milliseconds; the lines left then are kept. */
const MAX_SEARCHED = 2 * 1024 * 1024;

/**
 * The lines of a page that the plain text of the same mail does not have, ignoring case and white space: most mails
 * say the same in both, and what is stored once is enough for searches.
 * @param text the plain text
 * @param page the visible words of the page, a line for each block
 * @returns the lines, or null without any
 */
export function wordsOnlyInPage(text: string, page: string): string | null {
  const plain = foldBlanks(text.slice(0, MAX_COMPARED)).toLowerCase();
  const kept: number[] = [];
  let from = 0;
  let searched = 0;
  // Folded as a whole, which costs half of folding each line; the only blanks in a line are spaces and tabs.
  const lines = page.toLowerCase().replaceAll('\t', ' ').split('\n');
  for (const [i, line] of lines.entries()) {
    if (line.length > MAX_LINE || searched > MAX_SEARCHED) {
      kept.push(i);
      continue;
    }
    // Both usually have the same order.
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
