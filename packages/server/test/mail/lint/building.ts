import { Buffer } from 'node:buffer';

export const crlf = (lines: readonly string[]): Buffer =>
  Buffer.from(`${lines.join('\n').replaceAll(/\r?\n/g, '\r\n')}\r\n`);

/** The header fields that every well-made mail has. @param more further fields, or others in place of these */
export function header(subject: string, from: string, ...more: string[]): string[] {
  const fields = [
    'Date: Sun, 22 Nov 2026 08:15:30 +0000',
    `From: ${from}`,
    'To: Ada Lovelace <ada@mayfly.test>',
    `Subject: ${subject}`,
    `Message-ID: <0102019a-${subject.length}-4711@mail.example>`,
    'MIME-Version: 1.0',
  ];
  const replaced = new Set(more.map((field) => field.split(':')[0]?.toLowerCase()));
  return [...fields.filter((field) => !replaced.has(field.split(':')[0]?.toLowerCase())), ...more];
}

/** One part of a multipart. */
export const part = (fields: string[], body: string): string => `${fields.join('\n')}\n\n${body}`;

export const text = (body: string): string =>
  part(['Content-Type: text/plain; charset=utf-8', 'Content-Transfer-Encoding: 8bit'], body);

/** Pages have long lines, so senders encode them. */
export const html = (body: string): string =>
  part(
    ['Content-Type: text/html; charset=utf-8', 'Content-Transfer-Encoding: quoted-printable'],
    quotedPrintable(body),
  );

/** RFC 2045 section 6.7, with lines of at most 76 letters. */
function quotedPrintable(body: string): string {
  const encoded = [...Buffer.from(body)].map((byte) =>
    byte === 0x0a || (byte >= 0x20 && byte < 0x7f && byte !== 0x3d)
      ? String.fromCharCode(byte)
      : `=${byte.toString(16).toUpperCase().padStart(2, '0')}`,
  );
  let line = 0;
  return encoded
    .map((letter) => {
      line = letter === '\n' ? 0 : line + letter.length;
      if (line <= 75) return letter;
      line = letter.length;
      return `=\n${letter}`;
    })
    .join('');
}

/** The lines of a multipart: its Content-Type, an empty line, its parts. */
export function multipart(
  type: string,
  parts: readonly string[],
  boundary = `=_${type.replaceAll(/\W/g, '')}`,
): string {
  const body = parts.map((one) => `--${boundary}\n${one}\n`).join('');
  return `Content-Type: multipart/${type}; boundary="${boundary}"\n\n${body}--${boundary}--`;
}
