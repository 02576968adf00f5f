import type { InboundMail } from './provider.ts';

/** A file of a form. */
type File = InboundMail['attachments'][number] & { field: string };

const escaped = (text: string): string =>
  text.replaceAll('\r', '%0D').replaceAll('\n', '%0A').replaceAll('"', '%22');

const headOf = (boundary: string, name: string, more = ''): Buffer =>
  Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="${escaped(name)}"${more}\r\n\r\n`);

/** A body in `multipart/form-data` (RFC 7578). @param id of the mail, which makes a boundary that occurs in no value */
export function writeForm(
  fields: Readonly<Record<string, string>>,
  files: readonly File[],
  id: string,
): { type: string; body: Buffer } {
  const boundary = `xYzZY${id.replaceAll(/[^\w]/g, '')}`;
  const end = Buffer.from('\r\n');
  const body = Buffer.concat([
    ...Object.entries(fields).flatMap(([name, value]) => [headOf(boundary, name), Buffer.from(value), end]),
    ...files.flatMap(({ field, filename, contentType, content }) => {
      const type = contentType.replace(/[\r\n]/g, '');
      const more = `; filename="${escaped(filename)}"\r\nContent-Type: ${type}`;
      return [headOf(boundary, field, more), content, end];
    }),
    Buffer.from(`--${boundary}--\r\n`),
  ]);
  return { type: `multipart/form-data; boundary=${boundary}`, body };
}

/** The attachments of a mail, as fields that are the prefix with a number. */
export const filesOf = ({ attachments }: InboundMail, prefix: string): File[] =>
  attachments.map((file, index) => ({ ...file, field: `${prefix}${index + 1}` }));

/** Which file each Content-ID names, as JSON under the name of the field; nothing without any. */
export function contentIdsOf(name: string, files: readonly File[], written = (id: string): string => id) {
  const named = files
    .filter(({ contentId }) => contentId)
    .map((file) => [written(file.contentId), file.field]);
  return named.length > 0 ? { [name]: JSON.stringify(Object.fromEntries(named)) } : {};
}
