import type * as api from '../generated/api.ts';

/** The content of a snapshot. Values in `names` are shown as `{name}`. */
export interface SnapshotInput {
  mail: api.Message;
  findings: Array<Pick<api.LintFinding, 'rule' | 'severity' | 'count'>>;
  /** Values that differ between runs, by name. */
  names: Record<string, string>;
}
interface Section {
  title: string;
  units: string[];
}

const INDENT = '  ';
const PLACEHOLDER = /\{([\w-]+)\}/;
/** Longest source of a regular expression, characters. */
const MAX_SOURCE = 50_000;
/**
 * Largest comparison table, in cells; a larger one would take seconds. Longer texts are reported as different
 * as a whole.
 */
const MAX_TABLE = 1_000_000;

/** Names of days and months, in eight languages. The Python client has the same list. */
const DAYS =
  'sunday monday tuesday wednesday thursday friday saturday sun mon tue wed thu fri sat sonntag montag dienstag mittwoch donnerstag freitag samstag dimanche lundi mardi mercredi jeudi vendredi samedi domingo lunes martes miércoles jueves viernes sábado domenica lunedì martedì mercoledì giovedì venerdì sabato segunda-feira terça-feira quarta-feira quinta-feira sexta-feira zondag maandag dinsdag woensdag donderdag vrijdag zaterdag';
const MONTHS =
  'january february march april may june july august september october november december jan feb mar apr jun jul aug sep sept oct nov dec januar februar märz mai juni juli oktober dezember okt dez janvier février mars avril juin juillet août septembre octobre novembre décembre enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre janeiro fevereiro março maio junho julho setembro outubro novembro dezembro januari februari maart mei augustus';
const anyOf = (words: string) =>
  `(?:${words
    .split(' ')
    .map((word) => `[${word.charAt(0)}${word.charAt(0).toUpperCase()}]${word.slice(1)}`)
    .sort((one, other) => other.length - one.length)
    .join('|')})`;
const DAY = String.raw`(?:${anyOf(DAYS)}\.?,?\s)?`;
const MONTH = String.raw`${anyOf(MONTHS)}(?![A-Za-z0-9À-ɏ])\.?`;
const TIME = String.raw`\d{1,2}:\d{2}(?::\d{2})?(?:\s?[AaPp]\.?[Mm](?![A-Za-z])\.?)?`;
const DATE = `(?:${[
  String.raw`\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?`,
  String.raw`\d{1,2}[./]\s?\d{1,2}[./]\s?(?:\d{4}|\d{2})(?!\d)`,
  String.raw`\d{4}年\d{1,2}月\d{1,2}日`,
  String.raw`${DAY}\d{1,2}(?:\.|st|nd|rd|th|º|er)?(?:\s(?:of|de))?\s${MONTH}(?:,?\s(?:de\s|del\s)?\d{4}(?!\d))?`,
  String.raw`${DAY}${MONTH}\s\d{1,2}(?:st|nd|rd|th)?(?!\d)(?:,?\s\d{4}(?!\d))?`,
].join('|')})`;
const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';
const ID = `(?:${UUID}|[0-9a-f]{24,64})(?![A-Za-z0-9])`;
/** Lookahead that rejects what a template prints for a missing value. */
const NOTHING = '(?!(?:undefined|null|NaN)(?![A-Za-z0-9]))';
const WORD = 'A-Za-z0-9À-ɏ';
/** Expressions of the placeholders, besides those for names, codes and addresses. */
const NATURAL: Record<string, string> = {
  date: DATE,
  time: TIME,
  year: String.raw`\d{4}`,
  id: ID,
  token: String.raw`${NOTHING}[^\s&#/?"<>]+`,
  port: String.raw`\d+`,
};

