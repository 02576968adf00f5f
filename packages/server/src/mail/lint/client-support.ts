/*
 * Which mail clients support features of HTML and CSS without which content or layout is lost. The shares are
 * figures of caniemail.com as of 2026-05-13 (its data as published in the npm package caniemail 2.0.2, MIT
 * licence): of all tested clients in their newest tested version, those with full support and half of those
 * with partial support. Features that only decorate, such as shadows and transitions, are not listed,
 * and neither is <picture>, which shows its <img> where it is not supported.
 */

export interface ClientSupport {
  /** As people write it. */
  feature: string;
  /** Percent of mail clients. */
  share: number;
  /** Of `https://www.caniemail.com/features/…`. */
  slug: string;
}

/** By element. */
export const ELEMENTS: Readonly<Record<string, ClientSupport>> = {
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

/** An external style sheet: `<link rel="stylesheet">`. */
export const STYLE_SHEET: ClientSupport = {
  feature: '<link rel="stylesheet">',
  share: 14,
  slug: 'html-link',
};

/** By property. */
export const PROPERTIES: Readonly<Record<string, ClientSupport>> = {
  position: { feature: 'position', share: 55, slug: 'css-position' },
  inset: { feature: 'inset', share: 13, slug: 'css-inset' },
  gap: { feature: 'gap', share: 53, slug: 'css-gap' },
  'grid-template-columns': { feature: 'grid-template-columns', share: 42, slug: 'css-grid-template' },
  'clip-path': { feature: 'clip-path', share: 48, slug: 'css-clip-path' },
  'inline-size': { feature: 'inline-size', share: 46, slug: 'css-inline-size' },
  'mask-image': { feature: 'mask-image', share: 23, slug: 'css-mask-image' },
  'aspect-ratio': { feature: 'aspect-ratio', share: 41, slug: 'css-aspect-ratio' },
};

/** By a function in a value. */
export const FUNCTIONS: Readonly<Record<string, ClientSupport>> = {
  'var(': { feature: 'var()', share: 45, slug: 'css-variables' },
  'calc(': { feature: 'calc()', share: 57, slug: 'css-unit-calc' },
  'clamp(': { feature: 'clamp()', share: 52, slug: 'css-function-clamp' },
  'oklch(': { feature: 'oklch()', share: 28, slug: 'css-modern-color' },
  'light-dark(': { feature: 'light-dark()', share: 28, slug: 'css-function-light-dark' },
};

export const AT_IMPORT: ClientSupport = { feature: '@import', share: 21, slug: 'css-at-import' };
