/*
 * Writes packages/server/src/mail/lint/client-support.json: which mail clients support which HTML and CSS, from the data
 * of caniemail.com in the npm package `caniemail`. `node scripts/lint/client-support.ts 2.0.2` takes another version.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const VERSION = process.argv[2] ?? '2.0.2';
const TARGET = fileURLToPath(
  new URL('../../packages/server/src/mail/lint/client-support.json', import.meta.url),
);
/** Clients in which fewer features were tested say little about a mail. */
const MIN_TESTED = 200;

interface Feature {
  slug: string;
  title: string;
  category: string;
  /** By family, platform and version, oldest first: `y`, `a` for partial, `n`, `u` for unknown, with notes behind. */
  stats: Record<string, Record<string, Record<string, string>>>;
}

interface Caniemail {
  last_update_date: string;
  nicenames: { family: Record<string, string>; platform: Record<string, string> };
  data: Feature[];
}

/** Where the title does not name what is to be found. */
const KEYS: Record<string, string[]> = {
  'css-variables': ['function:var'],
  'css-unit-calc': ['function:calc'],
  'css-column-layout-properties': ['property:columns', 'property:column-width', 'property:column-span'],
  'css-grid-template': [
    'property:grid-template-columns',
    'property:grid-template-rows',
    'property:grid-template-areas',
  ],
  'css-hyphens': ['property:hyphens'],
  'css-font': ['property:font'],
  'css-at-media': ['at:media'],
  'html-input-text': ['element:input'],
  'html-semantics': [
    'article',
    'aside',
    'details',
    'figcaption',
    'figure',
    'footer',
    'header',
    'main',
    'mark',
    'nav',
    'section',
    'summary',
    'time',
  ].map((name) => `element:${name}`),
  'html-lists': ['element:ul', 'element:ol', 'element:dl'],
  'html-h1-h6': ['1', '2', '3', '4', '5', '6'].map((n) => `element:h${n}`),
};
/** What cannot be found in a tag or a declaration, or is nothing that a mail loses. */
const LEFT_OUT =
  /^(?:html-(?:body|comments|doctype|input-hidden|loading|meta|style|picture|target)|css-(?:comments|unit-(?!calc)|inert|intrinsic|sytem-ui|pseudo))/;

const ofCss = (title: string): string[] => {
  const [, at] = /^@([a-z-]+)$/.exec(title) ?? [];
  if (at !== undefined) return [`at:${at}`];
  const [, property, value] = /^([a-z-]+): ?([a-z-]+)$/.exec(title) ?? [];
  if (property !== undefined) return [`value:${property}:${value}`];
  const functions = [...title.matchAll(/(?<![:@\w-])([a-z-]+)\(\)/g)].map(([, name]) => `function:${name}`);
  if (functions.length > 0) return functions;
  const names = title
    .replace(/ (?:properties|property|shorthand|CSS property)$/, '')
    .trim()
    .split(/, | & /);
  return names.every((name) => /^[a-z-]+$/.test(name)) ? names.map((name) => `property:${name}`) : [];
};

const ofHtml = (title: string): string[] => {
  const [, attribute] = /^([a-z-]+) attribute$/.exec(title) ?? [];
  if (attribute !== undefined) return [`attribute:${attribute}`];
  const [, name, type] = /<([a-z]+)(?: type="([a-z]+)")?>/.exec(title) ?? [];
  return name === undefined ? [] : [`element:${name}${type === undefined ? '' : `:${type}`}`];
};

const keysOf = ({ slug, title, category }: Feature): string[] => {
  if (LEFT_OUT.test(slug)) return [];
  return KEYS[slug] ?? (category === 'css' ? ofCss(title) : category === 'html' ? ofHtml(title) : []);
};

function readPackage(): Caniemail {
  const folder = mkdtempSync(join(tmpdir(), 'caniemail-'));
  try {
    execFileSync('npm', ['pack', '--silent', `caniemail@${VERSION}`], { cwd: folder });
    execFileSync('tar', ['-xzf', `caniemail-${VERSION}.tgz`], { cwd: folder });
    return JSON.parse(readFileSync(join(folder, 'package/data/caniemail.json'), 'utf8'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const { data, nicenames, last_update_date: updated } = readPackage();
const clients = Object.entries(
  Object.groupBy(
    data.flatMap(({ stats }) =>
      Object.entries(stats).flatMap(([family, platforms]) =>
        Object.keys(platforms).map((platform) => `${family}/${platform}`),
      ),
    ),
    (client) => client,
  ),
)
  .filter(([, found = []]) => found.length >= MIN_TESTED)
  .map(([client]) => client.split('/') as [family: string, platform: string]);

/** A letter for each client, of its newest version. */
const supportOf = ({ stats }: Feature): string =>
  clients
    .map(([family, platform]) => Object.values(stats[family]?.[platform] ?? {}).at(-1)?.[0] ?? 'u')
    .join('');

const features = data
  .map((feature) => ({ feature, keys: keysOf(feature) }))
  .filter(({ keys }) => keys.length > 0)
  .map(({ feature, keys }) => ({
    slug: feature.slug,
    title: feature.title.trim(),
    keys,
    support: supportOf(feature),
  }));
const names = clients.map(
  ([family, platform]) =>
    `${nicenames.family[family] ?? family} (${nicenames.platform[platform] ?? platform})`,
);
const licence = 'MIT, Copyright © Avi Goldman, © Andrew Powell; data of caniemail.com';
const head = {
  date: updated.slice(0, 10),
  source: `npm package caniemail ${VERSION}`,
  licence,
  clients: names,
};
const lines = features.map((feature) => `    ${JSON.stringify(feature)}`).join(',\n');
writeFileSync(TARGET, `${JSON.stringify(head, null, 2).slice(0, -2)},\n  "features": [\n${lines}\n  ]\n}\n`);