const escaped = (text: string) => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
/** Expression for a text as whole words, where any white space matches any other. */
const spaced = (text: string) => escaped(text.trim()).replace(/\s+/g, '\\s+');
function whole(text: string): string {
  const edge = new RegExp(`[${WORD}]`);
  const trimmed = text.trim();
  const before = edge.test(trimmed.slice(0, 1)) ? `(?<![${WORD}])` : '';
  return `${before}${spaced(trimmed)}${edge.test(trimmed.slice(-1)) ? `(?![${WORD}])` : ''}`;
}
/** Expression for a code whose digits may be grouped in the mail. */
const grouped = (code: string) => [...code.replace(/[\s-]/g, '')].map(escaped).join('[\\s-]?');
const oneOf = (sources: string[]) => `(?:${sources.join('|')})`;
/** A value as plain text and as part of a URL. */
function forms(value: string): string[] {
  const encoded = encodeURIComponent(value.toWellFormed());
  return [...new Set([value, encoded, encoded.replaceAll('%20', '+')])];
}

/** The masks of a mail in order of precedence for matches at the same place. */
function masksOf({ mail, names }: SnapshotInput): Array<[name: string, expression: RegExp]> {
  const given = Object.entries(names).filter(([, value]) => value.trim() !== '');
  const addresses = addressesOf(mail);
  const sources: Array<[name: string, source: string]> = [
    ...given.map(([name, value]): [string, string] => [name, oneOf(forms(value).map(whole))]),
    ...(addresses.length > 0
      ? [['inbox', oneOf(addresses.flatMap(forms).map(whole))] as [string, string]]
      : []),
    ...mail.codes.map(({ value }): [string, string] => [
      'code',
      `(?<![${WORD}])${grouped(value)}(?![${WORD}])`,
    ]),
    ['date', `(?<![${WORD}])${DATE}`],
    ['time', `(?<![${WORD}:])${TIME}(?![${WORD}:])`],
    ['id', `(?<![${WORD}])${ID}`],
    ['year', String.raw`(?<=(?:©|\([cC]\)|[Cc]opyright)\s?)\d{4}(?!\d)`],
  ];
  return sources.map(([name, source]) => [name, new RegExp(source, 'g')]);
}

const addressesOf = (mail: api.Message): string[] => [
  ...new Set([...mail.envelope.rcptTo, ...[...mail.to, ...mail.cc].map(({ address }) => address)]),
];

/** Replaces variable values by placeholders. The earliest match wins, then the longest. */
function maskText(text: string, masks: ReturnType<typeof masksOf>): string {
  /** The next match of each mask is cached, so that each mask searches a text once. */
  const next = masks.map(([name, expression]) => ({ name, expression, index: -1, length: 0 }));
  let masked = '';
  for (let at = 0; ; ) {
    let best: (typeof next)[number] | undefined;
    for (const mask of next) {
      if (mask.index < at) {
        mask.expression.lastIndex = at;
        const found = mask.expression.exec(text);
        mask.index = found?.[0] ? found.index : Number.POSITIVE_INFINITY;
        mask.length = found?.[0].length ?? 0;
      }
      if (mask.index === Number.POSITIVE_INFINITY) continue;
      if (!best || mask.index < best.index || (mask.index === best.index && mask.length > best.length))
        best = mask;
    }
    if (!best) return masked + text.slice(at);
    masked += `${text.slice(at, best.index)}{${best.name}}`;
    at = best.index + best.length;
  }
}

const SECRET_KEY = /^(?:token|code|sig|signature|hash|otp|jwt|nonce|expires|exp|ts)$/i;
const SLUG = /^(?:[a-z]+|\d{1,4})(?:[-_.](?:[a-z]+|[a-z0-9]{1,4}))*$/i;
/** Whether a part of a URL looks random. @param isPersonal true if the link contains a secret */
function isToken(part: string, key: string, isPersonal: boolean): boolean {
  if (SECRET_KEY.test(key)) return part !== '';
  if (/^\d{6,}$/.test(part) || (part.length >= 20 && /[a-z][^-]*[A-Z]/.test(part))) return true;
  if (SLUG.test(part)) return isPersonal && /\d/.test(part) && part.length > 4;
  return part.length >= 8 && /\d/.test(part) && /[a-z]/i.test(part);
}

