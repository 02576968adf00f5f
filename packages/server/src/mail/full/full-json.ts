import { parseMail } from '../parse.ts';
import { contentFields } from './content-fields.ts';
import { JsonPieces } from './json-pieces.ts';

/**
 * Bytes of the strings of one message in full: those of the largest message in any charset. Control characters
 * take six times theirs.
 */
export const MAX_STRING_BYTES = 128 * 1024 * 1024;

/** What the JSON of a message has beside the fields of its content. */
export interface FullJson {
  /** JSON of an object with the other fields. */
  head: string;
  /** The URL of an attachment without its id. */
  attachmentsUrl: string;
}

/** Reads a mail as it was received, and writes the JSON of its message in full. Runs on a parser worker. */
export function fullJson(raw: Uint8Array, { head, attachmentsUrl }: FullJson): readonly Uint8Array[] {
  const { content, index } = parseMail(raw);
  const json = new JsonPieces(MAX_STRING_BYTES);
  json.add(`${head.slice(0, -1)},`);
  json.writeFields(contentFields(content, index, attachmentsUrl));
  json.add(json.isCut && !head.includes('"truncated":') ? ',"truncated":true}' : '}');
  return json.finish();
}
