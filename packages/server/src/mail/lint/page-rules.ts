import type { LintFeature } from '@mayfly/client/contract';
import { fieldKey } from '../mime/header.ts';
import support from './client-support.json' with { type: 'json' };
import type { Case, LintedMail, Rule } from './finding.ts';
import type { PageFacts, UsedFeature } from './page-facts.ts';

/** Percentage of clients below which a feature is reported. */
const MIN_SHARE = 60;
/** Features without which content or layout is lost. Others only decorate or have a fallback. */
const LOSES: ReadonlySet<string> = new Set([
  ...['html-svg', 'html-video', 'html-audio', 'html-form', 'html-input-text', 'html-object', 'html-dialog'],
  ...['html-base', 'html-meter', 'html-progress', 'html-link', 'css-at-import', 'css-position', 'css-inset'],
  ...[
    'css-gap',
    'css-grid-template',
    'css-clip-path',
    'css-inline-size',
    'css-mask-image',
    'css-aspect-ratio',
  ],
  ...['css-variables', 'css-unit-calc', 'css-function-clamp', 'css-modern-color', 'css-function-light-dark'],
]);

/** Percentage of tested clients with support; partial support counts half. */
function shareOf({ support: letters }: UsedFeature): number {
  const tested = letters.replaceAll('u', '');
  const points = tested.replaceAll(/[^y]/g, '').length + tested.replaceAll(/[^a]/g, '').length / 2;
  return Math.round((100 * points) / tested.length);
}

const clientsOf = ({ support: letters }: UsedFeature, letter: string): string[] =>
  support.clients.filter((_, index) => letters[index] === letter);

