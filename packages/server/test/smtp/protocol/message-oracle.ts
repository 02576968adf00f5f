/*
 * What a message is by the rules, found by looking at all of its bytes at once (latin1 strings), so that it shares
 * no thought with the reader under test.
 */

export interface Verdict {
  /** Bytes up to and with the dot's line. */
  length: number;
  /** The message, or the code that refuses it. */
  message: string | '550' | '552';
}

const bareIn = /\r(?!\n)|(?<!\r)\n/g;

/**
 * @param bytes everything that follows the DATA command, which ended with CRLF
 * @returns undefined when the message does not end in them
 */
export function judge(bytes: string, maxBytes: number, normalises: boolean): Verdict | undefined {
  const end = `\r\n${bytes}`.indexOf('\r\n.\r\n');
  if (end < 0) return undefined;
  const content = bytes.slice(0, end);
  const length = end + '.\r\n'.length;
  if (normalises) {
    const message = content.replace(/(^|\r\n)\.|((?<!\r)\n\.)\./g, '$1$2').replace(/\r\n|\r|\n/g, '\r\n');
    return { length, message: message.length > maxBytes ? '552' : message };
  }
  const message = content.replace(/(^|\r\n)\./g, '$1');
  for (const { index, 0: found } of message.matchAll(bareIn)) {
    // A bare CR shows itself by the byte after it.
    const shownAt = found === '\r' ? index + 1 : index;
    if (shownAt < maxBytes) return { length, message: '550' };
  }
  return { length, message: message.length > maxBytes ? '552' : message };
}
