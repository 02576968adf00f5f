/*
 * What a message is by the rules, found by a table of states over its bytes (latin1), so that it shares no thought
 * with the reader under test, which searches in texts.
 */

export interface Verdict {
  /** Bytes up to and with the dot's line. */
  length: number;
  /** The message, or the code that refuses it. */
  message: string | '550' | '552';
}

type State = 'text' | 'cr' | 'line' | 'dot' | 'dot cr' | 'bare line' | 'bare dot';
/** What is output before a byte, whether the byte is output, the next state, and whether it shows a bare CR or LF. */
type Step = [before: string, isKept: boolean, next: State | 'end', isBare?: boolean];

/** By state: for CR, LF, a dot, any other byte. */
const STEPS: Record<State, [Step, Step, Step, Step]> = {
  text: [
    ['', true, 'cr'],
    ['\r', true, 'bare line', true],
    ['', true, 'text'],
    ['', true, 'text'],
  ],
  cr: [
    ['\n', true, 'cr', true],
    ['', true, 'line'],
    ['\n', true, 'text', true],
    ['\n', true, 'text', true],
  ],
  line: [
    ['', true, 'cr'],
    ['\r', true, 'bare line', true],
    ['', false, 'dot'],
    ['', true, 'text'],
  ],
  dot: [
    ['', false, 'dot cr'],
    ['\r', true, 'bare line', true],
    ['', true, 'text'],
    ['', true, 'text'],
  ],
  'dot cr': [
    ['\r\n', true, 'cr', true],
    ['', false, 'end'],
    ['\r\n', true, 'text', true],
    ['\r\n', true, 'text', true],
  ],
  'bare line': [
    ['', true, 'cr'],
    ['\r', true, 'bare line', true],
    ['', false, 'bare dot'],
    ['', true, 'text'],
  ],
  'bare dot': [
    ['.', true, 'cr'],
    ['.\r', true, 'bare line', true],
    ['', true, 'text'],
    ['.', true, 'text'],
  ],
};
const KINDS = '\r\n.';

/**
 * @param bytes everything that follows the DATA command, which ended with CRLF
 * @returns undefined when the message does not end in them
 */
export function judge(bytes: string, maxBytes: number, normalises: boolean): Verdict | undefined {
  let state: State = 'line';
  let message = '';
  let refusal: '550' | '552' | undefined;
  for (const [i, byte] of [...bytes].entries()) {
    const kind = KINDS.indexOf(byte);
    const [before, isKept, next, isBare] = STEPS[state][kind < 0 ? 3 : kind] as Step;
    if (isBare && !normalises) {
      // Only what the limit lets in is judged; a CR that is held back would have been let in before.
      const heldBack = state === 'dot cr' ? 1 : 0;
      refusal ??= message.length + heldBack < maxBytes ? '550' : '552';
    }
    message += before + (isKept ? byte : '');
    if (message.length > maxBytes) refusal ??= '552';
    if (next === 'end') return { length: i + 1, message: refusal ?? message };
    state = next;
  }
  return undefined;
}
