/** Items of one line: few enough to be validated in a millisecond. */
const ITEMS_PER_LINE = 20;

/**
 * Splits a JSON document into lines, so that its reader can yield to the event loop between two of them: first the
 * document with its field `array` emptied, then the items of that field as arrays of several items.
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
