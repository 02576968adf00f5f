interface Field {
  name: string;
  /** Without folding. */
  value: string;
  /** The unchanged source of the field, including its line ending. */
  source: string;
}

/**
 * A mail in MIME format from the application: its header fields, and its body with the preceding empty line.
 */
export interface Source {
  fields: readonly Field[];
  body: Buffer;
}

const BLANK_LINE = '\r\n\r\n';
/** A header field with its continuation lines. */
const FIELD = /^([!-9;-~]+)[ \t]*:(.*(?:\r\n[ \t].*)*)(?:\r\n|$)/gm;
/** Limit of the header, which is searched with regular expressions; real headers are shorter. */
const MAX_HEADER_BYTES = 256 * 1024;

/** @returns undefined for a header that is too large */
export function readSource(given: Buffer): Source | undefined {
  const mail = withCrLf(given);
  const end = mail.indexOf(BLANK_LINE);
  const header = end < 0 ? mail : mail.subarray(0, end);
  if (header.length > MAX_HEADER_BYTES) return undefined;
  const fields = [...header.toString().matchAll(FIELD)].map(([source, name = '', value = '']) => ({
    ...{ name, source: source.endsWith('\r\n') ? source : `${source}\r\n` },
    value: value.replaceAll('\r\n', '').trim(),
  }));
  return { fields, body: end < 0 ? Buffer.from('\r\n') : mail.subarray(end + 2) };
}

const [LF, CR] = [0x0a, 0x0d];

/** Works on bytes, because replacing in a string takes seconds for a mail of 20 MB. */
function withCrLf(mail: Buffer): Buffer {
  const isBare = (at: number): boolean => mail[at] === LF && mail[at - 1] !== CR;
  let bare = 0;
  for (let at = 0; at < mail.length; at++) if (isBare(at)) bare++;
  if (bare === 0) return mail;
  const made = Buffer.alloc(mail.length + bare);
  for (let at = 0, to = 0; at < mail.length; at++) {
    if (isBare(at)) made[to++] = CR;
    made[to++] = mail[at] ?? 0;
  }
  return made;
}

/** @param name in lower case */
export const valuesOf = ({ fields }: Source, name: string): string[] =>
  fields.filter((field) => field.name.toLowerCase() === name).map(({ value }) => value);
