import { Buffer } from 'node:buffer';

/** A mail with its name; the mails of this folder are written from the look of current real ones. */
export type NamedMail = [name: string, raw: Buffer];

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

export const alternative = (plain: string, page: string): string =>
  multipart('alternative', [text(plain), html(page)]);

export const ONE_CLICK = [
  'List-Unsubscribe: <https://news.example/u/9f8e7d>, <mailto:leave-9f8e7d@news.example>',
  'List-Unsubscribe-Post: List-Unsubscribe=One-Click',
];

/** As MJML writes it: nested tables, conditional columns for Outlook, a style sheet with media queries. */
export const mjml = (content: string, head = ''): string => `<!doctype html>
<html lang="en" dir="auto" xmlns="http://www.w3.org/1999/xhtml" xmlns:v="urn:schemas-microsoft-com:vml" xmlns:o="urn:schemas-microsoft-com:office:office">
<head><title></title>
<!--[if !mso]><!--><meta http-equiv="X-UA-Compatible" content="IE=edge"><!--<![endif]-->
<meta http-equiv="Content-Type" content="text/html; charset=UTF-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<style type="text/css">#outlook a { padding:0; } body { margin:0;padding:0;-webkit-text-size-adjust:100%;-ms-text-size-adjust:100%; }
table, td { border-collapse:collapse;mso-table-lspace:0pt;mso-table-rspace:0pt; } img { border:0;height:auto;line-height:100%; outline:none;text-decoration:none;-ms-interpolation-mode:bicubic; }
p { display:block;margin:13px 0; }</style>
<!--[if mso]><noscript><xml><o:OfficeDocumentSettings><o:AllowPNG/><o:PixelsPerInch>96</o:PixelsPerInch></o:OfficeDocumentSettings></xml></noscript><![endif]-->
<!--[if !mso]><!--><link href="https://fonts.googleapis.com/css?family=Inter:400,700" rel="stylesheet" type="text/css"><style type="text/css">@import url(https://fonts.googleapis.com/css?family=Inter:400,700);</style><!--<![endif]-->
<style type="text/css">@media only screen and (min-width:480px) { .mj-column-per-100 { width:100% !important; max-width: 100%; } }</style>
<style media="screen and (min-width:480px)">.moz-text-html .mj-column-per-100 { width:100% !important; max-width: 100%; }</style>
<style type="text/css">@media only screen and (max-width:479px) { table.mj-full-width-mobile { width: 100% !important; } td.mj-full-width-mobile { width: auto !important; } }</style>
${head}</head>
<body style="word-spacing:normal;background-color:#f4f4f4;">
<div aria-roledescription="email" role="article" lang="en" dir="auto" style="background-color:#f4f4f4;">
<!--[if mso | IE]><table align="center" border="0" cellpadding="0" cellspacing="0" class="" role="presentation" style="width:600px;" width="600"><tr><td style="line-height:0px;font-size:0px;mso-line-height-rule:exactly;"><![endif]-->
<div style="background:#ffffff;background-color:#ffffff;margin:0px auto;max-width:600px;">
<table align="center" border="0" cellpadding="0" cellspacing="0" role="presentation" style="background:#ffffff;background-color:#ffffff;width:100%;"><tbody><tr><td style="direction:ltr;font-size:0px;padding:20px 0;text-align:center;">
<div class="mj-column-per-100 mj-outlook-group-fix" style="font-size:0px;text-align:left;direction:ltr;display:inline-block;vertical-align:top;width:100%;">
<table border="0" cellpadding="0" cellspacing="0" role="presentation" style="vertical-align:top;" width="100%"><tbody>
<tr><td align="left" style="font-size:0px;padding:10px 25px;word-break:break-word;"><div style="font-family:Inter, Arial;font-size:16px;line-height:1.5;text-align:left;color:#333333;">${content}</div></td></tr>
</tbody></table></div></td></tr></tbody></table></div>
<!--[if mso | IE]></td></tr></table><![endif]--></div></body></html>`;

/** As the templates of transactional senders look: one column, a button made of a table, a footer. */
export const transactional = (
  content: string,
): string => `<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">
<html xmlns="http://www.w3.org/1999/xhtml"><head>
<meta name="viewport" content="width=device-width, initial-scale=1.0"><meta name="x-apple-disable-message-reformatting"><meta http-equiv="Content-Type" content="text/html; charset=UTF-8">
<meta name="color-scheme" content="light dark"><meta name="supported-color-schemes" content="light dark"><title></title>
<style type="text/css" rel="stylesheet" media="all">body { width: 100% !important; height: 100%; margin: 0; -webkit-text-size-adjust: none; } a { color: #3869D4; } a img { border: none; } td { word-break: break-word; }
.preheader { display: none !important; visibility: hidden; mso-hide: all; font-size: 1px; line-height: 1px; max-height: 0; max-width: 0; opacity: 0; overflow: hidden; }
.button { background-color: #3869D4; border-top: 10px solid #3869D4; border-right: 18px solid #3869D4; border-bottom: 10px solid #3869D4; border-left: 18px solid #3869D4; display: inline-block; color: #FFF; text-decoration: none; border-radius: 3px; box-shadow: 0 2px 3px rgba(0, 0, 0, 0.16); -webkit-text-size-adjust: none; box-sizing: border-box; }
@media only screen and (max-width: 600px) { .email-body_inner, .email-footer { width: 100% !important; } }
@media (prefers-color-scheme: dark) { body, .email-body { background-color: #333333 !important; color: #FFF !important; } }
:root { color-scheme: light dark; supported-color-schemes: light dark; }</style>
<!--[if mso]><style type="text/css">.f-fallback { font-family: Arial, sans-serif; }</style><![endif]--></head>
<body><span class="preheader">What this message is about.</span>
<table class="email-wrapper" width="100%" cellpadding="0" cellspacing="0" role="presentation"><tr><td align="center">
<table class="email-body_inner" align="center" width="570" cellpadding="0" cellspacing="0" role="presentation"><tr><td class="content-cell"><div class="f-fallback">
${content}
</div></td></tr></table></td></tr></table></body></html>`;

export const button = (href: string, label: string): string =>
  `<table class="body-action" align="center" width="100%" cellpadding="0" cellspacing="0" role="presentation"><tr><td align="center"><a href="${href}" class="button" target="_blank">${label}</a></td></tr></table>`;

export const base64 = (bytes: string | Buffer): string =>
  Buffer.from(bytes)
    .toString('base64')
    .replaceAll(/(.{76})/g, '$1\n');
