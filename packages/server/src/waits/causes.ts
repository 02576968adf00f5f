import type { AppliedFault, WaitCause } from '@mayfly/client/contract';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../clock.ts';
import type { InboxRecord } from '../inboxes/records.ts';
import type { FailedCondition, Filters } from '../mail/matching/filters.ts';
import { differenceOf } from '../mail/matching/similar-addresses.ts';
import type { CheckedMessage, MessageRecord } from '../messages/records.ts';
import { type FaultPoint, NO_RECIPIENT, type Refusal } from '../refusals/sql.ts';
import { quoted } from '../text/nearest.ts';
import { closestHint, closestSentence, counted, impossibleCondition, subjectOf } from './closest.ts';
import type { NearMiss, OtherMail, Surroundings } from './evidence.ts';
import type { Cause, Expectation } from './outcome.ts';

const MAX_NAMED = 4;

const CERTAINTIES: readonly WaitCause['certainty'][] = ['certain', 'likely', 'possible'];

/** Input of {@link causesOf}. Times are epoch milliseconds. */
export interface Facts {
  expectation: Expectation;
  from: number;
  begun: number;
  now: number;
  inbox: InboxRecord;
  seenCount: number;
  commonFailed: readonly FailedCondition[];
  closest: CheckedMessage | undefined;
  matched: readonly MessageRecord[];
  isComplete: boolean;
  /** The newest message that matches but arrived before `since`. */
  earlier: MessageRecord | undefined;
  evidence: Surroundings;
}

const sentences = (...all: string[]): string => all.filter((sentence) => sentence !== '').join(' ');
const timesOf = (count: number): string => (count > 1 ? ` ${count} times` : '');

function duration(ms: number): string {
  if (ms < SECOND_MS / 10) return `${ms} ms`;
  if (ms < 2 * MINUTE_MS) return `${Math.round(ms / (SECOND_MS / 10)) / 10} s`;
  if (ms < 2 * HOUR_MS) return `${Math.round(ms / MINUTE_MS)} min`;
  return `${Math.round(ms / HOUR_MS)} h`;
}

const before = (at: number, { begun }: Facts, otherwise = ''): string =>
  at < begun ? ` ${duration(begun - at)} before this wait` : otherwise;

const causeOf =
  (certainty: Cause['certainty']) =>
  (code: Cause['code'], text: string, plain = text): Cause => ({ code, certainty, text, plain });
const [certain, likely, possible] = [causeOf('certain'), causeOf('likely'), causeOf('possible')];

export function causesOf(facts: Facts): Cause[] {
  const { expectation, matched, seenCount } = facts;
  const [first] = matched;
  if (expectation.count === 0 && first) return [unexpected(first)];
  if (!facts.isComplete) return [certain('not_checked', UNCHECKED)];
  const own = [
    ...[cut, sinceCauses, refusals, sameRecipient, impossible],
    ...[similarAddress, unmatched, deleted, scheduled],
  ].flatMap((find) => find(facts));
  const explaining = own.filter(({ code }) => code !== 'cut_short');
  const isExplained = explaining.some(({ certainty }) => certainty === 'certain');
  const handshakes = matched.length + seenCount > 0 || isExplained ? [] : handshake(facts);
  const guessed = explaining.length + handshakes.length > 0 ? [] : guesses(facts);
  const all = [...own, ...handshakes, ...guessed];
  return all.toSorted((a, b) => CERTAINTIES.indexOf(a.certainty) - CERTAINTIES.indexOf(b.certainty));
}

export function summaryOf(causes: readonly Cause[], facts: Facts, name: 'text' | 'plain'): string {
  const isEmptied = facts.inbox.messageCount === 0;
  const lead = causes.find(
    ({ code }) =>
      ['not_matching', 'too_few', 'unexpected_message'].includes(code) || (code === 'deleted' && isEmptied),
  );
  const others = causes.filter((cause) => cause !== lead).slice(0, MAX_NAMED);
  return sentences(lead ? lead[name] : nothingArrived(facts), ...others.map((cause) => cause[name]));
}

const lengthOf = ({ expectation: { waitMs, waitedMs } }: Facts): number => waitMs + waitedMs;

