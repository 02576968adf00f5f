import { TagReader } from '../extract/tag-reader.ts';

/*
 * Support of HTML and CSS features without which content or layout is lost. Shares are from caniemail.com as of
 * 2026-05-13 (npm package caniemail 2.0.2, MIT licence): clients with full support, plus half of those with partial
 * support, in their newest tested version. <picture> is left out because it falls back to its <img>.
 */

export interface ClientSupport {
  feature: string;
  /** Percent of mail clients. */
  share: number;
  /** Of `https://www.caniemail.com/features/…`. */
  slug: string;
}

const ELEMENTS: Readonly<Record<string, ClientSupport>> = {
  svg: { feature: '<svg>', share: 39, slug: 'html-svg' },
  video: { feature: '<video>', share: 22, slug: 'html-video' },
  audio: { feature: '<audio>', share: 21, slug: 'html-audio' },
  form: { feature: '<form>', share: 48, slug: 'html-form' },
  input: { feature: '<input>', share: 45, slug: 'html-input-text' },
  object: { feature: '<object>', share: 9, slug: 'html-object' },
  dialog: { feature: '<dialog>', share: 29, slug: 'html-dialog' },
  base: { feature: '<base>', share: 39, slug: 'html-base' },
  meter: { feature: '<meter>', share: 45, slug: 'html-meter' },
  progress: { feature: '<progress>', share: 35, slug: 'html-progress' },
};

const STYLE_SHEET: ClientSupport = {
  feature: '<link rel="stylesheet">',
  share: 14,
  slug: 'html-link',
};

const PROPERTIES: Readonly<Record<string, ClientSupport>> = {
  position: { feature: 'position', share: 55, slug: 'css-position' },
  inset: { feature: 'inset', share: 13, slug: 'css-inset' },
  gap: { feature: 'gap', share: 53, slug: 'css-gap' },
  'grid-template-columns': { feature: 'grid-template-columns', share: 42, slug: 'css-grid-template' },
  'clip-path': { feature: 'clip-path', share: 48, slug: 'css-clip-path' },
  'inline-size': { feature: 'inline-size', share: 46, slug: 'css-inline-size' },
  'mask-image': { feature: 'mask-image', share: 23, slug: 'css-mask-image' },
  'aspect-ratio': { feature: 'aspect-ratio', share: 41, slug: 'css-aspect-ratio' },
};

/** By function in a value. */
const FUNCTIONS: Readonly<Record<string, ClientSupport>> = {
  'var(': { feature: 'var()', share: 45, slug: 'css-variables' },
  'calc(': { feature: 'calc()', share: 57, slug: 'css-unit-calc' },
  'clamp(': { feature: 'clamp()', share: 52, slug: 'css-function-clamp' },
  'oklch(': { feature: 'oklch()', share: 28, slug: 'css-modern-color' },
  'light-dark(': { feature: 'light-dark()', share: 28, slug: 'css-function-light-dark' },
};

const AT_IMPORT: ClientSupport = { feature: '@import', share: 21, slug: 'css-at-import' };

const MAX_KEPT = 1_000;
const MAX_CSS = 256 * 1024;

export interface LintedImage {
  src: string;
  hasAlt: boolean;
  hasSize: boolean;
  /** One pixel or hidden: it counts opened mail. */
  isPixel: boolean;
}

export interface PageFacts {
  images: LintedImage[];
  /** URLs of links and loaded resources, with their element. */
  addresses: { element: string; address: string }[];
  features: ClientSupport[];
}

const ADDRESS_ATTRIBUTES: ReadonlySet<string> = new Set(['href', 'src', 'background', 'action']);
/** Fonts only decorate. */
const FONT_SHEET = /font|typekit/i;
const ONE_PIXEL = /^\s*[01](?:px)?\s*$/;

class FactReader extends TagReader {
  readonly images: LintedImage[] = [];
  readonly addresses: { element: string; address: string }[] = [];
  readonly features = new Map<string, ClientSupport>();
  css = '';
  private attributes = new Map<string, string>();
  private isStyle = false;

  protected begin(): void {
    this.attributes = new Map();
  }

  protected attribute(name: string, value: string): void {
    if (!this.attributes.has(name)) this.attributes.set(name, value);
  }

  onclosetag(): void {
    this.isStyle = false;
  }

  ontext(start: number, end: number): void {
    if (this.isStyle) this.addCss(this.html.slice(start, end));
  }

  protected opened(): void {
    const { tag, attributes } = this;
    this.isStyle = tag === 'style';
    const feature = featureOf(tag, attributes);
    if (feature) this.features.set(feature.slug, feature);
    this.addCss(attributes.get('style') ?? '');
    for (const [name, value] of attributes) {
      if (!ADDRESS_ATTRIBUTES.has(name) || this.addresses.length >= MAX_KEPT) continue;
      this.addresses.push({ element: tag, address: value.trim() });
    }
    if (tag === 'img' && this.images.length < MAX_KEPT) this.images.push(imageOf(attributes));
  }

  private addCss(css: string): void {
    if (css !== '' && this.css.length < MAX_CSS) this.css += `${css};`;
  }
}

function featureOf(tag: string, attributes: ReadonlyMap<string, string>): ClientSupport | undefined {
  if (tag !== 'link') return attributes.get('type') === 'hidden' ? undefined : ELEMENTS[tag];
  const isSheet = /stylesheet/i.test(attributes.get('rel') ?? '');
  return isSheet && !FONT_SHEET.test(attributes.get('href') ?? '') ? STYLE_SHEET : undefined;
}

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

/** The declarations of style sheets, in linear time. Skips `@supports` blocks, because they have fallbacks outside. */
function* declarationsOf(css: string): Generator<string> {
  /** Open braces since the outermost `@supports`; 0 outside. */
  let guarded = 0;
  for (const [, piece = '', end = ''] of css.matchAll(/([^;{}]*)([;{}]?)/g)) {
    const declaration = piece.trim().toLowerCase();
    if (guarded === 0 && declaration !== '') yield declaration;
    if (end === '{' && (guarded > 0 || declaration.startsWith('@supports'))) guarded += 1;
    if (end === '}' && guarded > 0) guarded -= 1;
  }
}

function featuresOfCss(css: string, found: Map<string, ClientSupport>): void {
  const add = (support: ClientSupport | undefined) => support && found.set(support.slug, support);
  for (const declaration of declarationsOf(css.slice(0, MAX_CSS))) {
    if (declaration.startsWith('@import') && !FONT_SHEET.test(declaration)) add(AT_IMPORT);
    const colon = declaration.indexOf(':');
    if (colon < 0 || declaration.startsWith('@')) continue;
    const property = declaration.slice(0, colon).trim();
    const value = declaration.slice(colon + 1).trim();
    // Initial values, and positions that move nothing, need no support.
    if (!/^(?:static|relative|initial|auto|0|none|normal)\b/.test(value)) add(PROPERTIES[property]);
    for (const [name, support] of Object.entries(FUNCTIONS)) if (value.includes(name)) add(support);
  }
}

/** Reads only the first MiB. */
export function pageFacts(html: string): PageFacts {
  const reader = new FactReader(html);
  reader.read();
  featuresOfCss(reader.css, reader.features);
  return { images: reader.images, addresses: reader.addresses, features: [...reader.features.values()] };
}
