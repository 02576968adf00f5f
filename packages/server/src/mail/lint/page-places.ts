import { TagReader } from '../extract/tag-reader.ts';
import type { LintedMail } from './finding.ts';

/** An element whose end tag was not read yet, with the style of its text. */
interface Open {
  tag: string;
  isHidden: boolean;
  /** Relative luminance (WCAG 2.2) of the text and of the background; null if unknown. */
  color: number | null;
  ground: number | null;
  /** Font size in pixels; {@link NORMAL_SIZE} if it is relative or unknown. */
  size: number;
  isBold: boolean;
  isSmallByNature: boolean;
  /** A link or button must contain text or a label; a table without a role must contain a header cell. */
  asked: { rule: 'layout-table-role' | 'link-name' | 'button-name'; place: string; isMet: boolean } | null;
}

/** Limits of time and memory for malicious pages. Real pages are below them. */
const MAX_OPEN = 500;
const MAX_PLACES = 1_000;
const MAX_SHEET = 256 * 1024;
const MAX_STYLE = 4_096;
const MAX_CLOSED = 40;
const MAX_PLACE = 100;

/** Minimum contrast (WCAG 2.2, success criterion 1.4.3). Large text has 24 px (18 pt), or 18.66 px (14 pt) in bold. */
const MIN_RATIO = 4.5;
const MIN_RATIO_LARGE = 3;
const LARGE = 24;
const LARGE_BOLD = 18.66;
const NORMAL_SIZE = 16;
const MIN_SIZE = 12;
/** Text of up to this many pixels is not reported: the sender hides it on purpose, as in a preheader. */
const HIDDEN_SIZE = 2;
const HEADING_SIZES: Record<string, number> = { h1: 32, h2: 24, h3: 18.72, h4: 16, h5: 13.28, h6: 10.72 };

