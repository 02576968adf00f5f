import { LRUCache } from 'lru-cache';
import type { MailContent, MailLink } from '../mail.ts';
import { changePieces, withoutInvisible } from '../mime/clean.ts';

const WHITE_SPACE = /[^\S ]\s*| \s+/g;

/** Normalization sorts combining marks in quadratic time, so runs are split by a grapheme joiner (UAX #15 section 13). */
const MANY_MARKS = /\p{M}{30}/gu;

const NOT_ASCII = /[^\0-\x7f]/;

/** Makes texts equal that differ only in case, composition, white space, or the kind of quotation marks and hyphens. */
export const fold = (text: string): string => changePieces(text, foldPiece);

const foldPiece = (text: string): string =>
  (NOT_ASCII.test(text) ? foldUnicode(text) : text.toLowerCase()).replace(WHITE_SPACE, ' ');

const foldUnicode = (text: string): string =>
  text
    .replace(MANY_MARKS, '$&\u034f')
    .normalize('NFC')
    .toLowerCase()
    .normalize('NFC')
    .replace(/[\u2018\u2019\u201a\u201b]/g, "'")
    .replace(/[\u201c-\u201f]/g, '"')
    .replace(/[\u2010-\u2015\u2212]/g, '-');

export type ContentWords = Pick<MailContent, 'text' | 'htmlWords' | 'links' | 'rfcMessageId'>;

export interface LinkFilter {
  kind?: MailLink['kind'] | undefined;
  href?: string | undefined;
  text?: string | undefined;
}

interface FoldedLink {
  link: MailLink;
  href: string;
  text: string;
}

/** Folding a text costs fifty times as much as searching it, so it is done once, at the first condition. */
export class ComparedContent {
  /** Undefined after folding, because the folded copy replaces it. */
  #texts: Pick<ContentWords, 'text' | 'htmlWords'> | undefined;
  #text = '';
  #page = '';
  readonly links: readonly MailLink[];
  readonly #messageId: string;
  #foldedLinks: readonly FoldedLink[] | undefined;
  /** Approximate characters in memory. */
  readonly length: number;

  constructor({ text, htmlWords, links, rfcMessageId }: ContentWords) {
    this.#texts = { text, htmlWords };
    this.#messageId = rfcMessageId ?? '';
    this.links = links;
    const ofLinks = links.reduce((sum, { href, text: words }) => sum + 2 * (href.length + words.length), 0);
    this.length = (text?.length ?? 0) + (htmlWords?.length ?? 0) + ofLinks;
  }

  hasText(part: string): boolean {
    if (this.#texts) {
      this.#text = fold(this.#texts.text ?? '');
      this.#page = fold(this.#texts.htmlWords ?? '');
      this.#texts = undefined;
    }
    return this.#text.includes(fold(part)) || this.#page.includes(fold(withoutInvisible(part)));
  }

  hasMessageId(part: string): boolean {
    return fold(this.#messageId).includes(fold(part));
  }

  hasLink({ kind, href, text }: LinkFilter): boolean {
    this.#foldedLinks ??= this.links.map((link) => ({ link, href: fold(link.href), text: fold(link.text) }));
    const [foldedHref, foldedText] = [fold(href ?? ''), fold(text ?? '')];
    return this.#foldedLinks.some(
      (one) =>
        (kind === undefined || kind === one.link.kind) &&
        one.href.includes(foldedHref) &&
        one.text.includes(foldedText),
    );
  }
}

/** A few thousand mails, or 80 with texts of 100 KB. */
const MAX_CHARACTERS = 8 * 1024 * 1024;

/** Cache shared by requests that wait for different words in the same messages. */
export const recentContents = (): LRUCache<string, ComparedContent> =>
  new LRUCache({ maxSize: MAX_CHARACTERS, sizeCalculation: ({ length }) => Math.max(length, 1) });
