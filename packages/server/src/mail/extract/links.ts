import type { MailLink } from '@mayfly/client/contract';
import { INVISIBLE, withoutInvisible } from '../mime/clean.ts';
import type { HtmlReading } from './html.ts';
import * as linkWords from './link-words.ts';

type LinkKind = MailLink['kind'];

export const MAX_LINKS = 200;
/** Limit in characters. A longer URL is not the address of a page, but contains data. */
const MAX_HREF = 16 * 1024;
const MAX_READ = 1024 * 1024;
const WORDS_AROUND = 120;
const WORDS_ABOVE = 500;
const MAX_HREF_JUDGED = 1_000;
/** A link text such as `docs/login.md` is a file path, so its words do not show the purpose of the link. */
const FILE_PATH = /^[\w@-]+(?:\/[\w@.-]+)+$/;

/** Also matches directly after a word: in "seehttps://a.test", the URL begins at "https". */
const WEB_SCHEME = /https?$/i;
/** Schemes other than HTTP, such as `acme` in an app link (RFC 3986 section 3.1). */
const APP_SCHEME = /(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{0,31}$/i;
const MAX_SCHEME = 33;
/** Schemes that mail programs do not open. */
const NO_APP =
  /^(?:jdbc|odbc|postgres|[a-z+]*sql\w*|mongodb|redis|rediss|amqps?|ldaps?|smtps?|imaps?|pop3s?|s?ftps?|ssh|git|svn|rsync|s3|gs|wss?|tcp|udp|tls|unix|docker|npm|pkg|file|data|javascript|vbscript|about|blob|chrome|resource|view-source)\b/i;
/**
 * The part of a URL after its scheme. Direction marks (RFC 3987 section 4.1) and Markdown's `](` are not part
 * of a URL. In scripts without spaces, a sentence may continue directly after a URL. Letters of these scripts
 * therefore belong to a URL only after a separator, as in `/wiki/日本`.
 */
const ADDRESS =
  /(?:[^\s\]<>"\u00ab\u00bb\u201c\u201d\u3000-\u30ff\u3400-\u9fff\uac00-\ud7af\uff00-\uffef\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]|\](?!\()|(?<![a-z0-9)\]}.,;:!?])[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])+/iy;
/** Characters that are removed from the end of a URL. Inside a URL, invisible ones are valid (URL standard). */
const BEHIND_LINK = new RegExp(`[.,;:!?'*_\\|\`${INVISIBLE}]`, 'v');
/** Schemes of links that open no page. The kind of such a link is `unsubscribe` or `other`. */
const NO_PAGE = /^(?:mailto|tel|sms):/i;
const NO_LINK = /^(?:javascript|data|vbscript|cid|about|blob|file):|^#/i;
const GENERIC =
  /^(?:(?:click|tap|press|klicken sie|klick|cliquez|haz clic|pulsa|clicca|clique|klik|kliknij|klikněte|klicka|klikk|нажмите|натисніть|اضغط|לחץ|לחצו) )?(?:here|link|this link|button|hier|ici|aquí|qui|aqui|tutaj|här|her|zde|itt|aici|tässä|buraya|сюда|здесь|сюди|тут|εδώ|هنا|اینجا|כאן|यहाँ|こちら|这里|這裡|여기|ที่นี่|tại đây|di sini)[^\p{L}]*$/iu;

const SENTENCE_END = /\n|[.!?](?=\s)|[。！？]/;

/** The target of a Markdown link `[text](URL)`. It ends at the first `)` that has no `(` in the target. */
const TARGET = /^[^()]*(?:\([^()]*\)[^()]*)*/;

const BRACKETS: Readonly<Record<string, string>> = { ')': '(', ']': '[', '}': '{' };

function trimEnd(link: string): string {
  const surplus = new Map<string, number>();
  for (let end = link.length; end > 0; end--) {
    const last = link.charAt(end - 1);
    const opening = BRACKETS[last];
    if (opening === undefined) {
      if (!BEHIND_LINK.test(last)) return link.slice(0, end);
    } else {
      const left = surplus.get(last) ?? link.split(last).length - link.split(opening).length;
      if (left <= 0) return link.slice(0, end);
      surplus.set(last, left - 1);
    }
  }
  return '';
}

function kindOfText(text: string): LinkKind | undefined {
  for (const [kind, pattern] of linkWords.TEXT_WORDS) {
    if (!pattern.test(text) || (kind === 'reset' && linkWords.NOT_RESET.test(text))) continue;
    return kind === 'verify' && linkWords.NOT_VERIFY.test(text) ? undefined : kind;
  }
  return undefined;
}

function tellingQuery(query: string): string {
  const isTelling = (pair: string) =>
    !linkWords.TRACKING_PARAMETER.test(pair.split('=', 1)[0] ?? '') && !linkWords.RETURN_PARAMETER.test(pair);
  return query.split(/[&;?]/).filter(isTelling).join('&');
}

function kindOfPath(href: string): LinkKind | undefined {
  const [beforeQuery = '', query = ''] = href.slice(0, MAX_HREF_JUDGED).split(/[?#](.*)/s, 2);
  const scheme = /^(https?:\/\/[^/]*)|^[a-z][a-z0-9+.-]*:(?:\/\/)?/i.exec(beforeQuery);
  // In an app link, all text after the scheme is the path, because there is no host.
  const path = beforeQuery.slice(scheme?.[0].length ?? 0);
  const isArticle = linkWords.ARTICLE_PATH.test(path);
  for (const place of [path, tellingQuery(query)]) {
    for (const [kind, pattern] of linkWords.PATH_WORDS) {
      if (!pattern.test(place) || (isArticle && kind !== 'unsubscribe')) continue;
      if (kind !== 'verify' || !linkWords.NOT_VERIFY.test(place)) return kind;
    }
  }
  return undefined;
}

interface Around {
  before: string;
  after: string;
  above: string;
}

/** @param around the text near the link; undefined for List-Unsubscribe and for HTML links without text */
function kindOf(href: string, text: string, around: Around | undefined): LinkKind {
  const kind = kindOfWeb(href, text, around);
  return kind !== 'unsubscribe' && NO_PAGE.test(href) ? 'other' : kind;
}

/** The link text takes precedence over the path, because several purposes may share a path. */
function kindOfWeb(href: string, text: string, around: Around | undefined): LinkKind {
  if (linkWords.ARTICLE_TEXT.test(text)) return 'other';
  const own = text === href || FILE_PATH.test(text) ? undefined : kindOfText(text);
  if (own !== undefined) return own;
  const path = kindOfPath(href);
  if (around === undefined || path === 'unsubscribe' || path === 'reset') return path ?? 'other';
  const isButton = linkWords.GO_ON.test(text);
  const silent = isButton || text === '' || text === href || GENERIC.test(text);
  const said = silent ? kindOfSentence(isButton ? { ...around, after: '' } : around) : undefined;
  return said ?? (isButton ? kindOfHeading(around) : undefined) ?? path ?? 'other';
}

function kindOfHeading({ above }: Around): LinkKind | undefined {
  const lines = above.split('\n').filter((line) => line.length <= 80 && !/[.:,;]\s*$/.test(line));
  return lines.map(kindOfText).findLast((kind) => kind !== undefined);
}

function kindOfSentence({ before, after }: Around): LinkKind | undefined {
  const sentences = before.trimEnd().split(SENTENCE_END);
  const nearest = sentences.at(-1) ?? '';
  const kind = kindOfText(nearest);
  if (kind !== undefined || nearest.endsWith(':')) return kind;
  const rest = kindOfText(after.split(SENTENCE_END, 1)[0] ?? '');
  if (rest !== undefined) return rest;
  const lead = sentences.findLast((one) => linkWords.LINK_WORDS.test(one));
  return lead === undefined ? undefined : kindOfText(lead);
}

/** Finds the label of a link in plain text: "[Sign in](https:", "Sign in <https:" or "Continue: https:". */
function labelBefore(before: string): string {
  const words = before.replace(/[\s:\]<([]+$/, '');
  const label = words.split(SENTENCE_END).at(-1)?.replace(/.*\[/, '') ?? '';
  const isLabel = /[<([]$/.test(before) && !/[.!?。！？]$/.test(label);
  return isLabel || linkWords.GO_ON.test(label) ? label : '';
}

export function* textLinks(text: string) {
  let from = 0;
  for (let at = text.indexOf('://'); at >= 0; at = text.indexOf('://', Math.max(from, at + 3))) {
    const lead = text.slice(Math.max(from, at - MAX_SCHEME), at);
    const scheme = (WEB_SCHEME.exec(lead) ?? APP_SCHEME.exec(lead))?.[0];
    if (scheme === undefined || NO_APP.test(scheme)) continue;
    ADDRESS.lastIndex = at + 3;
    if (!ADDRESS.test(text)) continue;
    const start = at - scheme.length;
    from = ADDRESS.lastIndex;
    const isTarget = text.startsWith('](', start - 2);
    if (isTarget) from = start + (TARGET.exec(text.slice(start, from))?.[0].length ?? 0);
    if (from - start <= MAX_HREF) yield { href: trimEnd(text.slice(start, from)), start, end: from };
  }
}

/** Returns each link once: those of the HTML first, then of the text, then of List-Unsubscribe (RFC 2369). */
export function findLinks(text: string | null, page: HtmlReading | null, unsubscribe: string): MailLink[] {
  const links = new Map<string, MailLink>();
  // A link with text replaces a link to the same URL without text, such as an image.
  const isKnown = (href: string, words: string): boolean => {
    const known = links.get(href);
    return known !== undefined && (known.text !== '' || (words === '' && known.kind !== 'other'));
  };
  const add = (href: string, words: string, around: Around | undefined, label = words): void => {
    if (href === '' || href.length > MAX_HREF || NO_LINK.test(href) || links.size >= MAX_LINKS) return;
    if (isKnown(href, words)) return;
    links.set(href, { href, text: words, kind: kindOf(href, label, around) });
  };
  const anchors = page?.anchors ?? [];
  const shown = page?.words ?? '';
  let end = 0;
  for (const [i, { href, text: words, at }] of anchors.entries()) {
    const before = shown.slice(Math.max(end, at - WORDS_AROUND), at);
    end = at + words.length;
    const after = shown.slice(end, Math.min(anchors[i + 1]?.at ?? shown.length, end + WORDS_AROUND));
    const above = shown.slice(Math.max(0, at - WORDS_ABOVE), at);
    add(href.toWellFormed(), words.toWellFormed(), words === '' ? undefined : { before, after, above });
  }
  const readable = text?.slice(0, MAX_READ) ?? '';
  end = 0;
  for (const link of textLinks(readable)) {
    if (links.size >= MAX_LINKS) break;
    const before = readable.slice(Math.max(end, link.start - WORDS_AROUND), link.start);
    end = link.end;
    if (isKnown(link.href, '')) continue;
    const [after = ''] = readable.slice(end, end + WORDS_AROUND).split('://', 1);
    const around = { before: withoutInvisible(before), after: withoutInvisible(after) };
    const above = readable.slice(Math.max(0, link.start - WORDS_ABOVE), link.start);
    add(link.href, '', { ...around, above }, labelBefore(around.before));
  }
  for (const match of unsubscribe.matchAll(/<\s*((?:https?|mailto):[^<>\s]+)\s*>/gi)) {
    add(match[1] ?? '', '', undefined, 'unsubscribe');
  }
  return [...links.values()];
}
