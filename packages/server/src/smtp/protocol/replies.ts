import type { Reply } from '../replies.ts';

const reply = (code: number, enhanced: string, text: string): Reply => ({ code, enhanced, text });

/** Replies of the protocol itself, beside those of replies.ts. */
export const PROTOCOL_REPLIES = {
  help: reply(214, '2.0.0', 'See https://tools.ietf.org/html/rfc5321 for details'),
  readyForTls: reply(220, '2.0.0', 'Ready to start TLS'),
  goodbye: reply(221, '2.0.0', 'Bye'),
  ok: reply(250, '2.0.0', 'OK'),
  flushed: reply(250, '2.0.0', 'Flushed'),
  cannotVerify: reply(252, '2.1.5', 'Try to send something. No promises though'),
  startData: reply(354, '', 'End data with <CR><LF>.<CR><LF>'),
  bareLineFeed: reply(500, '5.5.2', 'A command line must end with CR LF, not with LF alone'),
  helloSyntax: reply(501, '5.5.4', 'Syntax: EHLO hostname'),
  verifySyntax: reply(501, '5.5.4', 'Syntax: VRFY address'),
  needHello: reply(503, '5.5.1', 'Error: send HELO/EHLO first'),
  tlsActive: reply(503, '5.5.1', 'TLS is already active'),
} satisfies Record<string, Reply>;
