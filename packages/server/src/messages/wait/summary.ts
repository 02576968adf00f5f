import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../clock.ts';
import type { FailedCondition, Filters } from '../../mail/matching/filters.ts';
import { quoted } from '../../nearest.ts';
import type { FaultPoint, InboxRecord, MessageRecord, Refusal } from '../../store/contract/index.ts';
import { NO_RECIPIENT } from '../../store/contract/refusals.ts';
import { closestHint, closestOf, closestSentence, conditionHint, counted, subjectOf } from './closest.ts';
import type { NearMiss } from './elsewhere.ts';
import type { OtherMail } from './other-mail.ts';
import type { Expectation, Explanation } from './outcome.ts';

/** What a summary is made from, beside the explanation. */
export interface SummaryFacts {
  expectation: Pick<Expectation, 'match' | 'count' | 'since'>;
  /** The time of the wait's `since`, epoch ms. */
  from: number;
  /** When the wait ended, epoch ms. */
  now: number;
  inbox: Pick<InboxRecord, 'address' | 'kind' | 'createdAt' | 'messageCount' | 'receivedCount'>;
  /** The inbox that takes what no other one takes; null without one. */
  sinkId: string | null;
  /** Whether all messages were checked. */
  isComplete: boolean;
  /** The conditions that none of the messages meets that did not match. */
  commonFailed: readonly FailedCondition[];
  /** The messages that matched. */
  matched: readonly MessageRecord[];
  /** The newest message that matches but arrived before `since`. */
  earlier: MessageRecord | undefined;
}

/** A length of time as a person would say it. @param ms milliseconds */
function duration(ms: number): string {
  if (ms < SECOND_MS) return `${ms} ms`;
  if (ms < 2 * MINUTE_MS) return `${Math.round(ms / SECOND_MS)} s`;
  if (ms < 2 * HOUR_MS) return `${Math.round(ms / MINUTE_MS)} min`;
  return `${Math.round(ms / HOUR_MS)} h`;
}

/** What each condition demands, after "none". */
const DEMANDS: Record<keyof Filters, (expected: string) => string> = {
  from: (expected) => `has ${quoted(expected)} in its sender`,
  to: (expected) => `has ${quoted(expected)} in its recipients`,
  rcptTo: (expected) => `was sent to ${quoted(expected)}`,
  subject: (expected) => `has ${quoted(expected)} in its subject`,
  text: (expected) => `has ${quoted(expected)} in its text`,
  hasAttachments: (expected) => (expected === 'true' ? 'has an attachment' : 'is without attachments'),
  code: (expected) => `has ${expected}`,
  link: (expected) => `has ${expected}`,
};

const demandOf = ({ condition, expected }: FailedCondition): string => DEMANDS[condition](expected);

type Unsummarised = Omit<Explanation, 'summary' | 'reportSummary'>;

/** The summary for reports: it names conditions and addresses, and nothing that a message says. */
export function reportSummaryOf(explanation: Unsummarised, facts: SummaryFacts): string {
  if (explanation.reason === 'unexpected_message') return 'A message arrived although none was expected.';
  return sentences(arrived(explanation, facts), deleted(facts), elsewhere(explanation, facts));
}

/** Why a wait failed, in one to six sentences. Only what the explanation shows is named. */
export function summaryOf(explanation: Unsummarised, facts: SummaryFacts): string {
  if (explanation.reason === 'server_stopping') {
    return 'The server is stopping. Repeat the wait with the cursor as since.';
  }
  if (explanation.reason === 'unexpected_message') {
    const [first] = facts.matched;
    return `A message arrived although none was expected: ${first ? subjectOf(first) : 'it was deleted'}.`;
  }
  const causes = sentences(
    facts.isComplete ? '' : 'Not all messages could be checked in time: continue with the cursor as since.',
    closest(explanation, facts),
    futureSince(facts),
    deleted(facts),
    elsewhere(explanation, facts),
  );
  const isUnexplained = causes === '' && explanation.seenCount === 0 && facts.matched.length === 0;
  return sentences(arrived(explanation, facts), isUnexplained ? advice(facts) : causes);
}