function nothingArrived(facts: Facts): string {
  const length = lengthOf(facts);
  const since = facts.expectation.since === undefined ? '' : " after this wait's since";
  return length === 0
    ? `No message has arrived${since} so far: this wait checked once, without waiting.`
    : `No message arrived${since} in ${duration(length)}.`;
}

const UNCHECKED = 'Not all messages could be checked in time: continue with the cursor as since.';

function unexpected(message: MessageRecord): Cause {
  const text = 'A message arrived although none was expected';
  return certain('unexpected_message', `${text}: ${subjectOf(message)}.`, `${text}.`);
}

function cut(facts: Facts): Cause[] {
  const { askedMs = 0 } = facts.expectation;
  const length = lengthOf(facts);
  const text = `The time limit of the test cut this wait from ${duration(askedMs)} to ${duration(length)}.`;
  return askedMs > length ? [certain('cut_short', text)] : [];
}

/** Explains a `since` in the future (a wrong clock or unit), or a matching message that arrived before it. */
function sinceCauses({ from, now, earlier }: Facts): Cause[] {
  if (from > now) {
    const ahead = `This wait's since is ${duration(from - now)} in the future: pass a cursor rather than a time of another clock.`;
    return [certain('since_in_future', ahead)];
  }
  if (!earlier) return [];
  const age = from - earlier.receivedAt;
  const time =
    age > 0
      ? `arrived ${duration(age)} before this wait's since`
      : "arrived directly before this wait's since, which is the position after that message";
  const make = age > 0 ? certain : likely;
  const text = `${subjectOf(earlier).replace(/^a/, 'A')} matches, but ${time}.`;
  return [make('before_since', text, `A message that matches ${time}.`)];
}

const COMMANDS: Record<FaultPoint, string> = {
  rcpt: 'RCPT',
  data: 'DATA',
  'end-of-data': 'the end of the message',
  api: 'its request to a provider',
};

const REPLIES: readonly (readonly [begin: string, code: Cause['code'], why: string, advice: string])[] = [
  [
    ...(['452 4.2.2 ', 'inbox_full', 'the inbox is full'] as const),
    'Delete messages of it, or raise "maxMessagesPerInbox" of the plan.',
  ],
  [
    ...(['452 4.5.3 ', 'too_many_recipients', 'its message has too many recipients'] as const),
    'Send it to fewer at a time.',
  ],
  [
    ...(['552 5.3.4 ', 'too_large', 'the message is too large'] as const),
    'Send a smaller one, or raise "maxMessageBytes" of the plan.',
  ],
  [
    ...(['550 5.6.11 ', 'malformed', 'a line of it ends with CR or LF alone'] as const),
    'Its sender must end each line with CRLF.',
  ],
];

function refusals(facts: Facts): Cause[] {
  const groups = Map.groupBy(facts.evidence.refused, ({ reply, fault }) => `${reply} ${fault?.rule}`);
  return [...groups.values()].flatMap(([newest, ...more]) => {
    if (!newest) return [];
    const [code, text] = refusal(newest, more.length + 1, facts);
    const isLast = newest === facts.evidence.refused[0] && facts.inbox.lastReceivedAt < newest.at;
    const isDeferred = isLast && newest.reply.startsWith('4');
    const make = newest.address === NO_RECIPIENT ? possible : certain;
    return [make(code, sentences(text, isDeferred ? 'Its sender has not tried again yet.' : ''))];
  });
}

const throughOf = ({ via }: Refusal): string =>
  via === undefined ? '' : ` that came through the interface of ${via}`;

