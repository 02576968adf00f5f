import { foldBlanks } from '../mime/clean.ts';

/** Characters of a plain text that a page is compared with; what is behind them is found in the page as well. */
const MAX_COMPARED = 256 * 1024;
/** Characters of a line of a page that is compared. Longer ones are kept without. */
const MAX_LINE = 2_048;
/** Characters searched for the lines of one page, a few milliseconds; the lines left then are kept. */
const MAX_SEARCHED = 2 * 1024 * 1024;

/**
 * The lines of a page that the plain text of the same mail does not have, ignoring case and white space: most mails
 * say the same in both, and what is stored once is enough for searches.
 * @param text the plain text
 * @param page the visible words of the page, a line for each block
 * @returns the lines, or null without any
 */
export function wordsOnlyInPage(text: string, page: string): string | null {
  const plain = foldBlanks(text.slice(0, MAX_COMPARED)).toLowerCase();
  const kept: number[] = [];
  let from = 0;
  let searched = 0;
  // Folded as a whole, which costs half of folding each line; the only blanks in a line are spaces and tabs.
  const lines = page.toLowerCase().replaceAll('\t', ' ').split('\n');
  for (const [i, line] of lines.entries()) {
    if (line.length > MAX_LINE || searched > MAX_SEARCHED) {
      kept.push(i);
      continue;
    }
    // Both usually have the same order.
    let at = plain.indexOf(line, from);
    if (at < 0) at = plain.indexOf(line);
    searched += at < from ? plain.length : at - from;
    if (at < 0) kept.push(i);
    else from = at + line.length;
  }
  if (kept.length === 0) return null;
  const asSent = page.split('\n');
  return kept.map((i) => asSent[i]).join('\n');
}
