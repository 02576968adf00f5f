import * as body from './body-checks.ts';
import support from './client-support.json' with { type: 'json' };
import type { Check, Rule } from './finding.ts';
import * as header from './header-checks.ts';
import * as page from './page-checks.ts';

/* To add a rule, add a row. Rules must report nothing for a well-made mail. */

// biome-ignore format: a table
const OF_HEADER_AND_BODY: readonly Rule[] = [
  ['missing-date', 'error', 'RFC 5322 section 3.6', header.missing('Date'),
    'The header has no Date field. Every message needs one.'],
  ['missing-from', 'error', 'RFC 5322 section 3.6', header.missing('From'),
    'The header has no From field. Every message needs one.'],
  ['missing-message-id', 'warning', 'RFC 5322 section 3.6.4', header.missing('Message-ID'),
    'The header has no Message-ID field. Every message should have one, or servers on its way add their own.'],
  ['missing-subject', 'warning', 'RFC 5322 section 3.6.5', header.emptySubject,
    'The subject is empty. Lists of mails show nothing else of it, and filters distrust it.'],
  ['unreadable-date', 'error', 'RFC 5322 section 3.3', header.unreadableDate,
    'The Date field cannot be read as a date. Write it as in "Sun, 22 Nov 2026 10:00:00 +0000".'],
  ['duplicate-field', 'error', 'RFC 5322 section 3.6', header.duplicateFields],
  ['8-bit-header', 'warning', 'RFC 5322 section 2.2, RFC 2047', header.fieldsOf8Bit],
  ['long-line', 'error', 'RFC 5322 section 2.1.1', header.longLines,
    `The line is longer than ${header.MAX_LINE_OCTETS} octets. Servers may cut or break it; use quoted-printable or base64, and fold header fields.`],
  ['missing-mime-version', 'warning', 'RFC 2045 section 4', header.missingMimeVersion,
    'The message has a Content-Type but no "MIME-Version: 1.0".'],
  ['missing-list-unsubscribe', 'warning', 'RFC 2369 section 3.2', header.missingListUnsubscribe,
    'This is bulk mail without a List-Unsubscribe field. Large providers require one, and mark such mail as spam.'],
  ['no-one-click-unsubscribe', 'warning', 'RFC 8058 section 3.1', header.noOneClickUnsubscribe,
    'List-Unsubscribe has a link but one click does not unsubscribe. Add "List-Unsubscribe-Post: List-Unsubscribe=One-Click".'],
  ['wrong-charset', 'error', 'RFC 2046 section 4.1.2', body.wrongCharsets],
  ['missing-charset', 'warning', 'RFC 2046 section 4.1.2', body.missingCharsets,
    'The body has bytes beyond ASCII and declares no charset. Add "charset=utf-8" to its Content-Type.'],
  ['missing-text-alternative', 'warning', 'RFC 2046 section 5.1.4', body.missingText,
    'There is HTML but no text. Add a text/plain part in front of it within multipart/alternative.'],
  ['different-text-alternative', 'warning', 'RFC 2046 section 5.1.4', body.differentText],
  ['clipped-html', 'warning', 'Gmail clips HTML above 102 KB', body.clippedHtml],
  ['attachment-without-filename', 'warning', 'RFC 2183 section 2.3', body.filesWithoutName],
  ['unfilled-template', 'warning', 'Placeholders of Mustache, Jinja, ERB, JavaScript and Mailchimp',
    body.unfilledTemplates],
  ['image-without-alt', 'warning', 'WCAG 2.2 success criterion 1.1.1', page.imagesWithout('hasAlt'),
    'The image has no "alt" attribute. Many clients show no images at first, and then only this; write alt="" if it only decorates.'],
  ['image-without-size', 'info', 'HTML Living Standard section 4.8.17', page.imagesWithout('hasSize'),
    'The image has no width. Outlook on Windows shows it in the size of its file; add "width" and "height".'],
  ['broken-cid', 'error', 'RFC 2392 section 2', page.brokenCids],
  ['insecure-link', 'warning', 'RFC 9110 section 4.2.2', page.insecure('link'),
    'The link is not encrypted. Use https:, above all for links that contain a token.'],
  ['insecure-image', 'warning', 'W3C Mixed Content section 3.2', page.insecure('image'),
    'This is loaded without encryption. Web mail on https: does not show it; use https:.'],
  ['little-client-support', 'info', `https://www.caniemail.com (data of ${support.date})`, page.rarelySupported],
];

type AccessibilityRow = [name: string, severity: Rule[1], reference: string, message: string];

/** From the accessibility report of the Email Markup Consortium. Problems of most mails are `info`. */
// biome-ignore format: a table
const OF_ACCESSIBILITY: readonly AccessibilityRow[] = [
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

export const RULES: readonly Rule[] = [
  ...OF_HEADER_AND_BODY,
  ...OF_ACCESSIBILITY.map(([name, severity, reference, message]): Rule => {
    const check: Check = ({ accessibility }) => accessibility.get(name) ?? [];
    return [name, severity, reference, check, message];
  }),
];
