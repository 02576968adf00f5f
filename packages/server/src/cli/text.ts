const GAP = '  ';

/** Escapes control characters, which could control the terminal. */
export const plain = (text: string): string =>
  text.replace(/\p{Cc}/gu, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`);

const width = (text: string): number => [...text].length;

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [head, ...rows.map((row) => row.map(plain))];
  const widths = head.map((_, column) => Math.max(...cells.map((row) => width(row[column] ?? ''))));
  const line = (row: readonly string[]) =>
    row.map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - width(cell))).join(GAP);
  return cells.map((row) => line(row).trimEnd()).join('\n');
}

export function details(lines: readonly (readonly [name: string, value: string])[]): string {
  const widest = Math.max(...lines.map(([name]) => width(name)));
  return lines.map(([name, value]) => `${`${name}:`.padEnd(widest + 1)} ${plain(value)}`).join('\n');
}

export const indented = (text: string): string => text.replace(/^(?=.)/gm, GAP);

/** Formats values whose names end in `At` with {@link time}. */
export const json = (value: unknown): string =>
  JSON.stringify(value, (name, one) => (name.endsWith('At') && one !== null ? time(one) : one), 2);

export const time = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());
