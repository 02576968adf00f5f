import type { LinkKind, MailLink } from '../mail.ts';
import { INVISIBLE, withoutInvisible } from '../mime/clean.ts';
import type { HtmlReading } from './html.ts';
import { LINK_WORDS, NOT_RESET, NOT_VERIFY, PATH_WORDS, TEXT_WORDS } from './link-words.ts';

/** Real mails hold tens of links; so many are listed. */
export const MAX_LINKS = 200;
/** A longer address is data, not a link, characters. */
const MAX_HREF = 16 * 1024;
/** So much of a text is searched, characters. */
const MAX_READ = 1024 * 1024;
/** Words before a bare link that may say what it is for, characters. */
const WORDS_BEFORE = 120;

/** Marks of writing direction wrap an address and are never part of one (RFC 3987 section 4.1). */
const TEXT_LINK =
  /https?:\/\/[^\s<>"\u00ab\u00bb\u201c\u201d\u3000-\u303f\uff00-\uffef\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+/gi;
/**
 * What belongs to the sentence and not to the link in front of it. Invisible characters within an address
 * stay: the URL standard takes them for part of it, as in Persian words, and a click would send them.
 */
const BEHIND_LINK = new RegExp(`[.,;:!?'*_|\`${INVISIBLE}]`);
/** Schemes that run or embed instead of leading somewhere. */
const NO_LINK = /^(?:javascript|data|vbscript|cid|about|blob|file):|^#/i;
/** Link texts that say nothing about the purpose. */
const GENERIC =
  /^(?:(?:click|tap|press|klicken sie|klick|cliquez|haz clic|pulsa|clicca|clique|klik|kliknij|klikněte|klicka|klikk|нажмите|натисніть|اضغط|לחץ|לחצו) )?(?:here|link|this link|continue|button|hier|ici|aquí|qui|aqui|tutaj|här|her|zde|itt|aici|tässä|buraya|сюда|здесь|сюди|тут|εδώ|هنا|اینجا|כאן|यहाँ|こちら|这里|這裡|여기|ที่นี่|tại đây|di sini)[^\p{L}]*$/iu;

const SENTENCE_END = /\n|[.!?](?=\s)|[。！？]/;

const BRACKETS: Readonly<Record<string, string>> = { ')': '(', ']': '[', '}': '{' };

/** Takes off what belongs to the sentence: punctuation, what nobody sees, brackets that the link did not open. */
function trimEnd(link: string): string {
  // How many of each closing bracket have no opening one; counted when the first is met.
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
  for (const [kind, pattern] of TEXT_WORDS) {
    if (!pattern.test(text) || (kind === 'reset' && NOT_RESET.test(text))) continue;
    return kind === 'verify' && NOT_VERIFY.test(text) ? undefined : kind;
  }
  return undefined;
}

function kindOfPath(href: string): LinkKind | undefined {
  const [beforeQuery = '', query = ''] = href.slice(0, 1_000).split(/[?#](.*)/s, 2);
  const path = beforeQuery.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/]*/i, '');
  for (const place of [path, query]) {
    for (const [kind, pattern] of PATH_WORDS) {
      if (!pattern.test(place)) continue;
      if (kind !== 'verify' || !NOT_VERIFY.test(place)) return kind;
    }
  }
  return undefined;
}

/** @param before the words in front of the link, for links whose own words say nothing */
function kindOf(href: string, text: string, before: string): LinkKind {
  const own = text !== href ? kindOfText(text) : undefined;
  if (own !== undefined) return own;
  const path = kindOfPath(href);
  if (path !== undefined) return path;
  const silent = text === '' || text === href || GENERIC.test(text);
  return (silent ? kindOfLead(before) : undefined) ?? 'other';
}

/**
 * By the sentence that leads to a link: the one in front of it, or else one further up that speaks of a
 * link ("use the link below to sign in. It works once.").
 */
function kindOfLead(before: string): LinkKind | undefined {
  const sentences = before.trimEnd().split(SENTENCE_END);
  const nearest = sentences.at(-1) ?? '';
  const kind = kindOfText(nearest);
  if (kind !== undefined || nearest.endsWith(':')) return kind;
  const lead = sentences.findLast((one) => LINK_WORDS.test(one));
  return lead === undefined ? undefined : kindOfText(lead);
}

/**
 * The links of a mail, each once, in order of appearance: those of the page with their words, then what
 * only the text or the List-Unsubscribe field (RFC 2369) holds. Each is exactly as sent, decoded once.
 */
export function findLinks(text: string | null, page: HtmlReading | null, unsubscribe: string): MailLink[] {
  const links = new Map<string, MailLink>();
  const add = (href: string, words: string, before: string, kind?: LinkKind): void => {
    if (href === '' || href.length > MAX_HREF || NO_LINK.test(href) || links.size >= MAX_LINKS) return;
    const known = links.get(href);
    const found = kind ?? kindOf(href, words, before);
    if (known === undefined) links.set(href, { href, text: words, kind: found });
    // A picture and a button with one target: the words of the button count.
    else if (known.text === '' && words !== '') links.set(href, { href, text: words, kind: found });
  };
  // What stands before a link begins behind the link before it.
  let end = 0;
  for (const { href, text: words, at } of page?.anchors ?? []) {
    const before = page?.words.slice(Math.max(end, at - WORDS_BEFORE), at) ?? '';
    add(href.toWellFormed(), words.toWellFormed(), before);
    end = at + words.length;
  }
  const readable = text?.slice(0, MAX_READ) ?? '';
  end = 0;
  for (const match of readable.matchAll(TEXT_LINK)) {
    if (links.size >= MAX_LINKS) break;
    if (match[0].length > MAX_HREF) continue;
    const before = readable.slice(Math.max(end, match.index - WORDS_BEFORE), match.index);
    add(trimEnd(match[0]), '', withoutInvisible(before));
    end = match.index + match[0].length;
  }
  for (const match of unsubscribe.matchAll(/<\s*((?:https?|mailto):[^<>\s]+)\s*>/gi)) {
    add(match[1] ?? '', '', '', 'unsubscribe');
  }
  return [...links.values()];
}