const sentences = (...all: string[]): string => all.filter((sentence) => sentence !== '').join(' ');

/** What to check when nothing is known. */
const advice = ({ inbox: { address } }: SummaryFacts): string =>
  `No mail for ${quoted(address)} was refused either: check that the application has sent it, to this address and to this SMTP server.`;

function arrived({ seenCount }: Unsummarised, facts: SummaryFacts): string {
  const { expectation, matched, commonFailed } = facts;
  if (matched.length > 0) {
    const others =
      seenCount === 0 ? '' : `; ${counted(seenCount, 'other message')} arrived and did not match`;
    return `${matched.length} of ${counted(expectation.count, 'message')} arrived${others}.`;
  }
  if (seenCount === 0 && expectation.since !== undefined)
    return "No message arrived after this wait's since.";
  // Some did, and that they were deleted is said next.
  if (seenCount === 0)
    return facts.inbox.messageCount === 0 && deleted(facts) !== '' ? '' : 'No message arrived.';
  const [common] = commonFailed;
  const demand = common ? demandOf(common) : 'meets all conditions';
  return `${counted(seenCount, 'message')} arrived; none ${demand}.`;
}

function closest({ seen }: Unsummarised, { earlier, from, expectation }: SummaryFacts): string {
  if (earlier) {
    const before = from - earlier.receivedAt;
    const time =
      before <= 0
        ? "is the message of this wait's since, after which it begins"
        : `arrived ${duration(before)} before this wait's since`;
    return `Closest: ${subjectOf(earlier)} ${time}.`;
  }
  const best = closestOf(seen);
  if (!best) return '';
  const conditions = Object.values(expectation.match).filter((condition) => condition !== undefined).length;
  const hint = conditionHint(expectation.match);
  return sentences(closestSentence(best, conditions), hint === '' ? closestHint(best) : hint);
}

/** A time of another clock, or in another unit. */
function futureSince({ from, now }: SummaryFacts): string {
  if (from <= now) return '';
  return `This wait's since is ${duration(from - now)} in the future: pass a cursor rather than a time of another clock.`;
}

/** Messages that are not there any more; a sink drops its oldest by itself. */
function deleted({ inbox: { kind, messageCount, receivedCount } }: SummaryFacts): string {
  const count = receivedCount - messageCount;
  if (count <= 0 || kind === 'sink') return '';
  if (messageCount > 0)
    return `${counted(count, 'message')} of this inbox ${count === 1 ? 'was' : 'were'} deleted.`;
  if (count === 1) return 'The only message that this inbox has received was deleted.';
  return `All ${receivedCount} messages that this inbox has received were deleted.`;
}

const COMMANDS: Record<FaultPoint, string> = {
  rcpt: 'RCPT',
  data: 'DATA',
  'end-of-data': 'the end of the message',
};

/** What to do about a reply of this server, by how the reply begins. */
const ADVICE: readonly (readonly [string, string])[] = [
  ['452 4.2.2 ', 'Delete messages of this inbox, or raise "maxMessagesPerInbox" of the plan.'],
  ['552 5.3.4 ', 'Send a smaller message, or raise "maxMessageBytes" of the plan.'],
  ['550 5.6.11 ', 'Its sender must end each line with CRLF.'],
];

const timesOf = (count: number): string => (count > 1 ? ` ${count} times` : '');

/**
 * A refusal for this address, by the fault rule that caused it where one did.
 * @param times how often there was the same reply
 */
