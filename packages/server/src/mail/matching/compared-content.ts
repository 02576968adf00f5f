import type { MailLink } from '@mayfly/client/contract';
import { LRUCache } from 'lru-cache';
import type { MailContent } from '../mail.ts';
import { changePieces, withoutInvisible } from '../mime/clean.ts';

const WHITE_SPACE = /[^\S ]\s*| \s+/g;

/** Normalizing a run of combining marks takes quadratic time, so U+034F splits long runs (UAX #15). */
const MANY_MARKS = /\p{M}{30}/gu;

const NOT_ASCII = /[^\0-\x7f]/;

/** Removes differences of case, normalization form, white space, quotation marks and hyphens. */
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

/** Caches the folded texts of a mail, because folding a text takes fifty times as long as searching it. */
export class ComparedContent {
  readonly links: readonly MailLink[];
  readonly length: number;
  #text: string;
  #page: string;
  #isFolded = false;
  #foldedLinks: readonly MailLink[] | undefined;
  readonly #messageId: string;

  constructor({ text, htmlWords, links, rfcMessageId }: ContentWords) {
    this.#text = text ?? '';
    this.#page = htmlWords ?? '';
    this.#messageId = rfcMessageId ?? '';
    this.links = links;
    const ofLinks = links.reduce((sum, link) => sum + 2 * (link.href.length + link.text.length), 0);
    this.length = this.#text.length + this.#page.length + ofLinks;
  }

  hasText(part: string): boolean {
    if (!this.#isFolded) [this.#text, this.#page] = [fold(this.#text), fold(this.#page)];
    this.#isFolded = true;
    return this.#text.includes(fold(part)) || this.#page.includes(fold(withoutInvisible(part)));
  }

  hasMessageId(part: string): boolean {
    return fold(this.#messageId).includes(fold(part));
  }

  hasLink({ kind, href = '', text = '' }: LinkFilter): boolean {
    this.#foldedLinks ??= this.links.map((one) => ({ ...one, href: fold(one.href), text: fold(one.text) }));
    const [foldedHref, foldedText] = [fold(href), fold(text)];
    return this.#foldedLinks.some(
      (one) =>
        (kind === undefined || kind === one.kind) &&
        one.href.includes(foldedHref) &&
        one.text.includes(foldedText),
    );
  }
}

const MAX_CHARACTERS = 8 * 1024 * 1024;

export const recentContents = (): LRUCache<string, ComparedContent> =>
  new LRUCache({ maxSize: MAX_CHARACTERS, sizeCalculation: ({ length }) => Math.max(length, 1) });
