/** A stored value; `otherwise` for text that is no JSON, so that one damaged row does not cost a whole list. */
export function parseOr<T>(text: string, otherwise: T): T {
  try {
    return JSON.parse(text);
  } catch {
    return otherwise;
  }
}

/** A stored list of texts; empty where it is damaged. */
export function parseTexts(text: string): string[] {
  const texts = parseOr<unknown>(text, null);
  return Array.isArray(texts) && texts.every((one) => typeof one === 'string') ? texts : [];
}
