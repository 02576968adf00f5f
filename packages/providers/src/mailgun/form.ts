import type { Call, Reply } from '../provider.ts';
import { Refused } from '../provider.ts';

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

/** Both kinds of forms that browsers send. @throws Refused 400 for anything else */
export async function readForm({ body, headers }: Pick<Call, 'body' | 'headers'>): Promise<Form> {
  const type = headers['content-type'] ?? '';
  if (body.length === 0) return new Form(new FormData());
  try {
    const response = new Response(new Uint8Array(body), { headers: { 'content-type': type } });
    return new Form(await response.formData());
  } catch {
    throw new Refused(400, 'The body is not a form: send it as multipart/form-data.');
  }
}

export const json = (value: unknown, status = 200): Reply => ({
  status,
  type: 'application/json',
  body: JSON.stringify(value),
});