function refusal(one: Refusal, count: number, facts: Facts): readonly [Cause['code'], string] {
  const { address, at, reply, fault, hadBegun = false } = one;
  if (fault) return ['fault_rule', faultSentence(fault, reply, count)];
  const time = before(at, facts);
  const isUnnamed = address === NO_RECIPIENT;
  if (reply.startsWith('535 ')) {
    const who = `for ${isUnnamed ? 'an inbox by its id' : 'this inbox'}${time}`;
    return [
      'auth_failed',
      `A sender failed to authenticate ${who} (535): its user name or password is wrong.`,
    ];
  }
  if (reply === '') {
    const where = hadBegun ? 'in the middle of the message' : 'before DATA, without a message';
    return ['sender_left', `A sender named ${address}, and its connection ended ${where}${time}.`];
  }
  const refused = `${throughOf(one)} was refused${timesOf(count)}`;
  const age = facts.inbox.createdAt - at;
  if (reply.startsWith('550 5.1.1') && age >= 0) {
    const text = `Mail for ${address}${refused}, ${duration(age)} before this inbox was created: create the inbox first.`;
    return ['before_creation', text];
  }
  const [, code = 'refused', why, advice = ''] = REPLIES.find(([begin]) => reply.startsWith(begin)) ?? [];
  const whose = isUnnamed ? 'that named no recipient yet' : `for ${address}`;
  const reason = why === undefined ? quoted(reply) : `${why} (${quoted(reply)})`;
  return [code, sentences(`Mail ${whose}${refused}${time}: ${reason}.`, advice)];
}

function faultSentence(fault: AppliedFault, reply: string, count: number): string {
  const { rule, at: point, delayMs, disconnect } = fault;
  const delay = delayMs === 0 ? '' : ` after ${duration(delayMs)}`;
  if (reply !== '')
    return `Fault rule ${rule} answered ${COMMANDS[point]}${timesOf(count)} with ${quoted(reply)}${delay}.`;
  if (disconnect) return `Fault rule ${rule} closed the connection at ${COMMANDS[point]}${delay}.`;
  return `Fault rule ${rule} delayed the reply to ${COMMANDS[point]} by ${duration(delayMs)}.`;
}

const takerOf = (inboxId: string | null, { evidence, inbox }: Facts): string =>
  inboxId !== null && inboxId === evidence.catchAllId ? `The catch-all inbox of ${inbox.domain}` : 'The sink';

function sameRecipient(facts: Facts): Cause[] {
  const { otherMail, sinkId, catchAllId, inboxes } = facts.evidence;
  const mail = otherMail.find(({ reason }) => reason === 'same-recipient');
  if (!mail) return [];
  const { address, at, inboxId } = mail;
  if (inboxId === sinkId || inboxId === catchAllId) {
    const age = duration(facts.inbox.createdAt - at);
    const text = `${takerOf(inboxId, facts)} received mail for ${address} ${age} before this inbox was created: create the inbox first.`;
    return [certain('before_creation', text)];
  }
  const other = inboxes.get(inboxId ?? '')?.address ?? inboxId;
  const text = `Mail for ${address} is in the inbox ${other}${before(at, facts)}, because its sender had authenticated for that one.`;
  return [certain('captured_elsewhere', text)];
}

function impossible({ expectation }: Facts): Cause[] {
  const text = impossibleCondition(expectation.match);
  return text === '' ? [] : [likely('impossible_condition', text)];
}

function whereTo({ address, at, inboxId }: OtherMail | NearMiss, isRefused: boolean, facts: Facts) {
  const { now, evidence } = facts;
  const time = before(at, facts, ' meanwhile');
  if (!isRefused)
    return `${takerOf(inboxId, facts)} received mail for ${address}${time}, because no other inbox has that address`;
  const former = evidence.inboxes.get(address);
  const why =
    former && former.expiresAt <= now
      ? `its inbox expired ${duration(now - former.expiresAt)} ago`
      : 'no inbox had that address';
  return `Mail for ${address} was refused${time}, because ${why}`;
}

function similarAddress(facts: Facts): Cause[] {
  const { inbox, evidence } = facts;
  const isCatchAll = inbox.kind === 'catch-all';
  const wanted = isCatchAll ? `@${inbox.domain}` : inbox.address;
  const difference = ({ address }: NearMiss): number =>
    differenceOf(isCatchAll ? address.slice(address.lastIndexOf('@')) : address, wanted);
  const [miss] = evidence.nearMisses.toSorted((a, b) => difference(a) - difference(b));
  if (!miss) return [];
  const isOtherDomain = miss.address.startsWith(wanted.slice(0, wanted.lastIndexOf('@') + 1)) && !isCatchAll;
  const guess = isOtherDomain ? 'the inbox is' : 'it is probably a typing error of';
  const where = whereTo(miss, miss.outcome === 'refused', facts);
  return [likely('similar_address', `${where}: ${guess} ${wanted}.`)];
}

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

