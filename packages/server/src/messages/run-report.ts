import type { RunInbox } from '../store/contract/index.ts';

/** Problems that a report lists; `inboxes` has the others. */
const MAX_PROBLEMS = 100;

/** Sums over the inboxes of a run. */
export interface RunTotals {
  inboxes: number;
  /** Inboxes that received nothing. */
  inboxesWithoutMail: number;
  messages: number;
  waitsSucceeded: number;
  waitsFailed: number;
  refusals: number;
}

/** @param inboxes of the run */
export function totalsOf(inboxes: readonly RunInbox[]): RunTotals {
  const sum = (value: (inbox: RunInbox) => number): number =>
    inboxes.reduce((total, inbox) => total + value(inbox), 0);
  return {
    inboxes: inboxes.length,
    inboxesWithoutMail: sum(({ received }) => (received === 0 ? 1 : 0)),
    messages: sum(({ received }) => received),
    waitsSucceeded: sum(({ waits }) => waits.succeeded),
    waitsFailed: sum(({ waits }) => waits.failed),
    refusals: sum(({ refusals }) => refusals.count),
  };
}

/** What was wrong, in sentences that begin with the address: failed waits first, then refused mail. */
export function problemsOf(inboxes: readonly RunInbox[]): string[] {
  const waits = inboxes.flatMap(({ address, waits: { failures } }) =>
    failures.map((failure) => `${address}: ${waitSentence(failure)}`),
  );
  const refusals = inboxes.flatMap(({ address, refusals: { count, last } }) =>
    last === null ? [] : [`${address}: ${refusalSentence(count, last.reply)}`],
  );
  return [...waits, ...refusals].slice(0, MAX_PROBLEMS);
}

function waitSentence({ waitedMs, count, summary }: RunInbox['waits']['failures'][number]): string {
  const wanted = count === 0 ? 'silence' : count === 1 ? 'a message' : `${count} messages`;
  return `A wait of ${(waitedMs / 1000).toFixed(1)} s for ${wanted} failed. ${summary}`;
}

function refusalSentence(count: number, reply: string): string {
  if (reply === '')
    return `${count === 1 ? 'A mail was' : `${count} mails were`} not received; the connection of the last sender ended in the middle.`;
  return `${count === 1 ? 'A mail was' : `${count} mails were`} refused, the last one with "${reply}".`;
}
