const OPENING = '"([';
const CLOSING = '")]';
const BACKSLASH = 0x5c;

/** Finds the ends of quoted strings, comments and domain literals of a header field (RFC 5322 section 3.2). */
export class Enclosures {
  readonly #text: string;
  /** Opening characters that are not closed. Further ones are plain characters, so that the time stays linear. */
  #unclosed = '';

  constructor(text: string) {
    this.#text = text;
  }

  /**
   * Returns the offset after the closing character; -1 if nothing is opened at `start`, or not closed. Backslashes
   * escape in strings and comments, and comments nest.
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