/** Masks each part of a URL separately, so that no name is found within a random part. */
function maskUrl(url: string, input: SnapshotInput, masks: ReturnType<typeof masksOf>): string {
  if (/^cid:/i.test(url)) return 'cid:{token}';
  const [, origin = '', rest = ''] = /^([a-z][a-z0-9+.-]*:\/\/[^/?#]*)?(.*)$/is.exec(url) ?? [];
  const kind = input.mail.links.find(({ href }) => href === url)?.kind ?? 'other';
  // A plain word in a host name is probably not a value of the test.
  const inHost = masks.filter(([name]) => /[.\d]/.test(input.names[name] ?? ''));
  const host = maskText(origin, inHost).replace(/(\/\/(?:127\.0\.0\.1|localhost|\[::1\])):\d+$/, '$1:{port}');
  let key = '';
  const parts = rest.split(/([/?&#=])/).map((part, index, all) => {
    if (index % 2 === 1) return part;
    key = all[index - 1] === '=' ? (all[index - 2] ?? '') : '';
    const masked = maskText(part, masks);
    return /^\{[\w-]+\}$/.test(masked) || !isToken(part, key, kind !== 'other') ? masked : '{token}';
  });
  return host + parts.join('');
}

const URL_IN_TEXT = /(https?:\/\/[^\s<>"]*[^\s<>".,;:!?)\]'])/;
/** Replaces variable values of one unit of text by placeholders. */
const maskUnit = (unit: string, input: SnapshotInput, masks: ReturnType<typeof masksOf>): string =>
  unit
    .split(URL_IN_TEXT)
    .map((part, index) => (index % 2 === 1 ? maskUrl(part, input, masks) : maskText(part, masks)))
    .join('');

const mailbox = ({ name, address }: api.MailAddress) => (name === '' ? address : `${name} <${address}>`);
const trimmed = (text: string) =>
  text
    .replace(/[^\S\n]+/g, ' ')
    .replace(/ ?\n ?/g, '\n')
    .trim();
const lines = (text: string | null) =>
  trimmed(text ?? '')
    .split('\n')
    .filter(Boolean);
const paragraphs = (text: string | null) =>
  trimmed((text ?? '').replaceAll('\r', ''))
    .split(/\n{2,}/)
    .filter(Boolean);

/** The sections of a snapshot: headers, text, links, attachments and findings. */
function sectionsOf({ mail, findings }: SnapshotInput): Section[] {
  const { from, replyTo, structure, attachments, links, images } = mail;
  const types = structure
    .filter(({ disposition }) => disposition !== 'attachment')
    .map(({ contentType }) => contentType);
  return [
    {
      title: 'Mail',
      units: [
        `Subject: ${trimmed(mail.subject)}`,
        `From: ${from ? mailbox(from) : 'nobody'}`,
        ...(replyTo.length > 0 ? [`Reply to: ${replyTo.map(mailbox).join(', ')}`] : []),
        `Parts: ${types.join(', ')}`,
      ],
    },
    { title: 'Text', units: paragraphs(mail.text) },
    { title: 'Page', units: lines(mail.htmlText) },
    {
      title: 'Links',
      units: links.map(({ kind, text, href }) => `${kind}: ${trimmed(text) || 'no text'} → ${href}`),
    },
    {
      title: 'Images',
      units: images.map(({ src, alt }) => `${alt === null ? 'no alt' : JSON.stringify(alt)} → ${src}`),
    },
    {
      title: 'Attachments',
      units: attachments
        .filter(({ disposition }) => disposition === 'attachment')
        .map(({ filename, contentType }) => `${filename ?? 'no name'}: ${contentType}`),
    },
    {
      title: 'Lint',
      units: findings.map(
        ({ severity, rule, count }) => `${severity}: ${rule}${count > 1 ? ` (${count} times)` : ''}`,
      ),
    },
  ].filter(({ units }) => units.length > 0);
}

const SEPARATOR: Record<string, string> = { Text: '\n\n' };
const separatorOf = (title: string) => SEPARATOR[title] ?? '\n';
const indented = (text: string) => text.replace(/^(?=.)/gm, INDENT);

/**
 * The snapshot of a mail, with placeholders for values that differ between runs.
 * @throws Error when two names have the same value, because a placeholder would be ambiguous
 */
export function writeSnapshot(input: SnapshotInput): string {
  const values = Object.values(input.names);
  const twice = Object.entries(input.names).filter(
    ([, value]) => values.indexOf(value) !== values.lastIndexOf(value),
  );
  if (twice.length > 0)
    throw new Error(
      `${twice.map(([name]) => `"${name}"`).join(' and ')} of the mask have the same value ${JSON.stringify(twice[0]?.[1])}. Use values that differ when the snapshot is written.`,
    );
  const masks = masksOf(input);
  return sectionsOf(input)
    .map(({ title, units }) => {
      const masked = units.map((unit) => maskUnit(unit, input, masks));
      return `${title}\n${indented(masked.join(separatorOf(title)))}\n`;
    })
    .join('\n');
}

/** The sections of a snapshot file. Accepts CRLF line ends. */
function parseSnapshot(snapshot: string): Section[] {
  return snapshot
    .replaceAll('\r', '')
    .split(/^(?=\S)/m)
    .map((block) => {
      const [title = '', ...rest] = block.split('\n');
      const body = rest
        .map((line) => line.replace(/^ {2}/, ''))
        .join('\n')
        .trim();
      return { title: title.trim(), units: body === '' ? [] : body.split(separatorOf(title.trim())) };
    });
}

/** Returns a function that compares a unit with the snapshot's, where placeholders match their values. */
function matcherOf(unit: string, input: SnapshotInput): (actual: string) => boolean {
  const { mail, names } = input;
  const spacedOnce = (text: string) => text.split(/\s+/).join(' ');
  if (!PLACEHOLDER.test(unit)) return (actual) => spacedOnce(actual) === spacedOnce(unit);
  const known: Record<string, string> = {
    ...NATURAL,
    inbox: oneOf(addressesOf(mail).flatMap(forms).map(escaped)),
    code: mail.codes.length > 0 ? oneOf(mail.codes.map(({ value }) => grouped(value))) : '(?!)',
    ...Object.fromEntries(
      Object.entries(names).map(([name, value]) => [name, oneOf(forms(value).map(spaced))]),
    ),
  };
  const source = unit
    .split(PLACEHOLDER)
    .map((part, index) => {
      if (index % 2 === 1) return Object.hasOwn(known, part) ? known[part] : escaped(`{${part}}`);
      return escaped(part).replace(/\s+/g, '\\s+');
    })
    .join('');
  // The length of an expression is limited. Longer paragraphs are compared by their masked text.
  if (source.length > MAX_SOURCE)
    return (actual) => spacedOnce(maskUnit(actual, input, masksOf(input))) === spacedOnce(unit);
  const expression = new RegExp(`^${source}$`);
  return (actual) => expression.test(actual);
}

type IsEqual = (left: number, right: number) => boolean;
type Pairs = Array<[left: number, right: number]>;

/** Pairs of equal items in order: common beginning and end, and the longest common subsequence between. */
function common(left: number, right: number, isEqual: IsEqual): Pairs {
  const pairs: Pairs = [];
  let begin = 0;
  for (; begin < Math.min(left, right) && isEqual(begin, begin); begin++) pairs.push([begin, begin]);
  const after: Pairs = [];
  let [endLeft, endRight] = [left, right];
  for (; endLeft > begin && endRight > begin && isEqual(endLeft - 1, endRight - 1); )
    after.unshift([--endLeft, --endRight]);
  const isMiddle: IsEqual = (l, r) => isEqual(begin + l, begin + r);
  const [rows, columns] = [endLeft - begin, endRight - begin];
  const middle = rows * columns > MAX_TABLE ? [] : subsequence(rows, columns, isMiddle);
  return [...pairs, ...middle.map(([l, r]): [number, number] => [begin + l, begin + r]), ...after];
}

function subsequence(left: number, right: number, isEqual: IsEqual): Pairs {
  const table = Array.from({ length: left + 1 }, () => new Array<number>(right + 1).fill(0));
  const at = (l: number, r: number) => table[l]?.[r] ?? 0;
  const equal = Array.from({ length: left }, (_, l) =>
    Array.from({ length: right }, (_unused, r) => isEqual(l, r)),
  );
  for (let l = left - 1; l >= 0; l--)
    for (let r = right - 1; r >= 0; r--) {
      const longest = equal[l]?.[r] ? at(l + 1, r + 1) + 1 : Math.max(at(l + 1, r), at(l, r + 1));
      table[l]?.splice(r, 1, longest);
    }
  const pairs: Pairs = [];
  for (let l = 0, r = 0; l < left && r < right; ) {
    if (equal[l]?.[r]) pairs.push([l++, r++]);
    else if (at(l + 1, r) >= at(l, r + 1)) l++;
    else r++;
  }
  return pairs;
}

/** Yields the unequal parts of two lists, each with the equal item that follows. */
function* gaps<Item>(left: Item[], right: Item[], pairs: Array<[number, number]>) {
  let [l, r] = [0, 0];
  for (const [nextLeft, nextRight] of [...pairs, [left.length, right.length] as [number, number]]) {
    yield { removed: left.slice(l, nextLeft), added: right.slice(r, nextRight), kept: left[nextLeft] };
    [l, r] = [nextLeft + 1, nextRight + 1];
  }
}

/** `Hello [-Ada-]{+Bob+} Lovelace` */
function wordDiff(expected: string, actual: string): string {
  const [left, right] = [expected.split(/\s+/), actual.split(/\s+/)];
  const pairs = common(left.length, right.length, (l, r) => left[l] === right[r]);
  const words = [...gaps(left, right, pairs)].flatMap(({ removed, added, kept }) => {
    const minus = removed.length > 0 ? `[-${removed.join(' ')}-]` : '';
    const plus = added.length > 0 ? `{+${added.join(' ')}+}` : '';
    return [minus + plus, kept ?? ''].filter(Boolean);
  });
  // The texts are equal, but the mail contains text that looks like a placeholder.
  return pairs.length === left.length && left.length === right.length
    ? `[-${expected}-]{+${actual}+}`
    : words.join(' ');
}

function sectionDiff(title: string, expected: string[], actual: string[], input: SnapshotInput): string[] {
  const matchers = expected.map((unit) => matcherOf(unit, input));
  const masks = masksOf(input);
  const filled = (unit: string) =>
    unit.replace(/\{([\w-]+)\}/g, (whole, name: string) =>
      Object.hasOwn(input.names, name) ? (input.names[name] ?? '') : whole,
    );
  const pairs = common(expected.length, actual.length, (l, r) => matchers[l]?.(actual[r] ?? '') ?? false);
  const found = [...gaps(expected, actual, pairs)].flatMap(({ removed, added }) =>
    Array.from({ length: Math.max(removed.length, added.length) }, (_, at) => {
      const [before, after] = [removed[at], added[at]];
      if (before === undefined) return `{+${after}+}`;
      if (after === undefined) return `[-${filled(before)}-]`;
      return wordDiff(filled(before), filled(maskUnit(after, input, masks)));
    }),
  );
  return found.length > 0 ? [`${title}:`, ...found.map(indented)] : [];
}

/**
 * Compares a mail with its snapshot.
 * @returns the differences, word by word: `[-expected-]{+found+}`; undefined without any
 */
export function compareSnapshot(snapshot: string, input: SnapshotInput): string | undefined {
  const expected = parseSnapshot(snapshot);
  const actual = sectionsOf(input);
  const titles = [...new Set([...actual, ...expected].map(({ title }) => title))];
  const unitsOf = (sections: Section[], wanted: string) =>
    sections.find(({ title }) => title === wanted)?.units ?? [];
  const found = titles.flatMap((title) =>
    sectionDiff(title, unitsOf(expected, title), unitsOf(actual, title), input),
  );
  return found.length > 0 ? found.join('\n') : undefined;
}