function refusalSentence(
  { address, at, reply, fault }: Refusal,
  times: number,
  { inbox }: SummaryFacts,
): string {
  if (!fault) {
    if (reply === '') return 'The connection of a sender ended in the middle of a message for this address.';
    if (reply.startsWith('535 '))
      return 'A sender failed to authenticate (535): its user name or password is wrong.';
    const whose = address === NO_RECIPIENT ? 'that named no recipient yet' : 'for this address';
    const early = inbox.createdAt - at;
    const isEarly = reply.startsWith('550 5.1.1') && early >= 0;
    const time = isEarly ? `, ${duration(early)} before this inbox was created` : '';
    const refused = `Mail ${whose} was refused${timesOf(times)}${time}: ${quoted(reply)}.`;
    return sentences(refused, ADVICE.find(([code]) => reply.startsWith(code))?.[1] ?? '');
  }
  const { rule, at: point, delayMs, disconnect } = fault;
  const delay = delayMs === 0 ? '' : ` after ${duration(delayMs)}`;
  if (reply !== '') {
    return `Fault rule ${rule} answered ${COMMANDS[point]}${timesOf(times)} with ${quoted(reply)}${delay}.`;
  }
  if (disconnect) return `Fault rule ${rule} closed the connection at ${COMMANDS[point]}${delay}.`;
  return `Fault rule ${rule} delayed the reply to ${COMMANDS[point]} by ${duration(delayMs)}.`;
}

function nearMissSentence({ address, outcome, inboxId, times }: NearMiss, { sinkId }: SummaryFacts): string {
  const mail = `Mail for the similar address ${quoted(address)}`;
  if (outcome === 'refused') return `${mail} was refused${timesOf(times)}.`;
  const isSink = inboxId === null || inboxId === sinkId;
  return `${mail} went to ${isSink ? 'the sink, because no inbox has that address' : 'another inbox'}.`;
}

function otherMailSentence(
  [first, ...others]: readonly OtherMail[],
  { inbox, sinkId }: SummaryFacts,
): string {
  if (!first) return '';
  const { address, at, reason, inboxId } = first;
  if (reason === 'refused') return `Mail for another address was refused meanwhile: ${quoted(address)}.`;
  if (reason === 'meets-conditions') {
    const more = others.length === 0 ? '' : `, and ${others.length} more elsewhere`;
    const place = inboxId === sinkId ? 'in the sink' : 'in another inbox of this account';
    return `Mail that meets all conditions arrived for ${quoted(address)}, ${place}${more}.`;
  }
  if (inboxId !== sinkId) {
    return `Mail for this address was stored in the inbox ${quoted(inboxId ?? '')}: its sender had authenticated for that one.`;
  }
  const early = inbox.createdAt - at;
  const time = early > 0 ? `${duration(early)} before this inbox was created, and` : 'and';
  return `Mail for this address arrived ${time} went to the sink.`;
}

/** Whether a sender that was told to try again has not done so: nothing arrived, and nothing was refused later. */
const isUnrepeated = (
  { reply }: Refusal,
  { seenCount }: Unsummarised,
  { matched, inbox }: SummaryFacts,
): boolean =>
  reply.startsWith('4') && seenCount + matched.length === 0 && inbox.messageCount === inbox.receivedCount;

/** Mail that did not reach the inbox. */
function elsewhere(explanation: Unsummarised, facts: SummaryFacts): string {
  const { refused, nearMisses, failedHandshakes, otherMail } = explanation;
  const [refusal] = refused;
  const [miss] = nearMisses;
  // Where messages arrived, mail such as this in other inboxes is most likely that of other tests.
  const isElsewhere = explanation.seenCount === 0;
  const found = sentences(
    refusal
      ? refusalSentence(refusal, refused.filter(({ reply }) => reply === refusal.reply).length, facts)
      : '',
    refusal && isUnrepeated(refusal, explanation, facts) ? 'Its sender has not tried again yet.' : '',
    miss ? nearMissSentence(miss, facts) : '',
    isElsewhere ? otherMailSentence(otherMail, facts) : '',
  );
  const [failure] = failedHandshakes;
  if (!failure || found !== '') return found;
  return `A TLS handshake with the SMTP server failed: ${quoted(failure.reason)}.`;
}
