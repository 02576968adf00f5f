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
