import type { LintFeature } from '@mayfly/client/contract';
import { TagReader } from '../extract/tag-reader.ts';
import support from './client-support.json' with { type: 'json' };
import type { Case, LintedMail, UsedFeature } from './finding.ts';

/* `client-support.json` has data from caniemail.com; `scripts/lint/client-support.ts` writes the file. */

/** The lint rule reports a feature if less than this percentage of mail clients support it. */
const MIN_SHARE = 60;
/** The lint rule reports only these features: a client without one of them loses content or layout. */
const LOSES: ReadonlySet<string> = new Set(
  (
    'html-svg html-video html-audio html-form html-input-text html-object html-dialog html-base html-meter ' +
    'html-progress html-link css-at-import css-position css-inset css-gap css-grid-template css-clip-path ' +
    'css-inline-size css-mask-image css-aspect-ratio css-variables css-unit-calc css-function-clamp ' +
    'css-modern-color css-function-light-dark'
  ).split(' '),
);
const MAX_FEATURES = 60;
const MAX_LINES = 5;
const MAX_CSS = 256 * 1024;
const FONT_SHEET = /font|typekit/i;

const FEATURES: ReadonlyMap<string, Omit<UsedFeature, 'lines'>> = new Map(
  support.features
    .filter((feature) => /[an]/.test(feature.support))
    .flatMap((feature) => feature.keys.map((key) => [key, feature])),
);

class FeatureReader extends TagReader {
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

  onopentagend(): void {
    const { tag, tagStart } = this;
    this.isStyle = tag === 'style';
    const type = this.attributes.get('type')?.toLowerCase();
    const isSheet = /stylesheet/i.test(this.get('rel')) && !FONT_SHEET.test(this.get('href'));
    if (tag === 'link' ? isSheet : type !== 'hidden')
      this.use(`element:${tag}:${type}`, tagStart) || this.use(`element:${tag}`, tagStart);
    this.readCss(this.get('style'), () => tagStart);
    for (const name of this.attributes.keys()) this.use(`attribute:${name}`, tagStart);
  }

  private readCss(css: string, placeOf: (index: number) => number): void {
    if (css === '' || this.cssLength >= MAX_CSS) return;
    this.cssLength += css.length;
    for (const [declaration, index] of declarationsOf(css.slice(0, MAX_CSS))) {
      const place = placeOf(index);
      const rule = /^@([a-z-]+)/.exec(declaration)?.[1];
      if (rule !== undefined) {
        if (rule !== 'import' || !FONT_SHEET.test(declaration)) this.use(`at:${rule}`, place);
        continue;
      }
      const colon = declaration.indexOf(':');
      if (colon < 0) continue;
      const property = declaration.slice(0, colon).trim();
      const value = declaration.slice(colon + 1).trim();
      this.use(`value:${property}:${value}`, place);
      // A mail with these values looks the same in clients without the property, so they are not reported.
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

  /** Returns the line of an offset. Offsets must ascend, so that each line end is searched once. */
  private lineAt(place: number): number {
    for (; this.lineEnd !== -1 && this.lineEnd < place; this.line++) {
      this.lineEnd = this.html.indexOf('\n', this.lineEnd + 1);
    }
    return this.line;
  }
}

function* declarationsOf(css: string): Generator<[declaration: string, index: number]> {
  let guarded = 0;
  for (const { 1: piece = '', 2: end = '', index } of css.matchAll(/([^;{}]*)([;{}]?)/g)) {
    const text = piece.trimStart();
    const declaration = text.trimEnd().toLowerCase();
    if (guarded === 0 && declaration !== '') yield [declaration, index + piece.length - text.length];
    if (end === '{' && (guarded > 0 || declaration.startsWith('@supports'))) guarded += 1;
    if (end === '}' && guarded > 0) guarded -= 1;
  }
}

export const usedFeatures = (html: string): UsedFeature[] => [
  ...new FeatureReader(html).read().features.values(),
];

export const rarelySupported = ({ features }: LintedMail): Case[] =>
  features
    .filter((feature) => LOSES.has(feature.slug) && shareOf(feature) < MIN_SHARE)
    .map((feature) => ({
      message: `About ${shareOf(feature)} % of mail clients support ${feature.title}. Make sure that the message is readable without it: ${urlOf(feature)}`,
      where: feature.title,
    }));

const urlOf = ({ slug }: UsedFeature): string => `https://www.caniemail.com/features/${slug}/`;

/** Percentage of the tested clients that support the feature. Partial support counts half. */
function shareOf({ support: letters }: UsedFeature): number {
  const tested = letters.replaceAll('u', '');
  const points = tested.replaceAll(/[^y]/g, '').length + tested.replaceAll(/[^a]/g, '').length / 2;
  return Math.round((100 * points) / tested.length);
}

const clientsOf = ({ support: letters }: UsedFeature, letter: string): string[] =>
  support.clients.filter((_, index) => letters[index] === letter);

export const toFeatures = (features: readonly UsedFeature[]): LintFeature[] =>
  features.slice(0, MAX_FEATURES).map((feature) => ({
    feature: feature.title,
    reference: urlOf(feature),
    share: shareOf(feature),
    lines: feature.lines,
    full: clientsOf(feature, 'y'),
    partial: clientsOf(feature, 'a'),
    none: clientsOf(feature, 'n'),
  }));
