import type { Rule } from './finding.ts';

/* Rules from the accessibility report of the Email Markup Consortium. Problems of most mails are `info`. */

type Row = [name: string, severity: Rule['severity'], reference: string, message: string];

// biome-ignore format: a table
const ROWS: readonly Row[] = [
  ['html-lang', 'info', 'WCAG 2.2 success criterion 3.1.1',
    'No element says the language, so a screen reader guesses it. Write <html lang="en">, and lang on the first element of the body too.'],
  ['html-dir', 'info', 'WCAG 2.2 success criterion 1.3.2',
    'No element says in which direction the text runs, and mail programs have one of their own. Write <html dir="ltr">, and dir on the first element of the body too.'],
  ['document-title', 'info', 'WCAG 2.2 success criterion 2.4.2',
    'The document has no title, which a browser and a screen reader announce. Write <title> with the subject.'],
  ['layout-table-role', 'info', 'WCAG 2.2 success criterion 1.3.1',
    'A screen reader counts rows and columns of this table. Write role="presentation" if it is for layout, and <th> if it has data.'],
  ['link-name', 'warning', 'WCAG 2.2 success criterion 2.4.4',
    'The link has no text, so a screen reader reads its address. Give its image an "alt", or the link an "aria-label".'],
  ['button-name', 'warning', 'WCAG 2.2 success criterion 4.1.2',
    'The button has no text. Write one, or an "aria-label".'],
  ['image-alt-file-name', 'warning', 'WCAG 2.2 success criterion 1.1.1',
    'The "alt" of the image is the name of a file. Say what the image shows, or write alt="" if it only decorates.'],
  ['heading-order', 'info', 'WCAG 2.2 success criterion 1.3.1',
    'The headings leave out a level, so the outline that screen readers offer has a gap.'],
  ['color-contrast', 'info', 'WCAG 2.2 success criterion 1.4.3',
    'The contrast of text and background is below 4.5 to 1, or below 3 to 1 for large text.'],
  ['small-text', 'info', 'Email Markup Consortium, Accessibility Report 2025',
    'The text is smaller than 12 px, which is hard to read on a phone.'],
  ['script-link', 'warning', 'https://www.caniemail.com',
    'The link runs a script, which no mail program does. Write an address.'],
  ['empty-link', 'warning', 'WCAG 2.2 success criterion 2.4.4',
    'The link leads nowhere. Check that the template has its address.'],
  ['relative-image', 'warning', 'RFC 2110 section 4',
    'The address of the image is not complete, and a mail has no page to complete it. Write https: and the host, or attach the image.'],
  ['active-content', 'warning', 'https://www.caniemail.com',
    'Mail programs remove scripts, frames and objects, and filters treat such mail as an attack. Leave them out.'],
];

export const ACCESSIBILITY_RULES: readonly Rule[] = ROWS.map(([name, severity, reference, message]) => ({
  name,
  severity,
  reference,
  check: ({ accessibility }) => (accessibility.get(name) ?? []).map((where) => ({ message, where })),
}));
