import { TagReader } from '../extract/tag-reader.ts';
import support from './client-support.json' with { type: 'json' };

/* `client-support.json` is data of caniemail.com, written by `scripts/lint/client-support.ts`. */

export interface UsedFeature {
  /** Part of the URL `https://www.caniemail.com/features/…`. */
  slug: string;
  title: string;
  /** One letter per client: `y`, `a` for partial support, `n`, or `u` for unknown. */
  support: string;
  lines: number[];
}

const FEATURES: ReadonlyMap<string, Omit<UsedFeature, 'lines'>> = new Map(
  support.features
    .filter((feature) => /[an]/.test(feature.support))
    .flatMap((feature) => feature.keys.map((key) => [key, feature])),
);

const MAX_LINES = 5;
const MAX_KEPT = 1_000;
const MAX_CSS = 256 * 1024;

export interface LintedImage {
  src: string;
  hasAlt: boolean;
  hasSize: boolean;
  /** Whether it is one pixel in size or hidden: a pixel that tracks opening. */
  isPixel: boolean;
}

export interface PageFacts {
  images: LintedImage[];
  addresses: { element: string; address: string }[];
  features: UsedFeature[];
}

const ADDRESS_ATTRIBUTES: ReadonlySet<string> = new Set(['href', 'src', 'background', 'action']);
const FONT_SHEET = /font|typekit/i;
const ONE_PIXEL = /^\s*[01](?:px)?\s*$/;

class FactReader extends TagReader {
  readonly images: LintedImage[] = [];
  readonly addresses: { element: string; address: string }[] = [];
  readonly features = new Map<string, UsedFeature>();
  private cssLength = 0;
  private isStyle = false;
  private line = 1;
  private lineEnd = this.html.indexOf('\n');

  onclosetag(): void {
    this.isStyle = false;
  }

  ontext(start: number, end: number): void {
    if (this.isStyle) this.readCss(this.html.slice(start, end), (index) => start + index);
  }

  protected opened(): void {
    const { tag, attributes } = this;
    this.isStyle = tag === 'style';
    const type = attributes.get('type')?.toLowerCase();
    const isLost = tag === 'link' ? isLayoutSheet(attributes) : type !== 'hidden';
    if (isLost)
      this.use(`element:${tag}:${type}`, this.tagStart) || this.use(`element:${tag}`, this.tagStart);
    this.readCss(attributes.get('style') ?? '', () => this.tagStart);
    for (const [name, value] of attributes) {
      this.use(`attribute:${name}`, this.tagStart);
      if (!ADDRESS_ATTRIBUTES.has(name) || this.addresses.length >= MAX_KEPT) continue;
      this.addresses.push({ element: tag, address: value.trim() });
    }
    if (tag === 'img' && this.images.length < MAX_KEPT) this.images.push(imageOf(attributes));
  }

  private readCss(css: string, placeOf: (index: number) => number): void {
    if (css === '' || this.cssLength >= MAX_CSS) return;
    this.cssLength += css.length;
    for (const [declaration, index] of declarationsOf(css.slice(0, MAX_CSS))) {
      const place = placeOf(index);
      const [, rule] = /^@([a-z-]+)/.exec(declaration) ?? [];
      if (rule !== undefined && !(rule === 'import' && FONT_SHEET.test(declaration)))
        this.use(`at:${rule}`, place);
      const colon = declaration.indexOf(':');
      if (colon < 0 || rule !== undefined) continue;
      const property = declaration.slice(0, colon).trim();
      const value = declaration.slice(colon + 1).trim();
      this.use(`value:${property}:${value}`, place);
      // Initial values, and positions without effect, need no support.
      if (!/^(?:static|relative|initial|auto|0|none|normal)\b/.test(value))
        this.use(`property:${property}`, place);
      for (const [, name] of value.matchAll(/(?<![a-z-])([a-z-]{1,30})\(/g))
        this.use(`function:${name}`, place);
    }
  }

  private use(key: string, place: number): boolean {
    const feature = FEATURES.get(key);
    if (!feature) return false;
    const known = this.features.get(feature.slug) ?? { ...feature, lines: [] };
    this.features.set(feature.slug, known);
    const line = known.lines.length < MAX_LINES ? this.lineAt(place) : 0;
    if (line > 0 && known.lines.at(-1) !== line) known.lines.push(line);
    return true;
  }

  /** Places come in ascending order, so each line end is searched once. */
  private lineAt(place: number): number {
    for (; this.lineEnd !== -1 && this.lineEnd < place; this.line++) {
      this.lineEnd = this.html.indexOf('\n', this.lineEnd + 1);
    }
    return this.line;
  }
}

/** False for style sheets of fonts, which do not affect the layout. */
const isLayoutSheet = (attributes: ReadonlyMap<string, string>): boolean =>
  /stylesheet/i.test(attributes.get('rel') ?? '') && !FONT_SHEET.test(attributes.get('href') ?? '');

function imageOf(attributes: ReadonlyMap<string, string>): LintedImage {
  const style = attributes.get('style') ?? '';
  const [width, height] = [attributes.get('width') ?? '', attributes.get('height') ?? ''];
  return {
    src: (attributes.get('src') ?? '').trim(),
    hasAlt: attributes.has('alt'),
    hasSize: width !== '' || /(?:^|[;\s])(?:max-)?width\s*:/i.test(style),
    isPixel: (ONE_PIXEL.test(width) && ONE_PIXEL.test(height)) || /display\s*:\s*none/i.test(style),
  };
}

/** Linear in the length. Skips `@supports` blocks, which have fallbacks outside. */
function* declarationsOf(css: string): Generator<[declaration: string, index: number]> {
  /** Open braces since the outermost `@supports`; 0 outside. */
  let guarded = 0;
  for (const { 1: piece = '', 2: end = '', index } of css.matchAll(/([^;{}]*)([;{}]?)/g)) {
    const text = piece.trimStart();
    const declaration = text.trimEnd().toLowerCase();
    if (guarded === 0 && declaration !== '') yield [declaration, index + piece.length - text.length];
    if (end === '{' && (guarded > 0 || declaration.startsWith('@supports'))) guarded += 1;
    if (end === '}' && guarded > 0) guarded -= 1;
  }
}

export function pageFacts(html: string): PageFacts {
  const reader = new FactReader(html);
  reader.read();
  return { images: reader.images, addresses: reader.addresses, features: [...reader.features.values()] };
}
