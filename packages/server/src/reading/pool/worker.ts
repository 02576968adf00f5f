import { parentPort } from 'node:worker_threads';
import { attachmentListJson, fullJson } from '../../mail/full-json.ts';
import { lintMail } from '../../mail/lint/lint.ts';
import { decodeTransfer } from '../../mail/mime/transfer-encoding.ts';
import { parseMail } from '../../mail/parse.ts';
import { previewMail } from '../../mail/preview/preview.ts';
import { giveBackMemoryLater } from '../../memory.ts';
import { jsonLines } from './json-lines.ts';
import { serve } from './serve.ts';

/** The entry of a parse worker thread; see parser-pool.ts. */
if (parentPort !== null) {
  serve(parentPort, {
    parse: parseMail,
    lint: (raw) => JSON.stringify(lintMail(raw)),
    preview(raw, imagesUrl) {
      const { html, ...about } = previewMail(raw, imagesUrl);
      return { page: html, about: JSON.stringify(about) };
    },
    attachments: attachmentListJson,
    fullJson,
    jsonLines,
    decode: ({ buffer, byteOffset, length }, encoding) =>
      decodeTransfer(Buffer.from(buffer, byteOffset, length), encoding),
  });
  giveBackMemoryLater();
}
