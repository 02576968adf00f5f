const OPENING = '"([';
const CLOSING = '")]';
const BACKSLASH = 0x5c;

/** Finds the end of quoted strings, comments and domain literals in a header field (RFC 5322 section 3.2). */
export class Enclosures {
  readonly #text: string;
  /** Opening characters without an end. Their end is not searched for again, so that the time stays linear. */
  #unclosed = '';

  constructor(text: string) {
    this.#text = text;
  }

  /**
   * Comments may be nested. In strings and comments, a backslash escapes the next character.
   * @returns the offset after the closing character; -1 if nothing is enclosed at `start`
   */
  endOf(start: number): number {
    const text = this.#text;
    const opening = text.charAt(start);
    const kind = OPENING.indexOf(opening);
    if (kind < 0 || opening === '' || this.#unclosed.includes(opening)) return -1;
    const closes = CLOSING.charCodeAt(kind);
    const nests = opening === '(' ? opening.charCodeAt(0) : -1;
    let depth = 1;
    for (let at = start + 1; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code === BACKSLASH && opening !== '[') at++;
      else if (code === closes && --depth === 0) return at + 1;
      else if (code === nests) depth++;
    }
    this.#unclosed += opening;
    return -1;
  }
}
