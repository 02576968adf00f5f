/** Returns `otherwise` for invalid JSON, so that one damaged row does not fail a whole list. */
export function parseOr<T>(text: string, otherwise: T): T {
  try {
    return JSON.parse(text);
  } catch {
    return otherwise;
  }
}

/** Empty where the stored text is damaged. */
export function parseTexts(text: string): string[] {
  const texts = parseOr<unknown>(text, null);
  return Array.isArray(texts) && texts.every((one) => typeof one === 'string') ? texts : [];
}
