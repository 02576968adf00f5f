import type { RunInbox } from './sql.ts';

/** Problems that a report lists; its `inboxes` show all. */
const MAX_PROBLEMS = 100;

/** Sentences that begin with the address: failed waits, then lists and streams without messages, then refusals. */
export function problemsOf(inboxes: readonly RunInbox[]): string[] {
  const waits = inboxes.flatMap(({ address, waits: { failures } }) =>
    failures.map((failure) => `${address}: ${waitSentence(failure)}`),
  );
  const held = inboxes.flatMap((inbox) =>
    (['list', 'stream'] as const)
      .map((kind) => heldSentence(kind, inbox))
      .filter((sentence) => sentence !== '')
      .map((sentence) => `${inbox.address}: ${sentence}`),
  );
  const refusals = inboxes.flatMap(({ address, refusals: { count, last } }) =>
    last === null ? [] : [`${address}: ${refusalSentence(count, last.reply)}`],
  );
  return [...waits, ...held, ...refusals].slice(0, MAX_PROBLEMS);
}

function waitSentence({ waitedMs, count, summary }: RunInbox['waits']['failures'][number]): string {
  const wanted = count === 0 ? 'silence' : count === 1 ? 'a message' : `${count} messages`;
  return `A wait of ${(waitedMs / 1000).toFixed(1)} s for ${wanted} failed. ${summary}`;
}

/** '' if no list or stream was empty, or if another one received the message. */
function heldSentence(kind: 'list' | 'stream', { waits, received }: RunInbox): string {
  const { withMessages, empty } = kind === 'list' ? waits.lists : waits.streams;
  if (empty === 0 || withMessages > 0) return '';
  const one = kind === 'list' ? 'A list that waited' : 'A stream';
  const several = kind === 'list' ? `${empty} lists that waited` : `${empty} streams`;
  const arrived = received === 0 ? 'no message' : received === 1 ? '1 message' : `${received} messages`;
  return `${empty === 1 ? one : several} ended without a message. In all, ${arrived} arrived.`;
}

function refusalSentence(count: number, reply: string): string {
  if (reply === '')
    return `${count === 1 ? 'A mail was' : `${count} mails were`} not received; the connection of the last sender ended in the middle.`;
  return `${count === 1 ? 'A mail was' : `${count} mails were`} refused, the last one with "${reply}".`;
}
