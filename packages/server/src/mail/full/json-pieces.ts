/** Characters that are written at once: more would make strings as long as the value. */
const PIECE_CHARACTERS = 256 * 1024;
/** UTF-8 JSON takes at most so many bytes for a UTF-16 code unit, as in `\\u0001`. */
const MAX_CHARACTER_BYTES = 6;

/** Writes JSON whose strings may be many megabytes long, in pieces of UTF-8. */
export class JsonPieces {
  readonly #pieces: Buffer[] = [];
  #text = '';
  #left: number;
  #isCut = false;

  /** @param most bytes for strings; what is longer is cut */
  constructor(most: number) {
    this.#left = most;
  }

  /** True when a string was cut. */
  get isCut(): boolean {
    return this.#isCut;
  }

  /** Adds text as it is. */
  add(text: string): void {
    this.#text += text;
    if (this.#text.length >= PIECE_CHARACTERS) this.#flush();
  }

  /** Adds the JSON of a value; fields that are undefined are left out. */
  write(value: unknown): void {
    if (typeof value === 'string') this.#writeString(value);
    else if (Array.isArray(value)) {
      this.add('[');
      for (const [at, item] of value.entries()) {
        if (at > 0) this.add(',');
        this.write(item);
      }
      this.add(']');
    } else if (typeof value === 'object' && value !== null) {
      this.add('{');
      this.writeFields(value);
      this.add('}');
    } else this.add(JSON.stringify(value ?? null));
  }

  /** Adds the fields of an object without its braces. */
  writeFields(fields: object): void {
    let separator = '';
    for (const [key, value] of Object.entries(fields)) {
      if (value === undefined) continue;
      this.add(`${separator}${JSON.stringify(key)}:`);
      this.write(value);
      separator = ',';
    }
  }

  /** All that was added. */
  finish(): readonly Buffer[] {
    this.#flush();
    return this.#pieces;
  }

  #writeString(value: string): void {
    if (value.length <= PIECE_CHARACTERS && this.#left >= value.length * MAX_CHARACTER_BYTES) {
      const json = JSON.stringify(value);
      this.#left -= json.length;
      this.add(json);
      return;
    }
    this.add('"');
    for (let at = 0; at < value.length; ) {
      const end = endOfPiece(value, at);
      const json = JSON.stringify(value.slice(at, end)).slice(1, -1);
      this.#left -= Buffer.byteLength(json);
      if (this.#left < 0) {
        this.#isCut = true;
        break;
      }
      this.add(json);
      at = end;
    }
    this.add('"');
  }

  #flush(): void {
    if (this.#text !== '') this.#pieces.push(Buffer.from(this.#text));
    this.#text = '';
  }
}

/** Not between the halves of a surrogate pair. */
function endOfPiece(value: string, from: number): number {
  const end = from + PIECE_CHARACTERS;
  if (end >= value.length) return value.length;
  const code = value.charCodeAt(end - 1);
  return code >= 0xd800 && code <= 0xdbff ? end - 1 : end;
}
