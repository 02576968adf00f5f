interface Field {
  /** In lower case. */
  name: string;
  /** Unfolded. */
  value: string;
  /** As it is in the mail, with its line end. */
  source: string;
}

/** A mail that the application made: its header fields, and its body with the blank line. */
export interface Source {
  fields: readonly Field[];
  body: Buffer;
}

const BLANK_LINE = '\r\n\r\n';
/** A field with its continuation lines. */
const FIELD = /^([!-9;-~]+)[ \t]*:(.*(?:\r\n[ \t].*)*)(?:\r\n|$)/gm;
/** Header fields are searched with expressions; more is no mail of an application. */
const MAX_HEADER_BYTES = 256 * 1024;

/** @returns undefined for a header that is too large */
export function readSource(given: Buffer): Source | undefined {
  const mail = withCrLf(given);
  const end = mail.indexOf(BLANK_LINE);
  const header = end < 0 ? mail : mail.subarray(0, end);
  if (header.length > MAX_HEADER_BYTES) return undefined;
  const fields = [...header.toString().matchAll(FIELD)].map(([source, name = '', value = '']) => ({
    ...{ name: name.toLowerCase(), source: source.endsWith('\r\n') ? source : `${source}\r\n` },
    value: value.replaceAll('\r\n', '').trim(),
  }));
  return { fields, body: end < 0 ? Buffer.from('\r\n') : mail.subarray(end + 2) };
}

function withCrLf(mail: Buffer): Buffer {
  const text = mail.toString('latin1');
  return /(?<!\r)\n/.test(text) ? Buffer.from(text.replace(/\r?\n/g, '\r\n'), 'latin1') : mail;
}

export const valuesOf = ({ fields }: Source, name: string): string[] =>
  fields.filter((field) => field.name === name).map(({ value }) => value);
