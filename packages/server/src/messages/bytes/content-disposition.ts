/** File systems allow 255 bytes. */
const MAX_NAME = 150;
/** Controls, separators, direction marks and unpaired surrogates. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}/\\:*?"<>|]/gu;

/** RFC 8187 section 3.2.1: everything but attr-char is percent-encoded. */
const encoded = (text: string): string =>
  encodeURIComponent(text).replaceAll(
    /['()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );

/** RFC 6266: the file name in ASCII for old clients, and in full. Unsafe characters are replaced. */
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
