import { createTransport } from 'nodemailer';

const PARAGRAPH =
  'Thank you for signing up. To finish, please type the code below on the page that is still open, or follow the link. ';

/** A mail as sign-up tests receive it: multipart/alternative, text and HTML, about 2.5 KB. CRLF line endings. */
export async function realisticMail(): Promise<Buffer> {
  const link = 'https://app.example.com/verify?token=5f0c2b7d9e1a4c38b6d2f7a190e3c4b8&user=41172';
  const transport = createTransport({ streamTransport: true, buffer: true, newline: 'windows' });
  const { message } = await transport.sendMail({
    from: '"Example Accounts" <no-reply@accounts.example.com>',
    to: '"Test User" <test.user@mayfly.test>',
    subject: 'Your verification code is 482910',
    messageId: '<20261121.482910@accounts.example.com>',
    text: `Hello,\n\n${PARAGRAPH.repeat(5)}\n\nYour code: 482910\n\n${link}\n\nIt is valid for ten minutes.\n`,
    html: `<html><body style="font-family: sans-serif; color: #222"><h1>Welcome</h1><p>${PARAGRAPH.repeat(5)}</p><p style="font-size: 24px"><b>482910</b></p><p><a href="${link.replace('&', '&amp;')}" style="background: #06c; color: #fff">Verify my address</a></p><p>It is valid for ten minutes.</p></body></html>`,
  });
  return message as Buffer;
}

/** A mail with a base64 attachment that makes it about so many bytes large. CRLF line endings. */
export function largeMail(bytes: number): Buffer {
  const head =
    'From: a@example.com\r\nTo: b@mayfly.test\r\nSubject: A large file\r\nMIME-Version: 1.0\r\n' +
    'Content-Type: multipart/mixed; boundary="b"\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nHere it is.\r\n' +
    '--b\r\nContent-Type: application/pdf\r\nContent-Transfer-Encoding: base64\r\n' +
    'Content-Disposition: attachment; filename="file.pdf"\r\n\r\n';
  const line = `${'QUJD'.repeat(19)}\r\n`;
  return Buffer.from(`${head}${line.repeat(bytes / line.length)}--b--\r\n`);
}

/** Mails made to keep a parser busy, by name. CRLF line endings. */
export function parserBombs(): Map<string, Buffer> {
  const head = 'To: someone@mayfly.test\r\nSubject: bomb\r\nMIME-Version: 1.0\r\n';
  const depth = Array.from({ length: 2000 }, (_, level) => level);
  const nested = depth
    .map((level) => `Content-Type: multipart/mixed; boundary="b${level}"\r\n\r\n--b${level}\r\n`)
    .join('');
  const wide = '--b\r\nContent-Type: text/plain\r\n\r\nx\r\n'.repeat(100_000);
  return new Map([
    ['273 KB From header', Buffer.from(`From: ${'a.'.repeat(136_500)}a\r\n${head}\r\nx\r\n`)],
    ['2,000 nested parts', Buffer.from(`From: a@example.com\r\n${head}${nested}\r\nx\r\n`)],
    [
      '100,000 parts',
      Buffer.from(
        `From: a@example.com\r\n${head}Content-Type: multipart/mixed; boundary="b"\r\n\r\n${wide}--b--\r\n`,
      ),
    ],
  ]);
}
