import { LRUCache } from 'lru-cache';
import type { MailContent, MailLink } from '../mail.ts';
import { withoutInvisible } from '../mime/clean.ts';
import { fold } from './fold.ts';

/** What of a message's content the conditions need. */
export type ContentWords = Pick<MailContent, 'text' | 'htmlWords' | 'links' | 'rfcMessageId'>;

/** Conditions on one link, all of which it must meet. */
export interface LinkFilter {
  kind?: MailLink['kind'] | undefined;
  /** In the target. */
  href?: string | undefined;
  /** In the visible words. */
  text?: string | undefined;
}

interface FoldedLink {
  link: MailLink;
  href: string;
  text: string;
}

/**
 * What conditions compare of a message's content. Folding a text costs fifty times as much as looking for words in
 * it, so each text is folded once, with the first condition that needs it, however many conditions follow.
 */
export class ComparedContent {
  /** The texts until they are folded. */
  #texts: Pick<ContentWords, 'text' | 'htmlWords'> | undefined;
  /** The plain text. */
  #text = '';
  /** What the page says beyond it; characters without a width were removed from it. */
  #page = '';
  readonly links: readonly MailLink[];
  readonly #messageId: string;
  #foldedLinks: readonly FoldedLink[] | undefined;
  /** Characters in memory, about. */
  readonly length: number;

  constructor({ text, htmlWords, links, rfcMessageId }: ContentWords) {
    this.#texts = { text, htmlWords };
    this.#messageId = rfcMessageId ?? '';
    this.links = links;
    const ofLinks = links.reduce((sum, { href, text: words }) => sum + 2 * (href.length + words.length), 0);
    this.length = (text?.length ?? 0) + (htmlWords?.length ?? 0) + ofLinks;
  }

  /** Whether the plain text contains `part`, or the visible words of the page do. */
  hasText(part: string): boolean {
    if (this.#texts) {
      this.#text = fold(this.#texts.text ?? '');
      this.#page = fold(this.#texts.htmlWords ?? '');
      this.#texts = undefined;
    }
    return this.#text.includes(fold(part)) || this.#page.includes(fold(withoutInvisible(part)));
  }

  /** Whether the Message-ID contains `part`. */
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

/** Characters of the contents that are kept: those of a few thousand mails, or of 80 with texts of 100 KB. */
const MAX_CHARACTERS = 8 * 1024 * 1024;

/** The contents compared last, by message: hundreds of requests may wait for different words in the same messages. */
export const recentContents = (): LRUCache<string, ComparedContent> =>
  new LRUCache({ maxSize: MAX_CHARACTERS, sizeCalculation: ({ length }) => Math.max(length, 1) });
