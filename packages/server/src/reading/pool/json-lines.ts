/** Items of the array in one line: few enough to be checked in a millisecond. */
const ITEMS_PER_LINE = 20;

/**
 * Cuts a JSON document into lines of JSON, so that its reader can do other work between two of them.
 * @param array name of a field of the document
 * @returns the document with that field as an empty array, then the items of the field, several in each line as an
 *   array; a document without such an array is one line
 * @throws SyntaxError, or RangeError for a document that is nested too deeply
 */
export function jsonLines(document: Uint8Array, array: string): string {
  const value: unknown = JSON.parse(new TextDecoder().decode(document));
  const items = (value as Record<string, unknown> | null)?.[array];
  if (!Array.isArray(items)) return JSON.stringify(value);
  const lines = [JSON.stringify({ ...(value as object), [array]: [] })];
  for (let at = 0; at < items.length; at += ITEMS_PER_LINE) {
    lines.push(JSON.stringify(items.slice(at, at + ITEMS_PER_LINE)));
  }
  return lines.join('\n');
}
