import { readBodies } from '../parse.ts';
import { MAX_PAGE_LENGTH, type PreviewPage, previewPage, textPage } from './page.ts';

/** Characters; rendering takes up to 100 ms, by the number of tags. */
const MAX_LENGTH = 1024 * 1024;

/** None of these types can contain a script. */
export const IMAGE_TYPES: ReadonlySet<string> = new Set([
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'image/bmp',
]);

const note = (text: string): PreviewPage => ({
  html: `<!doctype html><title>Mayfly</title><p style="font:14px system-ui,sans-serif;margin:24px">${text}</p>`,
  remoteCount: 0,
});

/**
 * Renders the HTML of a mail, else its text or a note. Runs on a parser worker.
 * @param imagesUrl the URL of an image without its attachment id
 */
export function previewMail(raw: Uint8Array, imagesUrl: string): PreviewPage {
  const { html, text, attachments } = readBodies(raw);
  const shown = html ?? text ?? '';
  const what = html === null ? 'text' : 'HTML';
  if (shown === '') return note('The message has no text.');
  if (shown.length > MAX_LENGTH) return note(tooLarge(`The ${what} of this message is larger than 1 MiB.`));
  const images = new Map<string, string>();
  for (const { id, contentId, contentType } of attachments) {
    if (contentId === null || !IMAGE_TYPES.has(contentType)) continue;
    images.set(contentId, imagesUrl + id);
    images.set(encodeURIComponent(contentId.toWellFormed()), imagesUrl + id);
  }
  const page = html === null ? textPage(shown) : previewPage(html, (contentId) => images.get(contentId));
  if (page !== undefined && page.html.length <= MAX_PAGE_LENGTH) return page;
  return note(tooLarge(`The ${what} of this message would be a page of more than 4 MiB.`));
}

const tooLarge = (why: string): string => `${why} Read it in the view “Source”, or download the message.`;
