import { createRequire } from 'node:module';

// Its ES modules import `node:http`, which reads all that it exports and so loads Node's fetch: 2 MB that
// nobody needs. What is required loads of it what it uses.
const require = createRequire(import.meta.url);

export const { SMTPServer } = require('smtp-server') as typeof import('smtp-server');
export const { SMTPConnection } =
  require('smtp-server/lib/smtp-connection.js') as typeof import('smtp-server/lib/smtp-connection.js');
export const { SMTPStream } =
  require('smtp-server/lib/smtp-stream.js') as typeof import('smtp-server/lib/smtp-stream.js');
