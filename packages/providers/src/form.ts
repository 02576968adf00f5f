import { type Call, type InboundMail, Refused } from './provider.ts';

/** The fields of a form. */
export class Form {
  readonly #data: FormData;

  constructor(data: FormData) {
    this.#data = data;
  }

  /** The last value of a field. */
  text(name: string): string | undefined {
    const value = this.#data.getAll(name).at(-1);
    return typeof value === 'string' ? value : undefined;
  }

  texts(name: string): string[] {
    return this.#data.getAll(name).filter((value) => typeof value === 'string');
  }

  async files(name: string): Promise<{ filename: string; contentType: string; content: Buffer }[]> {
    const files = this.#data.getAll(name).filter((value) => typeof value !== 'string');
    return Promise.all(
      files.map(async (file) => ({
        ...{ filename: file.name, contentType: file.type || 'application/octet-stream' },
        content: Buffer.from(await file.arrayBuffer()),
      })),
    );
  }

  /** Fields with a prefix such as `h:`, keyed by the rest of the name. */
  prefixed(prefix: string): [string, string][] {
    return [...this.#data]
      .filter(([name, value]) => name.startsWith(prefix) && typeof value === 'string')
      .map(([name, value]) => [name.slice(prefix.length), String(value)]);
  }
}

/**
 * Fields of a form: 1,000 recipients and as many other fields. Parsing time grows faster than the number of
 * fields.
 */
const MAX_FIELDS = 2_500;
/** Limit of URL-encoded forms, which are decoded on the main thread. */
const MAX_URLENCODED_BYTES = 4 * 1024 * 1024;

/** Parses both kinds of forms. @throws Refused 400 for other types, 413 for too many fields */
export async function readForm({ body, headers }: Pick<Call, 'body' | 'headers'>): Promise<Form> {
  const type = headers['content-type'] ?? '';
  if (body.length === 0) return new Form(new FormData());
  const boundary = /boundary="?([^";]+)/i.exec(type)?.[1];
  if (boundary === undefined && body.length > MAX_URLENCODED_BYTES)
    throw new Refused(413, `Send a form of more than ${MAX_URLENCODED_BYTES} bytes as multipart/form-data.`);
  assertFew(
    Buffer.from(body.buffer, body.byteOffset, body.length),
    boundary === undefined ? '&' : `--${boundary}`,
  );
  try {
    const response = new Response(new Uint8Array(body), { headers: { 'content-type': type } });
    return new Form(await response.formData());
  } catch {
    throw new Refused(400, 'The body is not a form: send it as multipart/form-data.');
  }
}

function assertFew(body: Buffer, separator: string): void {
  let count = 0;
  for (let at = body.indexOf(separator); at !== -1; at = body.indexOf(separator, at + separator.length))
    if (++count > MAX_FIELDS) throw new Refused(413, `A form has at most ${MAX_FIELDS} fields.`);
}

/** A file in a form. */
type File = InboundMail['attachments'][number] & { field: string };

const escaped = (text: string): string =>
  text.replaceAll('\r', '%0D').replaceAll('\n', '%0A').replaceAll('"', '%22');

const headOf = (boundary: string, name: string, more = ''): Buffer =>
  Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="${escaped(name)}"${more}\r\n\r\n`);

/**
 * Writes a `multipart/form-data` body (RFC 7578). @param id of the mail, from which a unique boundary is
 * derived
 */
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

/** The attachments of a mail as form fields, whose names are the prefix and a number. */
export const filesOf = ({ attachments }: InboundMail, prefix: string): File[] =>
  attachments.map((file, index) => ({ ...file, field: `${prefix}${index + 1}` }));

/** A field with a JSON map from Content-IDs to files; no field if no file has a Content-ID. */
export function contentIdsOf(name: string, files: readonly File[], written = (id: string): string => id) {
  const named = files
    .filter(({ contentId }) => contentId)
    .map((file) => [written(file.contentId), file.field]);
  return named.length > 0 ? { [name]: JSON.stringify(Object.fromEntries(named)) } : {};
}
