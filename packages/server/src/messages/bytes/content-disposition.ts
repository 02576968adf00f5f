/** Characters of a file name. File systems allow 255 bytes. */
const MAX_NAME = 150;
/**
 * Characters that are not safe in file names and headers: controls, separators, direction marks, unpaired
 * surrogates.
 */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}/\\:*?"<>|]/gu;

/** RFC 8187 section 3.2.1: everything but attr-char is percent-encoded. */
const encoded = (text: string): string =>
  encodeURIComponent(text).replaceAll(
    /['()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );

/**
 * `Content-Disposition: attachment` with a file name (RFC 6266): in ASCII for old readers, and in full.
 * @param filename as a sender wrote it; paths and controls are taken out
 */
export function contentDisposition(filename: string): string {
  const [...letters] = filename.replaceAll(UNSAFE, '_');
  const name =
    letters
      .slice(0, MAX_NAME)
      .join('')
      .replace(/^[. ]+/, '')
      .trim() || 'attachment';
  const ascii = name.replaceAll(/[^ -~]|%/g, '_');
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded(name)}`;
}
