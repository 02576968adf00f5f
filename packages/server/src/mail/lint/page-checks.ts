import type { LintFeature } from '@mayfly/client/contract';
import support from './client-support.json' with { type: 'json' };
import type { Case, LintedMail } from './finding.ts';
import type { PageFacts, UsedFeature } from './page-facts.ts';

/** Percentage of clients below which a feature is reported. */
const MIN_SHARE = 60;
/** Features without which content or layout is lost. Others only decorate or have a fallback. */
const LOSES: ReadonlySet<string> = new Set(
  (
    'html-svg html-video html-audio html-form html-input-text html-object html-dialog html-base html-meter ' +
    'html-progress html-link css-at-import css-position css-inset css-gap css-grid-template css-clip-path ' +
    'css-inline-size css-mask-image css-aspect-ratio css-variables css-unit-calc css-function-clamp ' +
    'css-modern-color css-function-light-dark'
  ).split(' '),
);
const MAX_FEATURES = 60;
/** Hosts of development and of documentation (RFC 2606, RFC 6761), for which no public certificate exists. */
const LOCAL_HOST =
  /^http:\/\/(?:localhost|127\.|10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|\[::1\]|host\.docker\.internal|[^/:?#]*\.(?:localhost|test|local|internal|lan|invalid))(?=[/:?#]|\d|$)/i;

const shortened = (text: string): string => (text.length > 100 ? `${text.slice(0, 99)}…` : text);

/** Images without the attribute; pixels that track opening need none. */
export const imagesWithout =
  (attribute: 'hasAlt' | 'hasSize') =>
  ({ page }: LintedMail): string[] =>
    (page?.images ?? [])
      .filter((image) => !image.isPixel && !image[attribute])
      .map(({ src }) => shortened(src));

export function brokenCids({ mail: { content }, page }: LintedMail): Case[] {
  const ids = new Set(content.attachments.map(({ contentId }) => contentId));
  const wanted = (page?.addresses ?? [])
    .filter(({ address }) => /^cid:/i.test(address))
    .map(({ address }) => address.slice('cid:'.length));
  return [...new Set(wanted)]
    .filter((id) => !ids.has(id) && !ids.has(decoded(id)))
    .map((id) => ({
      message: `No part has the Content-ID <${shortened(id)}>, so the image is broken.`,
      where: shortened(`cid:${id}`),
    }));
}

/** Decodes a `cid:` URL, which may contain escapes (RFC 2392). */
function decoded(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
}

export const insecure =
  (what: 'link' | 'image') =>
  ({ page }: LintedMail): string[] => {
    const addresses = (page?.addresses ?? []).filter(
      ({ element, address }) =>
        /^(?:a|area|form)$/.test(element) === (what === 'link') &&
        /^http:/i.test(address) &&
        !LOCAL_HOST.test(address),
    );
    return [...new Set(addresses.map(({ address }) => address))].map(shortened);
  };

export const rarelySupported = ({ page }: LintedMail): Case[] =>
  (page?.features ?? [])
    .filter((feature) => LOSES.has(feature.slug) && shareOf(feature) < MIN_SHARE)
    .map((feature) => ({
      message: `About ${shareOf(feature)} % of mail clients support ${feature.title}. Make sure that the message is readable without it: ${urlOf(feature)}`,
      where: feature.title,
    }));

const urlOf = ({ slug }: UsedFeature): string => `https://www.caniemail.com/features/${slug}/`;

/** Percentage of tested clients with support; partial support counts half. */
function shareOf({ support: letters }: UsedFeature): number {
  const tested = letters.replaceAll('u', '');
  const points = tested.replaceAll(/[^y]/g, '').length + tested.replaceAll(/[^a]/g, '').length / 2;
  return Math.round((100 * points) / tested.length);
}

const clientsOf = ({ support: letters }: UsedFeature, letter: string): string[] =>
  support.clients.filter((_, index) => letters[index] === letter);

export const featuresOf = (page: PageFacts | null): LintFeature[] =>
  (page?.features ?? []).slice(0, MAX_FEATURES).map((feature) => ({
    feature: feature.title,
    reference: urlOf(feature),
    share: shareOf(feature),
    lines: feature.lines,
    full: clientsOf(feature, 'y'),
    partial: clientsOf(feature, 'a'),
    none: clientsOf(feature, 'n'),
  }));