const MAX_FEATURES = 60;
/** Hosts of development and of documentation (RFC 2606, RFC 6761), for which no public certificate exists. */
const LOCAL_HOST =
  /^http:\/\/(?:localhost|127\.|10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|\[::1\]|host\.docker\.internal|[^/:?#]*\.(?:localhost|test|local|internal|lan|invalid))(?=[/:?#]|\d|$)/i;

const shortened = (text: string): string => (text.length > 100 ? `${text.slice(0, 99)}…` : text);
const imagesOf = ({ page }: LintedMail) => (page?.images ?? []).filter(({ isPixel }) => !isPixel);

function insecure(mail: LintedMail, isWanted: (element: string) => boolean): string[] {
  const addresses = (mail.page?.addresses ?? [])
    .filter(
      ({ element, address }) => isWanted(element) && /^http:/i.test(address) && !LOCAL_HOST.test(address),
    )
    .map(({ address }) => address);
  return [...new Set(addresses)];
}

const isLink = (element: string): boolean => element === 'a' || element === 'area' || element === 'form';

export const PAGE_RULES: readonly Rule[] = [
  {
    name: 'image-without-alt',
    severity: 'warning',
    reference: 'WCAG 2.2 success criterion 1.1.1',
    check: (mail) =>
      imagesOf(mail)
        .filter(({ hasAlt }) => !hasAlt)
        .map(({ src }) => ({
          message:
            'The image has no "alt" attribute. Many clients show no images at first, and then only this; write alt="" if it only decorates.',
          where: shortened(src),
        })),
  },
  {
    name: 'image-without-size',
    severity: 'info',
    reference: 'HTML Living Standard section 4.8.17',
    check: (mail) =>
      imagesOf(mail)
        .filter(({ hasSize }) => !hasSize)
        .map(({ src }) => ({
          message:
            'The image has no width. Outlook on Windows shows it in the size of its file; add "width" and "height".',
          where: shortened(src),
        })),
  },
  {
    name: 'broken-cid',
    severity: 'error',
    reference: 'RFC 2392 section 2',
    check: (mail) => {
      const ids = new Set(mail.mail.content.attachments.map(({ contentId }) => contentId));
      const wanted = (mail.page?.addresses ?? [])
        .filter(({ address }) => /^cid:/i.test(address))
        .map(({ address }) => address.slice('cid:'.length));
      return [...new Set(wanted)]
        .filter((id) => !ids.has(id) && !ids.has(decoded(id)))
        .map((id) => ({
          message: `No part has the Content-ID <${shortened(id)}>, so the image is broken.`,
          where: shortened(`cid:${id}`),
        }));
    },
  },
  {
    name: 'insecure-link',
    severity: 'warning',
    reference: 'RFC 9110 section 4.2.2',
    check: (mail) =>
      insecure(mail, isLink).map((address) => ({
        message: 'The link is not encrypted. Use https:, above all for links that contain a token.',
        where: shortened(address),
      })),
  },
  {
    name: 'insecure-image',
    severity: 'warning',
    reference: 'W3C Mixed Content section 3.2',
    check: (mail) =>
      insecure(mail, (element) => !isLink(element)).map((address) => ({
        message: 'This is loaded without encryption. Web mail on https: does not show it; use https:.',
        where: shortened(address),
      })),
  },
  {
    name: 'little-client-support',
    severity: 'info',
    reference: `https://www.caniemail.com (data of ${support.date})`,
    check: ({ page }) =>
      (page?.features ?? [])
        .filter((feature) => LOSES.has(feature.slug) && shareOf(feature) < MIN_SHARE)
        .map((feature) => ({
          message: `About ${shareOf(feature)} % of mail clients support ${feature.title}. Make sure that the message is readable without it: https://www.caniemail.com/features/${feature.slug}/`,
          where: feature.title,
        })),
  },
];

export const featuresOf = (page: PageFacts | null): LintFeature[] =>
  (page?.features ?? []).slice(0, MAX_FEATURES).map((feature) => ({
    feature: feature.title,
    reference: `https://www.caniemail.com/features/${feature.slug}/`,
    share: shareOf(feature),
    lines: feature.lines,
    full: clientsOf(feature, 'y'),
    partial: clientsOf(feature, 'a'),
    none: clientsOf(feature, 'n'),
  }));

/** Decodes a `cid:` URL, which may contain escapes (RFC 2392). */
function decoded(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
}

/** Placeholders of Mustache, Jinja, ERB, JavaScript, PHP mailers and Mailchimp, and a stringified object. */
const PLACEHOLDER =
  /\{\{[^{}\n]{1,60}\}\}|\{%[^%\n]{1,60}%\}|<%[^%\n]{1,60}%>|\$\{[\w.]{1,60}\}|%%[\w ]{1,40}%%|\*\|[\w:]{1,40}\|\*|\[object Object\]/;
/** The same in a URL, plain or percent-encoded, and JavaScript's `undefined`. */
const IN_ADDRESS =
  /\{\{[^{}]{1,60}\}\}|%7B%7B.{1,60}?%7D%7D|\$\{[\w.]{1,60}\}|\*\|[\w:]{1,40}\|\*|\[object(?: |%20)Object\]|^https?:\/\/undefined\b|\/undefined(?=[/?#]|$)/i;
const GREETING =
  /^(?:hi|hello|hey|dear|hallo|liebe[rs]?|guten tag|bonjour|hola|olá|ciao|beste|cześć|hej|merhaba)\b/i;
/** Values that programs print for a missing name. */
const NO_NAME = /\b(?:undefined|null|None|NaN)\b/;
const EMPTY_NAME = /^(?:hi|hello|hey|dear|hallo) ,/i;
/** Greetings are near the top, and short. */
const MAX_LINES = 12;
const MAX_GREETING = 80;
const MAX_READ = 4 * 1024;

const finding = (found: string, where: string): Case => ({
  message: `"${found}" stands where a value belongs. Check that the template gets its data, under the names that it uses.`,
  where,
});

function brokenGreeting(text: string): string | undefined {
  const lines = text.slice(0, MAX_READ).split('\n').slice(0, MAX_LINES);
  return lines
    .map((line) => line.trim())
    .filter((line) => line.length <= MAX_GREETING && GREETING.test(line))
    .find((line) => PLACEHOLDER.test(line) || NO_NAME.test(line) || EMPTY_NAME.test(line));
}

/** Whether people wrote the mail: replies, forwards and mailing-list mail may quote placeholders. */
function isOfPeople({ source, parts, mail }: LintedMail): boolean {
  const keys = parts.header.fields.map((field) => fieldKey(source, field));
  const isAnswer = mail.content.inReplyTo !== null || mail.content.references.length > 0;
  return (
    isAnswer || keys.includes('list-id') || /^\s*(?:re|fwd?|aw|wg|tr|rv)\s*:/i.test(mail.summary.subject)
  );
}

export const TEMPLATE_RULES: readonly Rule[] = [
  {
    name: 'unfilled-template',
    severity: 'warning',
    reference: 'Placeholders of Mustache, Jinja, ERB, JavaScript and Mailchimp',
    check: (linted) => {
      const { summary, content } = linted.mail;
      const inSubject = isOfPeople(linted) ? undefined : PLACEHOLDER.exec(summary.subject)?.[0];
      const greeting = brokenGreeting(content.text ?? '') ?? brokenGreeting(content.htmlText ?? '');
      const links = content.links.filter(({ href }) => IN_ADDRESS.test(href));
      return [
        ...(inSubject === undefined ? [] : [finding(inSubject, 'Subject')]),
        ...(greeting === undefined ? [] : [finding(greeting, 'greeting')]),
        ...links.map(({ href }) => finding(IN_ADDRESS.exec(href)?.[0] ?? '', href.slice(0, 100))),
      ];
    },
  },
];