const VOID = new Set('area base br col embed hr img input link meta param source track wbr'.split(' '));
const NO_TEXT = new Set(['style', 'script', 'title']);
const ACTIVE = new Set(['script', 'iframe', 'frame', 'object', 'embed', 'applet']);
const ADDRESS_ATTRIBUTES = ['href', 'src', 'background', 'action'];
const LANGUAGE = /^\s*[a-z]{2,3}(?:-[a-z0-9]{1,8})*\s*$/i;
const NOWHERE = /^(?:#|https?:\/*|mailto:|tel:)?$/;
const IMAGE_FILE = /^\S{1,200}\.(?:png|jpe?g|gif|svg|webp|bmp)$/i;
const ONE_PIXEL = /^\s*[01](?:px)?\s*$/;
const DIRECTION = /^\s*(?:ltr|rtl|auto)\s*$/i;
const VISIBLE = /[^\s\p{Cf}\p{Mn}\u115f]/u;
const READABLE = /[\p{L}\p{N}]/u;
const HIDING =
  /(?:^|[;\s])(?:display\s*:\s*none|visibility\s*:\s*hidden|opacity\s*:\s*0(?![.\d])|(?:max-)?(?:height|width)\s*:\s*0(?![.\d])|line-height\s*:\s*[01]px)/i;
/** Hosts for development and documentation (RFC 2606, RFC 6761), which cannot have a public certificate. */
const LOCAL_HOST =
  /^http:\/\/(?:localhost|127\.|10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|\[::1\]|host\.docker\.internal|[^/:?#]*\.(?:localhost|test|local|internal|lan|invalid))(?=[/:?#]|\d|$)/i;

const NAMED: Record<string, string> = {
  ...{ black: '000000', white: 'ffffff', red: 'ff0000', green: '008000', blue: '0000ff', yellow: 'ffff00' },
  ...{ gray: '808080', grey: '808080', silver: 'c0c0c0', navy: '000080', maroon: '800000', teal: '008080' },
  ...{ purple: '800080', olive: '808000', lime: '00ff00', aqua: '00ffff', orange: 'ffa500' },
  fuchsia: 'ff00ff',
};

/** Relative luminance (WCAG 2.2) of an opaque plain colour; null for others, such as a gradient. */
function luminanceOf(text: string): number | null {
  const value = text.trim().toLowerCase();
  const hex = /^#?([\da-f]{6})$/.exec(NAMED[value] ?? value.replace(/^#(.)(.)(.)$/, '#$1$1$2$2$3$3'))?.[1];
  const parts = hex
    ? [0, 2, 4].map((at) => Number.parseInt(hex.slice(at, at + 2), 16))
    : /^rgb\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\)$/.exec(value)?.slice(1).map(Number);
  if (parts === undefined) return null;
  const [red = 0, green = 0, blue = 0] = parts
    .map((part) => part / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

const contrast = (a: number, b: number): number => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);

function pixels(size: string): number {
  const [, number, unit] = /^(\d*\.?\d+)\s*(px|pt)?$/i.exec(size.trim()) ?? [];
  if (number === undefined || (unit === undefined && Number(number) !== 0)) return NORMAL_SIZE;
  return Number(number) * (unit?.toLowerCase() === 'pt' ? 4 / 3 : 1);
}

function declarations(style: string): Map<string, string> {
  const written = style.slice(0, MAX_STYLE).toLowerCase().replaceAll('!important', '');
  return new Map(
    written.split(';').map((pair) => {
      const [name = '', value = ''] = pair.split(/:(.*)/s, 2);
      return [name.trim(), value.trim()];
    }),
  );
}

const BOLD_TAG = /^(?:h\d|b|strong|th)$/;
const isBoldWeight = (weight: string): boolean => /bold|[6-9]00/.test(weight);

const read = <T>(stated: string | undefined, parse: (stated: string) => T, inherited: T): T =>
  stated === undefined ? inherited : parse(stated);

const ROOT: Open = {
  ...{ tag: '', isHidden: false, color: null, ground: null, size: NORMAL_SIZE, isBold: false },
  ...{ isSmallByNature: false, asked: null },
};

class PlaceReader extends TagReader {
  readonly places = new Map<string, string[]>();
  /** `link`: URLs of links and forms. `image`: URLs of images and other resources. */
  readonly urls = { link: new Set<string>(), image: new Set<string>() };
  private readonly seen = new Set<'lang' | 'dir' | 'title' | 'document' | 'base'>();
  private readonly open: Open[] = [];
  private sheet = '';
  private level = 0;

  private get top(): Open {
    return this.open.at(-1) ?? ROOT;
  }

  onopentagend(): void {
    const { tag, attributes } = this;
    this.seeDocument();
    if (ACTIVE.has(tag) && !/json/i.test(this.get('type'))) this.add('active-content', `<${tag}>`);
    if ((tag === 'a' || tag === 'area') && attributes.has('href')) this.seeLink(this.get('href'));
    if (tag === 'img') this.seeImage(this.get('src').trim(), this.get('alt').trim());
    const urls = this.urls[/^(?:a|area|form)$/.test(tag) ? 'link' : 'image'];
    for (const name of ADDRESS_ATTRIBUTES)
      if (attributes.has(name) && urls.size < MAX_PLACES) urls.add(this.get(name).trim());
    const element = this.element();
    if (!element.isHidden) this.seeShown();
    if (!VOID.has(tag) && this.open.length < MAX_OPEN) this.open.push(element);
  }

  private seeDocument(): void {
    const { tag, seen } = this;
    if (LANGUAGE.test(this.get('lang') || this.get('xml:lang'))) seen.add('lang');
    if (DIRECTION.test(this.get('dir'))) seen.add('dir');
    if (tag === 'html' || tag === 'head') seen.add('document');
    if (tag === 'base') seen.add('base');
  }

  private seeLink(href: string): void {
    // Browsers ignore control characters and spaces in a scheme.
    const scheme = href
      .slice(0, MAX_PLACE)
      .replaceAll(/[\p{Cc}\s]/gu, '')
      .toLowerCase();
    if (/^(?:javascript|vbscript):/.test(scheme)) this.add('script-link', scheme);
    if (NOWHERE.test(scheme)) this.add('empty-link', `href="${scheme}"`);
  }

  private seeImage(src: string, alt: string): void {
    if (!/^(?:https?|cid|data):/i.test(src)) this.add('relative-image', src);
    const name = /([^/?#]*?)(?:\.\w+)?(?:[?#].*)?$/.exec(src.slice(0, MAX_STYLE))?.[1];
    // An `alt` that equals the file name is not a description if it has a digit or an underscore.
    if (IMAGE_FILE.test(alt) || (alt === name && /[_\d]/.test(alt))) this.add('image-alt-file-name', alt);
    const [width, height, style] = [this.get('width'), this.get('height'), this.get('style')];
    // Tracking pixels need no description.
    if ((ONE_PIXEL.test(width) && ONE_PIXEL.test(height)) || /display\s*:\s*none/i.test(style)) return;
    if (!this.attributes.has('alt')) this.add('image-without-alt', src);
    if (width === '' && !/(?:^|[;\s])(?:max-)?width\s*:/i.test(style)) this.add('image-without-size', src);
  }

  private element(): Open {
    const { top, tag, attributes } = this;
    const styles = declarations(this.get('style'));
    const classes = this.get('class').split(/\s+/, 10);
    const isStyled = classes.some((name) => name !== '' && this.sheet.includes(`.${name}`));
    // A class of the style sheet may set any property, so the inherited colours and size are unknown.
    const inherited = isStyled ? ROOT : top;
    const color = styles.get('color') ?? (tag === 'font' ? attributes.get('color') : undefined);
    const ground = styles.get('background') ?? styles.get('background-color') ?? attributes.get('bgcolor');
    const isPicture = attributes.has('background') || styles.has('background-image');
    const size = tag === 'font' && this.get('size') === '1' ? '10px' : styles.get('font-size');
    const isHidden =
      top.isHidden ||
      attributes.has('hidden') ||
      /^\s*true/i.test(this.get('aria-hidden')) ||
      HIDING.test(this.get('style'));
    return {
      ...{ tag, isHidden, asked: isHidden ? null : this.asked() },
      color: read(color, luminanceOf, tag === 'a' ? null : inherited.color),
      ground: isPicture ? null : read(ground, luminanceOf, inherited.ground),
      size: read(size, pixels, HEADING_SIZES[tag] ?? inherited.size),
      isBold: read(styles.get('font-weight'), isBoldWeight, top.isBold || BOLD_TAG.test(tag)),
      isSmallByNature: top.isSmallByNature || tag === 'sup' || tag === 'sub',
    };
  }

  private asked(): Open['asked'] {
    const { tag } = this;
    const role = this.get('role').trim().toLowerCase();
    const href = this.attributes.get('href');
    const isMet = this.hasLabel();
    if (tag === 'button' || role === 'button')
      return { rule: 'button-name', place: href ?? `<${tag}>`, isMet };
    if (tag === 'a' && href !== undefined) return { rule: 'link-name', place: href, isMet };
    return tag === 'table' ? { rule: 'layout-table-role', place: '<table>', isMet: role !== '' } : null;
  }

  private hasLabel(): boolean {
    return VISIBLE.test(this.get('aria-label') + this.get('title'));
  }

  private seeShown(): void {
    const { tag } = this;
    if (this.hasLabel() || (tag === 'img' && VISIBLE.test(this.get('alt')))) this.meetNames();
    if (/^(?:th|caption|thead)$/.test(tag)) this.meetTableRole();
    const isHeading = this.get('role') === 'heading';
    const level = Number(isHeading ? this.get('aria-level') : /^h([1-6])$/.exec(tag)?.[1]);
    if (!(level > 0)) return;
    if (this.level > 0 && level > this.level + 1) this.add('heading-order', `h${level} after h${this.level}`);
    this.level = level;
  }

  private meetNames(): void {
    for (const { asked } of this.open) if (asked && asked.rule !== 'layout-table-role') asked.isMet = true;
  }

  private meetTableRole(): void {
    const table = this.open.findLast(({ asked }) => asked?.rule === 'layout-table-role');
    if (table?.asked) table.asked.isMet = true;
  }

  ontext(start: number, end: number): void {
    const { tag, isHidden } = this.top;
    const text = this.html.slice(start, end);
    if (tag === 'style') this.sheet += text.slice(0, MAX_SHEET - this.sheet.length);
    if (!VISIBLE.test(text)) return;
    if (tag === 'title' && !this.open.some((one) => one.tag === 'svg')) this.seen.add('title');
    if (isHidden || NO_TEXT.has(tag)) return;
    this.meetNames();
    if (READABLE.test(text)) this.seeText(text.replace(/\s+/g, ' ').trim());
  }

  private seeText(text: string): void {
    const { color, ground, size, isBold, isSmallByNature } = this.top;
    if (size <= HIDDEN_SIZE) return;
    if (size < MIN_SIZE && !isSmallByNature) this.add('small-text', text);
    if (color === null || ground === null) return;
    const isLarge = size >= LARGE || (isBold && size >= LARGE_BOLD);
    if (contrast(color, ground) < (isLarge ? MIN_RATIO_LARGE : MIN_RATIO)) this.add('color-contrast', text);
  }

  override ontextentity(codepoint: number): void {
    if (!this.top.isHidden && VISIBLE.test(String.fromCodePoint(codepoint))) this.meetNames();
  }

  onclosetag(start: number, end: number): void {
    const name = this.html.slice(start, end).toLowerCase();
    const from = Math.max(0, this.open.length - MAX_CLOSED);
    for (let at = this.open.length - 1; at >= from; at--) {
      if (this.open[at]?.tag !== name) continue;
      for (const { asked } of this.open.splice(at))
        if (asked && !asked.isMet) this.add(asked.rule, asked.place);
      return;
    }
  }

  override onend(): void {
    if (!this.seen.has('lang')) this.add('html-lang', '<html>');
    if (!this.seen.has('dir')) this.add('html-dir', '<html>');
    if (this.seen.has('document') && !this.seen.has('title')) this.add('document-title', '<head>');
    if (this.seen.has('base')) this.places.delete('relative-image');
    for (const what of ['link', 'image'] as const)
      for (const url of this.urls[what])
        if (/^http:/i.test(url) && !LOCAL_HOST.test(url)) this.add(`insecure-${what}`, url);
  }

  private add(rule: string, place: string): void {
    const places = this.places.get(rule) ?? [];
    this.places.set(rule, places);
    if (places.length < MAX_PLACES) places.push(shortened(place));
  }
}

export const shortened = (text: string): string =>
  text.length > MAX_PLACE ? `${text.slice(0, MAX_PLACE - 1)}…` : text;

export function readPlaces(html: string): Pick<LintedMail, 'places' | 'urls'> {
  const { places, urls } = new PlaceReader(html).read();
  return { places, urls: [...new Set([...urls.link, ...urls.image])] };
}
