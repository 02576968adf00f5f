/** The header fields of a source in order, unfolded but not decoded. @param rename converts field names */
export function headersIn(source: string, rename = (name: string): string => name): Record<string, string[]> {
  const [header = ''] = source.split(/\r?\n\r?\n/, 1);
  const fields = new Map<string, string[]>();
  for (const line of header.replaceAll(/\r?\n(?=[ \t])/g, '').split(/\r?\n/)) {
    const [, given = '', value = ''] = /^([^\s:]+):[ \t]*(.*)$/s.exec(line) ?? [];
    const name = rename(given);
    if (name !== '') fields.set(name, [...(fields.get(name) ?? []), value]);
  }
  return Object.fromEntries(fields);
}
