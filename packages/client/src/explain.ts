import type * as api from './generated/api.ts';
import type { Milliseconds } from './transport.ts';

/** Rows of a table; more would flood the output of a test run. */
const MAX_ROWS = 10;
const SUBJECT_WIDTH = 40;

/** The time of day of an ISO time: 12:03:07 */
const clock = (time: string) => time.slice(11, 19);
const quoted = (text: string) =>
  JSON.stringify(text.length > SUBJECT_WIDTH ? `${text.slice(0, SUBJECT_WIDTH - 1)}…` : text);
const plural = (count: number, word: string) => `${count} ${word}${count === 1 ? '' : 's'}`;

/**
 * Shows times below 0.1 s in milliseconds, because they usually are seconds passed as milliseconds by
 * mistake.
 */
export const seconds = (ms: Milliseconds) =>
  ms > 0 && ms < 100 ? `${Math.round(ms)} ms` : `${Math.round(ms / 100) / 10} s`;

/** Messages as lines of a table, times in UTC. */
export const mailLines = (messages: readonly api.MessageSummary[]): string =>
  messages
    .slice(-MAX_ROWS)
    .map(
      ({ receivedAt, subject, from, codes: [code] }) =>
        `  ${clock(receivedAt)}  ${quoted(subject)}  from ${from?.address ?? 'no sender'}${code ? `  code ${code.value}` : ''}`,
    )
    .join('\n');

/** A sentence if an earlier message has the same content as this one; '' otherwise. */
export function repeats(mail: api.Message, before: readonly api.Message[]): string {
  const { rfcMessageId, subject, text, htmlText } = mail;
  if (rfcMessageId !== null && before.some((one) => one.rfcMessageId === rfcMessageId))
    return ' The last one has the Message-ID of one before: it was delivered twice, such as by a retry of the sender.';
  const isSame = (one: api.Message) =>
    one.subject === subject && one.text === text && one.htmlText === htmlText;
  return before.some(isSame)
    ? ' The last one says the same as one before, with another Message-ID: the application sent it twice.'
    : '';
}

/** Time, subject and failed conditions, sender. */
function seenRow({ message, failed }: api.SeenMessage): [string, string, string] {
  const why = failed.map(({ condition, got }) => `${condition} is ${quoted(got)}`);
  if (!failed.some(({ condition }) => condition === 'subject')) why.unshift(quoted(message.subject));
  return [clock(message.receivedAt), why.join(', '), message.from?.address ?? 'no sender'];
}

/** The SMTP reply, or the effect of a fault rule. */
function refusal({ reply, fault }: api.RefusedMail): string {
  if (!fault) return reply === '' ? 'connection ended in the middle of the message' : reply;
  const deeds = [
    reply,
    fault.disconnect ? 'connection closed' : '',
    fault.delayMs > 0 ? `delayed by ${fault.delayMs} ms` : '',
  ];
  return `fault rule ${fault.rule} at ${fault.at}: ${deeds.filter((deed) => deed !== '').join(', ')}`;
}

/** The explanation of a wait as lines of a table, times in UTC. */
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
    ...(seenCount === 0 ? [] : [`${plural(seenCount, 'other mail')} came (times in UTC):`]),
    ...rows.map(([time, why, from]) => `  ${time}  ${why.padEnd(width)}  from ${from}`),
    ...refused
      .slice(0, MAX_ROWS)
      .map((one) => `Refused: ${clock(one.at)}  ${refusal(one)}  from ${one.mailFrom || '<>'}`),
    ...nearMisses
      .slice(0, MAX_ROWS)
      .map(({ address, at, times, outcome, inboxId }) =>
        outcome === 'refused'
          ? `Near miss: ${address} was refused ${plural(times, 'time')} (${clock(at)}): no inbox had that address.`
          : `Near miss: ${address} got ${plural(times, 'mail')} (${clock(at)}): ${inboxId ?? 'another inbox or the sink'} took it.`,
      ),
    ...otherMail.map(({ address, at, reason, inboxId }) =>
      reason === 'refused'
        ? `Other mail: ${address} was refused (${clock(at)}): no inbox had that address.`
        : `Other mail: ${clock(at)}  for ${address} is in ${inboxId}${reason === 'meets-conditions' ? ' and meets all conditions' : ''}.`,
    ),
    ...failedHandshakes
      .slice(0, MAX_ROWS)
      .map(({ at, remoteAddress, reason }) => `TLS failed: ${clock(at)}  ${reason}  from ${remoteAddress}`),
  ];
}
