import { LRUCache } from 'lru-cache';
import type { MailContent, MailLink } from '../mail.ts';
import { withoutInvisible } from '../mime/clean.ts';
import { fold } from './fold.ts';

export type ContentWords = Pick<MailContent, 'text' | 'htmlWords' | 'links' | 'rfcMessageId'>;

/** All given conditions must hold for one link. */
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

/** Folding a text costs fifty times as much as a search in it, so it is done once, at the first condition. */
export class ComparedContent {
  /** Undefined once folded. */
  #texts: Pick<ContentWords, 'text' | 'htmlWords'> | undefined;
  #text = '';
  /** Folded, without invisible characters. */
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

/** Shared by requests that wait for different words in the same messages. */
export const recentContents = (): LRUCache<string, ComparedContent> =>
  new LRUCache({ maxSize: MAX_CHARACTERS, sizeCalculation: ({ length }) => Math.max(length, 1) });
