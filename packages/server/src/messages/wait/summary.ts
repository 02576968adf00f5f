import type { FailedCondition, Filters } from '../../mail/matching/filters.ts';
import { quoted } from '../../nearest.ts';
import type { FaultPoint, MessageRecord, Refusal } from '../../store/contract/index.ts';
import { NO_RECIPIENT } from '../../store/contract/messages.ts';
import type { Expectation, Explanation } from './outcome.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** What a summary is made from, beside the explanation. */
export interface SummaryFacts {
  expectation: Pick<Expectation, 'match' | 'count' | 'since'>;
  /** The time of the wait's `since`, epoch ms. */
  from: number;
  /** Whether all messages were checked. */
  isComplete: boolean;
  /** The conditions that none of the messages meets that did not match. */
  commonFailed: readonly FailedCondition[];
  /** The messages that matched. */
  matched: readonly MessageRecord[];
  /** The newest message that matches but arrived before `since`. */
  earlier: MessageRecord | undefined;
}

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;
const subjectOf = ({ summary }: MessageRecord): string =>
  summary.subject === '' ? 'a message without a subject' : quoted(summary.subject);

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
  return [arrived(explanation, facts), elsewhere(explanation)].join(' ').trim();
}

/** Why a wait was in vain, in one to five sentences. Only what the explanation shows is named. */
export function summaryOf(explanation: Unsummarised, facts: SummaryFacts): string {
  if (explanation.reason === 'server_stopping') {
    return 'The server is stopping. Repeat the wait with the cursor as since.';
  }
  if (explanation.reason === 'unexpected_message') {
    const [first] = facts.matched;
    return `A message arrived although none was expected: ${first ? subjectOf(first) : 'it was deleted'}.`;
  }
  const sentences = [
    arrived(explanation, facts),
    facts.isComplete ? '' : 'Not all messages could be checked in time: continue with the cursor as since.',
    closest(explanation, facts),
    elsewhere(explanation),
  ];
  return sentences.filter((sentence) => sentence !== '').join(' ');
}

function arrived({ seenCount }: Unsummarised, facts: SummaryFacts): string {
  const { expectation, matched, commonFailed } = facts;
  if (matched.length > 0) {
    const others =
      seenCount === 0 ? '' : `; ${counted(seenCount, 'other message')} arrived and did not match`;
    return `${matched.length} of ${counted(expectation.count, 'message')} arrived${others}.`;
  }
  if (seenCount === 0) {
    return expectation.since === undefined
      ? 'No message arrived.'
      : "No message arrived after this wait's since.";
  }
  const [common] = commonFailed;
  const demand = common ? demandOf(common) : 'meets all conditions';
  return `${counted(seenCount, 'message')} arrived; none ${demand}.`;
}

function closest({ seen }: Unsummarised, { earlier, from, expectation }: SummaryFacts): string {
  if (earlier) {
    const before = from - earlier.receivedAt;
    const time = before <= 0 ? "at this wait's since" : `${duration(before)} before this wait's since`;
    return `Closest: ${subjectOf(earlier)} arrived ${time}.`;
  }
  const [best] = seen.toSorted((a, b) => a.failed.length - b.failed.length);
  if (!best || Object.keys(expectation.match).length < 2) return '';
  const [failed] = best.failed;
  if (!failed || best.failed.length > 1) return '';
  return `Closest: ${subjectOf(best.message)} meets all conditions but "${failed.condition}".`;
}

const COMMANDS: Record<FaultPoint, string> = {
  rcpt: 'RCPT',
  data: 'DATA',
  'end-of-data': 'the end of the message',
};

/** A refusal for this address, by the fault rule that caused it where one did. */
function refusalSentence({ address, reply, fault }: Refusal): string {
  if (!fault) {
    const whose = address === NO_RECIPIENT ? 'that named no recipient yet' : 'for this address';
    return `Mail ${whose} was refused: ${quoted(reply)}.`;
  }
  const { rule, at, delayMs, disconnect } = fault;
  const delay = delayMs === 0 ? '' : ` after ${duration(delayMs)}`;
  if (reply !== '') return `Fault rule ${rule} answered ${COMMANDS[at]} with ${quoted(reply)}${delay}.`;
  if (disconnect) return `Fault rule ${rule} closed the connection at ${COMMANDS[at]}${delay}.`;
  return `Fault rule ${rule} delayed the reply to ${COMMANDS[at]} by ${duration(delayMs)}.`;
}

/** Mail that did not reach the inbox. */
function elsewhere({ refused, nearMisses, failedHandshakes }: Unsummarised): string {
  const sentences: string[] = [];
  const [refusal] = refused;
  if (refusal) sentences.push(refusalSentence(refusal));
  const [miss] = nearMisses;
  if (miss) {
    const outcome = miss.outcome === 'refused' ? 'was refused' : 'went to another inbox';
    sentences.push(`Mail for the similar address ${quoted(miss.address)} ${outcome}.`);
  }
  const [failure] = failedHandshakes;
  if (failure && sentences.length === 0) {
    sentences.push(`A TLS handshake with the SMTP server failed: ${quoted(failure.reason)}.`);
  }
  return sentences.join(' ');
}
