import { attachmentBytes } from '../attachment.ts';
import type { ParsedMail } from '../mail.ts';
import { parseMail } from '../parse.ts';
import { MAX_IMAGE_BYTES, MAX_IMAGES_BYTES, type PreviewPage, previewPage } from './page.ts';
import { textPage } from './text-page.ts';

/** Making the page of text or HTML of this size takes up to 100 ms, by the number of its tags. */
const MAX_LENGTH = 1024 * 1024;

/** Types that an image within the page may have: none of them can contain a script. */
const IMAGE_TYPES: ReadonlySet<string> = new Set([
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'image/bmp',
]);

/** A page in place of one that cannot be made. */
const note = (text: string): string =>
  `<!doctype html><title>Mayfly</title><p style="font:14px system-ui,sans-serif;margin:24px">${text}</p>`;

/** The page that shows the HTML of a mail as it was received, else its text, or a note. Runs on a parser worker. */
export function previewMail(raw: Uint8Array): PreviewPage {
  const mail = parseMail(raw);
  const { html, text, links } = mail.content;
  const shown = html ?? text ?? '';
  if (shown === '') return { html: note('The message has no text.'), remoteCount: 0 };
  if (shown.length > MAX_LENGTH) {
    const what = html === null ? 'text' : 'HTML';
    const tooLarge = `The ${what} of this message is larger than 1 MiB. Read it in the view “Source”, or download the message.`;
    return { html: note(tooLarge), remoteCount: 0 };
  }
  if (html === null) return previewPage(textPage(shown, links), () => undefined);
  const images = imagesOf(raw, mail, html);
  return previewPage(html, (contentId) => images.get(contentId));
}

/** The images that the HTML names by their Content-ID, as `data:` URIs, within the limits. */
function imagesOf(raw: Uint8Array, { content, index }: ParsedMail, html: string): Map<string, string> {
  const images = new Map<string, string>();
  let left = MAX_IMAGES_BYTES;
  for (const { id, contentId, contentType, size } of content.attachments) {
    if (contentId === null || !IMAGE_TYPES.has(contentType)) continue;
    if (size > Math.min(MAX_IMAGE_BYTES, left)) continue;
    const encoded = encodeURIComponent(contentId);
    if (!html.includes(contentId) && !html.includes(encoded)) continue;
    const bytes = attachmentBytes(raw, index, id) ?? new Uint8Array();
    left -= size;
    const uri = `data:${contentType};base64,${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64')}`;
    images.set(contentId, uri);
    images.set(encoded, uri);
  }
  return images;
}
