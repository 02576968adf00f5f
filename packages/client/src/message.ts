import { AmbiguousError, MayflyError } from './errors.ts';
import type * as api from './generated/api.ts';

/** Conditions of one link. A string must be contained, and case is ignored. */
export interface LinkMatch {
  href?: string | RegExp;
  text?: string | RegExp;
  kind?: api.MailLink['kind'];
}

/** True when the text contains the string in any case, or the expression matches. */
export const isIn = (text: string, wanted: string | RegExp | undefined): boolean =>
  wanted === undefined ||
  (typeof wanted === 'string' ? text.toLowerCase().includes(wanted.toLowerCase()) : text.search(wanted) >= 0);

/** A message in full: the fields of the API, and how to take a code or a link out of it. */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: the constructor assigns all fields.
export class Message {
  constructor(fields: api.Message) {
    Object.assign(this, fields);
  }

  /**
   * The code of the message.
   * @param pattern for formats of your own; looks through text and HTML, and its first group is the code
   * @throws MayflyError `no_code` with what the message has instead
   */
  code(pattern?: RegExp): string {
    const code = pattern ? this.find(pattern) : this.codes[0]?.value;
    if (code !== undefined) return code;
    throw new MayflyError(
      'no_code',
      `The message ${JSON.stringify(this.subject)} has no code${pattern ? ` like ${pattern}` : ''}. It begins: ${this.preview}`,
    );
  }

  /** The first group of the pattern, or all that it matches, in the text or else in the words of the HTML. */
  find(pattern: RegExp): string | undefined {
    for (const text of [this.text, this.htmlText]) {
      const [found, group = found] =
        (text && new RegExp(pattern, pattern.flags.replace(/[gy]/g, '')).exec(text)) || [];
      if (group !== undefined) return group;
    }
    return undefined;
  }

  /** All links that meet the conditions. */
  linksLike({ href, text, kind }: LinkMatch): api.MailLink[] {
    return this.links.filter(
      (link) => isIn(link.href, href) && isIn(link.text, text) && (kind === undefined || link.kind === kind),
    );
  }

  /**
   * The target of the one link that meets the conditions.
   * @throws AmbiguousError with all links when none or more than one different target fits
   */
  link(match: LinkMatch = {}): string {
    const fitting = this.linksLike(match);
    const hrefs = [...new Set(fitting.map(({ href }) => href))];
    if (hrefs.length === 1) return hrefs[0] as string;
    const candidates = hrefs.length > 0 ? fitting : this.links;
    throw new AmbiguousError(
      `${hrefs.length || 'None'} of the ${this.links.length} links of ${JSON.stringify(this.subject)} fit${hrefs.length ? ': narrow the conditions' : ''}.${candidates.map(({ kind, href, text }) => `\n  ${kind.padEnd(11)} ${href}   ${JSON.stringify(text)}`).join('')}`,
      candidates,
    );
  }
}
export interface Message extends api.Message {}
