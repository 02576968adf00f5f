import { type Call, Refused } from './provider.ts';

/** The fields of a request. */
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

  /** Fields whose names have a prefix, by the rest of the name: `h:X-Order`. */
  prefixed(prefix: string): [string, string][] {
    return [...this.#data]
      .filter(([name, value]) => name.startsWith(prefix) && typeof value === 'string')
      .map(([name, value]) => [name.slice(prefix.length), String(value)]);
  }
}

/** 1,000 recipients, each as a field, and as much again; what reads forms takes a time that grows faster than their number. */
const MAX_FIELDS = 2_500;
/** Every character may be escaped, and is decoded on the thread that serves everybody. */
const MAX_URLENCODED_BYTES = 4 * 1024 * 1024;

/** Both kinds of forms that browsers send. @throws Refused 400 for anything else, 413 for too many fields */
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

/** A field of a form, or a file of one. */
export interface FormPart {
  name: string;
  value: string | Uint8Array;
  filename?: string;
  type?: string;
}

const escaped = (text: string): string =>
  text.replaceAll('\r', '%0D').replaceAll('\n', '%0A').replaceAll('"', '%22');

/** A body in `multipart/form-data` (RFC 7578). @param boundary occurs in no value: a random one */
export function writeForm(parts: readonly FormPart[], boundary: string): { type: string; body: Buffer } {
  const pieces = parts.flatMap(({ name, value, filename, type }) => {
    const file = filename === undefined ? '' : `; filename="${escaped(filename)}"`;
    const contentType = type === undefined ? '' : `Content-Type: ${type.replace(/[\r\n]/g, '')}\r\n`;
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="${escaped(name)}"${file}\r\n${contentType}\r\n`;
    return [Buffer.from(head), Buffer.from(value), Buffer.from('\r\n')];
  });
  return {
    type: `multipart/form-data; boundary=${boundary}`,
    body: Buffer.concat([...pieces, Buffer.from(`--${boundary}--\r\n`)]),
  };
}
