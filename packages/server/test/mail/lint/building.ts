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
  const replaced = new Set(more.map((field) => field.split(':')[0]));
  return [...fields.filter((field) => !replaced.has(field.split(':')[0])), ...more];
}

export const part = (fields: string[], body: string): string => `${fields.join('\n')}\n\n${body}`;

export const text = (body: string): string => part(['Content-Type: text/plain; charset=utf-8'], body);

/** Pages have long lines, so senders encode them. */
export const html = (body: string): string =>
  part(
    ['Content-Type: text/html; charset=utf-8', 'Content-Transfer-Encoding: base64'],
    Buffer.from(body).toString('base64').replaceAll(/.{76}/g, '$&\n'),
  );

/** The lines of a multipart: its Content-Type, an empty line, its parts. */
export function multipart(type: string, parts: readonly string[]): string {
  const boundary = `=_${type.replaceAll(/\W/g, '')}`;
  const body = parts.map((one) => `--${boundary}\n${one}\n`).join('');
  return `Content-Type: multipart/${type}; boundary="${boundary}"\n\n${body}--${boundary}--`;
}
