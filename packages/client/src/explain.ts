/** `@mayfly/client/explain`: matches and explanations of waits as text, for tools that show them. */
import type * as api from './generated/api.ts';
import type { Match } from './match.ts';

/** Rows that help; more fill the screen of a test run. */
const MAX_ROWS = 10;
const SUBJECT_WIDTH = 40;

/** 12:03:07 */
const clock = (time: string) => time.slice(11, 19);
const quoted = (text: string) =>
  JSON.stringify(text.length > SUBJECT_WIDTH ? `${text.slice(0, SUBJECT_WIDTH - 1)}…` : text);
const plural = (count: number, word: string) => `${count} ${word}${count === 1 ? '' : 's'}`;

/** Times that are too short for seconds are usually seconds that were meant as milliseconds. */
export const seconds = (ms: number) => (ms > 0 && ms < 100 ? `${ms} ms` : `${Math.round(ms / 100) / 10} s`);

/** Time, subject and failed conditions, sender. */
function seenRow({ message, failed }: api.SeenMessage): [string, string, string] {
  const why = failed.map(({ condition, got }) => `${condition} is ${quoted(got)}`);
  if (!failed.some(({ condition }) => condition === 'subject')) why.unshift(quoted(message.subject));
  return [clock(message.receivedAt), why.join(', '), message.from?.address ?? 'no sender'];
}

/** The reply, or what a fault rule did. */
function refusal({ reply, fault }: api.RefusedMail): string {
  if (!fault) return reply === '' ? 'connection ended in the middle of the message' : reply;
  const deeds = [
    reply,
    fault.disconnect ? 'connection closed' : '',
    fault.delayMs > 0 ? `delayed by ${fault.delayMs} ms` : '',
  ];
  return `fault rule ${fault.rule} at ${fault.at}: ${deeds.filter((deed) => deed !== '').join(', ')}`;
}

/**
 * The explanation of a wait as lines of a table, times in UTC.
 */
export function explanationLines({
  seenCount,
  seen,
  refused,
  nearMisses,
  otherMail = [],
  failedHandshakes,
}: api.WaitExplanation): string[] {
  const rows = seen.slice(0, MAX_ROWS).map(seenRow);
  const width = Math.max(0, ...rows.map(([, why]) => why.length));
  return [
    seenCount === 0 ? 'No other mail came.' : `${plural(seenCount, 'other mail')} came (times in UTC):`,
    ...rows.map(([time, why, from]) => `  ${time}  ${why.padEnd(width)}  from ${from}`),
    ...refused
      .slice(0, MAX_ROWS)
      .map((one) => `Refused: ${clock(one.at)}  ${refusal(one)}  from ${one.mailFrom || '<>'}`),
    ...nearMisses
      .slice(0, MAX_ROWS)
      .map(({ address, at, times, outcome, inboxId }) =>
        outcome === 'refused'
          ? `Near miss: ${address} was refused ${plural(times, 'time')} (${clock(at)}): no inbox has that address.`
          : `Near miss: ${address} got ${plural(times, 'mail')} (${clock(at)}): ${inboxId ?? 'another inbox or the sink'} took it.`,
      ),
    ...otherMail.map(({ address, at, reason, inboxId }) =>
      reason === 'refused'
        ? `Other mail: ${address} was refused (${clock(at)}): no inbox has that address.`
        : `Other mail: ${clock(at)}  for ${address} is in ${inboxId}${reason === 'meets-conditions' ? ' and meets all conditions' : ''}.`,
    ),
    ...failedHandshakes
      .slice(0, MAX_ROWS)
      .map(({ at, remoteAddress, reason }) => `TLS failed: ${clock(at)}  ${reason}  from ${remoteAddress}`),
  ];
}

/** A match in words, such as `with subject "reset" and a code`. */
export function describeMatch(match: Match): string {
  // Text, which is refused as a match, has entries too.
  const words = Object.entries(typeof match === 'object' ? match : {}).flatMap(([name, value]) => {
    if (value === undefined) return [];
    if (typeof value === 'boolean') {
      const noun = name === 'hasAttachments' ? 'attachment' : name;
      return [`${value ? 'a' : 'no'} ${noun}`];
    }
    if (name === 'where') return ['the given "where"'];
    if (name === 'pattern') return [`a code like ${value}`];
    const isLink = name === 'link' && !(value instanceof RegExp) && typeof value === 'object';
    const parts = isLink ? Object.entries(value).filter(([, wanted]) => wanted !== undefined) : [['', value]];
    if (parts.length === 0) return ['a link'];
    return parts.map(
      ([part, wanted]) =>
        `${name}${part && ` ${part}`} ${wanted instanceof RegExp ? wanted : JSON.stringify(wanted)}`,
    );
  });
  return words.length > 0 ? ` with ${words.join(' and ')}` : '';
}

/** Why a silence was broken. */
export const silenceText = (
  name: string,
  match: Match,
  forMs: number,
  { subject, from, receivedAt }: api.MessageSummary,
): string =>
  `A mail${describeMatch(match)} reached ${name} within ${seconds(forMs)}, and none was expected: ${JSON.stringify(subject)} from ${from?.address ?? 'no sender'} at ${receivedAt}.`;
