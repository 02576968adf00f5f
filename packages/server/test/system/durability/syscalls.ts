/**
 * A system call in the output of `strace -f -yy`.
 */
export interface Syscall {
  name: string;
  /** The file of the first argument: a path, or `TCP:[local->remote]`. */
  target: string;
  /** The rest of the line, with data as escaped by strace. */
  rest: string;
  /** Line numbers of its begin and of its result. */
  begin: number;
  end: number;
  /** NaN if the result is not in the output. */
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

/** The mails of one connection, in the order in which they were sent. */
interface Dialogue {
  /** The port of the client. */
  port: number;
  mails: string[];
}

/** A mail whose 250 was written too early, and why. */
export interface Early {
  mail: string;
  why: string;
}

/** The reply to the end of DATA, which no other reply equals. */
const STORED = /250 2\.0\.0 Message stored/g;

/**
 * Checks for each 250 after DATA that the rows of the mail were written to the write-ahead log, and then the log was
 * synced successfully, before the reply was written.
 * @param calls with enough data to contain the ids of mails
 * @returns the number of replies, and those that were written too early
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