function unmatched({ matched, seenCount, commonFailed, closest, expectation }: Facts): Cause[] {
  const { count, match } = expectation;
  const like = closest
    ? sentences(closestSentence(closest, match, seenCount === 1), closestHint(closest))
    : '';
  if (matched.length > 0) {
    const others =
      seenCount === 0 ? '' : `; ${counted(seenCount, 'other message')} arrived and did not match`;
    const plain = `${matched.length} of ${counted(count, 'message')} arrived${others}.`;
    return [likely('too_few', sentences(plain, like), plain)];
  }
  if (seenCount === 0) return [];
  const [common] = commonFailed;
  const demand = common ? DEMANDS[common.condition](common.expected) : 'meets all conditions';
  const plain = `${counted(seenCount, 'message')} arrived; none ${demand}.`;
  return [likely('not_matching', sentences(plain, like), plain)];
}

/** Explains that messages were deleted. Not for a sink, whose oldest messages the server itself deletes. */
function deleted({ inbox, from, matched }: Facts): Cause[] {
  const { kind, messageCount, receivedCount, lastReceivedAt } = inbox;
  const count = receivedCount - messageCount;
  if (count <= 0 || kind === 'sink' || lastReceivedAt <= from || matched.length > 0) return [];
  const all = count === 1 ? 'The only message' : `All ${count} messages`;
  const which =
    messageCount > 0 ? `${counted(count, 'message')} of this inbox` : `${all} that this inbox has received`;
  return [likely('deleted', `${which} ${count === 1 ? 'was' : 'were'} deleted.`)];
}

function scheduled({ evidence: { held }, now }: Facts): Cause[] {
  if (held.firstAt === null) return [];
  const areHeld = held.count === 1 ? 'is held until its' : 'are held until their';
  const text = `${counted(held.count, 'scheduled message')} for this inbox ${areHeld} time, the first for ${duration(Math.max(0, held.firstAt - now))}: release it with POST /v1/inboxes/{id}/advance, as inbox.advance("3d") of the clients does.`;
  return [certain('scheduled', text)];
}

/** The cause is only `possible`, because a TLS handshake names no recipient. */
function handshake({ evidence: { failedHandshakes } }: Facts): Cause[] {
  const failures = failedHandshakes.filter(({ hasRecovered }) => !hasRecovered);
  const [newest] = failures;
  if (!newest) return [];
  const { reason, remoteAddress } = newest;
  const failed =
    failures.length === 1
      ? `A TLS handshake with ${remoteAddress} failed meanwhile`
      : `TLS handshakes failed meanwhile, the last with ${remoteAddress}`;
  const isClosed = reason.startsWith('The client closed');
  const hint = isClosed ? ', as clients do that do not trust the certificate' : '';
  const text = `${failed}: ${quoted(reason)}${hint}. It may be the sender of this mail, which had named no recipient yet.`;
  return [possible('tls_failed', text)];
}

function guesses(facts: Facts): Cause[] {
  const { leaver, lastClientAt, clientsAfter, otherMail } = facts.evidence;
  const other = otherMail.find(({ reason }) => reason !== 'same-recipient');
  if (other) {
    const where = whereTo(other, other.reason === 'refused', facts);
    return [possible('other_recipient', `${where}: it may be the mail that this wait is for.`)];
  }
  if (leaver) {
    const { remoteAddress, helo } = leaver;
    const text = `A client from ${remoteAddress} (${quoted(helo)}) connected and left without naming a recipient.`;
    return [possible('left_without_recipient', text)];
  }
  const advice = 'check that the application has sent the mail, to this address and to this SMTP server.';
  const quietSince = lengthOf(facts) === 0 ? clientsAfter : facts.begun;
  if (lastClientAt !== undefined && (lastClientAt ?? 0) < quietSince) {
    const last = lastClientAt === null ? '' : ` (the last one ${duration(facts.now - lastClientAt)} ago)`;
    const text = `No client connected to the SMTP server in that time${last}: ${advice}`;
    return [certain('nothing_connected', text)];
  }
  return [certain('nothing_arrived', `No mail for ${facts.inbox.address} was refused either: ${advice}`)];
}
