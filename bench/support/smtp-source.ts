import { writeFileSync } from 'node:fs';
import { findProgram, runProgram } from './program.ts';

const LIMIT_SECONDS = 240;

/** Postfix's load generator; undefined where Postfix is not installed. */
export const smtpSource = findProgram('smtp-source');
export const NO_SMTP_SOURCE = "needs Postfix's smtp-source, which is not here";

/** Writes a mail as smtp-source wants it: it makes the CRLF itself. */
export function writeMailFile(path: string, mail: Buffer): void {
  writeFileSync(path, mail.toString('latin1').replaceAll('\r\n', '\n'), 'latin1');
}

export interface Stream {
  port: number;
  to: string;
  mails: number;
  connections: number;
  /** True for a new connection for each mail. */
  reconnect?: boolean;
  /** A file of {@link writeMailFile}, or so many bytes of made-up lines. */
  mail: { file: string } | { bytes: number };
}

/** Sends a stream of mails. @returns seconds. @throws Error when one got no 250 */
export async function sendStream({ port, to, mails, connections, reconnect, mail }: Stream): Promise<number> {
  if (smtpSource === undefined) throw new Error(NO_SMTP_SOURCE);
  const what = 'file' in mail ? ['-F', mail.file] : ['-l', String(mail.bytes)];
  const { seconds } = await runProgram(
    smtpSource,
    ['-4', ...(reconnect ? [] : ['-d']), '-s', String(connections), '-m', String(mails)]
      .concat(['-M', 'bench.example.com', '-f', 'sender@example.com', '-t', to], what)
      .concat([`127.0.0.1:${port}`]),
    LIMIT_SECONDS,
  );
  return seconds;
}
