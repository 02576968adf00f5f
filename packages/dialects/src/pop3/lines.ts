const LINE_END = '\r\n';

/**
 * Encodes a message as a multi-line response (RFC 1939 section 3), without its end: CRLF line endings, and dots at the
 * beginning of lines doubled. A lone CR or LF becomes CRLF, because some clients treat it as a line ending, and a dot
 * after it would end the response. @param bodyLines number of body lines to send; default: all
 */
export async function* messageLines(
  pieces: AsyncIterable<Uint8Array>,
  bodyLines = Number.POSITIVE_INFINITY,
): AsyncGenerator<string> {
  const cut = new BodyCut(bodyLines);
  let before = LINE_END;
  let hasCr = false;
  for await (const piece of pieces) {
    const { buffer, byteOffset, length } = piece;
    const bytes = Buffer.from(buffer, byteOffset, length).toString('latin1');
    const text: string = hasCr ? `\r${bytes}` : bytes;
    // The LF after a final CR may be in the next piece.
    hasCr = text.endsWith('\r');
    const lines = cut.take((hasCr ? text.slice(0, -1) : text).replaceAll(/\r\n?|\n/g, LINE_END));
    yield (before + lines).replaceAll('\r\n.', '\r\n..').slice(before.length);
    if (cut.isDone) return;
    if (lines !== '') before = lines.endsWith(LINE_END) ? LINE_END : '';
  }
  if (hasCr || before === '') yield LINE_END;
}

/** Finds the end of TOP (RFC 1939 section 7) in text whose lines end with CRLF. */
class BodyCut {
  isDone = false;
  #left: number;
  #isInBody = false;
  /** Whether earlier pieces ended within a line. */
  #hasBegun = false;

  constructor(bodyLines: number) {
    this.#left = bodyLines;
  }

  take(text: string): string {
    if (this.#left === Number.POSITIVE_INFINITY) return text;
    let at = 0;
    for (let end = text.indexOf(LINE_END); end >= 0; end = text.indexOf(LINE_END, at)) {
      if (this.#isInBody) this.#left -= 1;
      else this.#isInBody = end === at && !this.#hasBegun;
      this.#hasBegun = false;
      at = end + LINE_END.length;
      this.isDone = this.#isInBody && this.#left === 0;
      if (this.isDone) return text.slice(0, at);
    }
    this.#hasBegun ||= at < text.length;
    return text;
  }
}
