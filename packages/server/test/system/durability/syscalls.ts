/**
 * Reads what `strace -f -yy` wrote: calls in the order in which they began and ended. Only the calls
 * that the order of sync and reply is made of.
 */
export interface Syscall {
  name: string;
  /** What strace says of the first argument: a path, or `TCP:[local->remote]`. */
  target: string;
  /** The rest of the line, data as strace escapes them. */
  rest: string;
  /** Line on which it began; on which its result stands. */
  begin: number;
  end: number;
  /** NaN when its end is not in the log. */
  result: number;
}

const BEGIN = /^(\d+) +(\w+)\(\d+<(TCP[^\]]*\]|[^>]*)>(.*)$/;
const RESUMED = /^(\d+) +<\.\.\. (\w+) resumed>(.*)$/;
const RESULT = /= (-?\d+)(?: E.*)?$/;

export function parseSyscalls(log: string): Syscall[] {
  const calls: Syscall[] = [];
  const unfinished = new Map<string, Syscall>();
  for (const [line, text] of log.split('\n').entries()) {
    const [, resumedBy = '', , tail = ''] = RESUMED.exec(text) ?? [];
    const call = unfinished.get(resumedBy);
    if (call) {
      unfinished.delete(resumedBy);
      call.end = line;
      call.result = Number(RESULT.exec(tail)?.[1] ?? Number.NaN);
      continue;
    }
    const [, thread = '', name = '', target = '', rest = ''] = BEGIN.exec(text) ?? [];
    if (name === '') continue;
    const begun = { name, target, rest, begin: line, end: Number.POSITIVE_INFINITY, result: Number.NaN };
    calls.push(begun);
    if (rest.includes('<unfinished ...>')) unfinished.set(thread, begun);
    else {
      begun.end = line;
      begun.result = Number(RESULT.exec(rest)?.[1] ?? Number.NaN);
    }
  }
  return calls;
}

/** The mails of one connection, in the order of their dots. */
interface Dialogue {
  /** The client's port. */
  port: number;
  mails: string[];
}

/** A mail's 250 that came too early, and why. */
export interface Early {
  mail: string;
  why: string;
}

/** The text of the reply to the dot; no other reply has it. */
const STORED = /250 2\.0\.0 Message stored/g;

/**
 * Holds each 250 after DATA against the write-ahead log: the mail's rows were written, then the log
 * was synced, with success and to the end, and only then was the reply written.
 * @param calls with data long enough to find a mail's id in what is written
 * @param dialogues who sent what
 * @returns how many 250s were written, and those that came too early
 */
export function checkOrder(calls: Syscall[], dialogues: Dialogue[]): { replies: number; early: Early[] } {
  const log = calls.filter(({ target }) => target.endsWith('.db-wal'));
  const writes = log.filter(({ name }) => name.startsWith('pwrite'));
  const syncs = log.filter(({ name, result }) => /^f(?:data)?sync$/.test(name) && result === 0);
  const early: Early[] = [];
  let replies = 0;
  for (const { port, mails } of dialogues) {
    const sends = calls.filter(
      ({ name, target }) =>
        /^(?:write|send)/.test(name) && target.includes('->') && target.endsWith(`:${port}]`),
    );
    const stored = sends.flatMap((send) => [...send.rest.matchAll(STORED)].map(() => send));
    for (const [index, reply] of stored.entries()) {
      const mail = mails[index] ?? `the unknown mail ${index} of port ${port}`;
      replies += 1;
      const written = writes.find(({ rest, result }) => result > 0 && rest.includes(mail));
      if (!written || written.end > reply.begin)
        early.push({ mail, why: 'its rows were not written before' });
      else if (!syncs.some((sync) => sync.begin > written.end && sync.end < reply.begin)) {
        early.push({ mail, why: 'no sync of the log ended between the write of its rows and the reply' });
      }
    }
  }
  return { replies, early };
}
