import type { api, Milliseconds } from '@mayfly/client';
import type { SavedRun } from './saved-run.ts';

/** A difference between two test runs, with its probable cause. */
export interface Change {
  cause: string;
  text: string;
}

/** The inboxes that one test created in one run. */
interface Group {
  name: string;
  inboxes: api.ReportedInbox[];
}

/** A first mail counts as slower if it took at least twice the time and this much more. */
const MIN_SLOWER: Milliseconds = 300;
/** If this share of the tests is slower, the cause is the whole mail system and not one test. */
const QUEUE_SHARE = 0.5;
const MIN_TESTS = 3;

/** Short names of the server's wait causes, in the words of a search for flaky tests. */
const CAUSES: Partial<Record<api.WaitCause['code'], string>> = {
  before_since: 'wrong since',
  since_in_future: 'clock',
  tls_failed: 'TLS failure',
  not_matching: 'other words or language',
  similar_address: 'wrong address',
  captured_elsewhere: 'shared address',
  before_creation: 'inbox too late',
  nothing_connected: 'nothing was sent',
};

const groupName = ({ labels, address }: api.ReportedInbox) =>
  [
    labels.project,
    labels.file,
    labels.title ?? labels.test ?? (labels.file ? '' : address.replace(/.*@/, '@')),
  ]
    .filter(Boolean)
    .join(' › ');

function groupsOf({ report }: SavedRun): Map<string, Group> {
  const groups = new Map<string, Group>();
  for (const inbox of report.inboxes) {
    const name = groupName(inbox);
    const group = groups.get(name) ?? { name, inboxes: [] };
    group.inboxes.push(inbox);
    groups.set(name, group);
  }
  return groups;
}

function median(values: number[]): number | undefined {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}
const firstMail = ({ inboxes }: Group) =>
  median(inboxes.flatMap(({ firstMessageAfterMs }) => firstMessageAfterMs ?? []));
const mailsOf = ({ inboxes }: Group) => inboxes.reduce((sum, { messageCount }) => sum + messageCount, 0);
const perInbox = (group: Group) => mailsOf(group) / group.inboxes.length;
const seconds = (ms: Milliseconds) => `${(ms / 1000).toFixed(1)} s`;

/** The temporary SMTP rejection that delayed mail to a group, if any. */
function deferral({ inboxes }: Group, { refusals }: SavedRun): string | undefined {
  const addresses = new Set(inboxes.map(({ address }) => address));
  return refusals.find(({ address, reply }) => addresses.has(address) && reply.startsWith('4'))?.reply;
}

const deferred = (reply: string): string =>
  /gr[ea]y.?list/i.test(reply) ? 'greylisting' : `retry after ${reply.slice(0, 3)}`;

/** Groups whose first mail took longer. */
function slower(groups: Array<[before: Group, now: Group]>, run: SavedRun): Change[] {
  const late = groups.flatMap(([before, now]) => {
    const [then, after] = [firstMail(before), firstMail(now)];
    if (then === undefined || after === undefined || after < 2 * then || after - then < MIN_SLOWER) return [];
    const text = `${now.name}: the first mail came after ${seconds(after)}, ${seconds(then)} before.`;
    return [{ text, reply: deferral(now, run) }];
  });
  const isQueue = groups.length >= MIN_TESTS && late.length >= groups.length * QUEUE_SHARE;
  return late.map(({ text, reply }) => {
    if (reply !== undefined)
      return { cause: deferred(reply), text: `${text} The server had replied "${reply}".` };
    if (!isQueue) return { cause: 'slow sender', text };
    return { cause: 'queue', text: `${text} So it is with ${late.length} of ${groups.length} tests.` };
  });
}

/** Groups that received another number of mails. */
function counts([before, now]: [Group, Group], { repeated }: SavedRun): Change[] {
  const [then, after] = [perInbox(before), perInbox(now)];
  // A failed wait is already reported, with more detail.
  const hasFailed = now.inboxes.some(({ waits }) => waits.failed > 0);
  if (hasFailed || after === then || now.inboxes.length !== before.inboxes.length) return [];
  const text = `${now.name}: ${mailsOf(now)} mails, ${mailsOf(before)} before.`;
  if (after < then) return [{ cause: 'mail is missing', text }];
  const known = now.inboxes.filter(({ id }) => repeated[id] !== undefined);
  const twice = known.reduce((sum, { id }) => sum + (repeated[id] ?? 0), 0);
  if (twice > 0) return [{ cause: 'duplicate send', text: `${text} ${twice} say the same as another one.` }];
  const cause = known.length > 0 ? 'shared address' : 'duplicate send or shared address';
  return [{ cause, text: `${text}${known.length > 0 ? ' They say different things.' : ''}` }];
}

/** Failed waits of a group that had none before. */
function failures(before: Group | undefined, now: Group, run: SavedRun): Change[] {
  if (before?.inboxes.some(({ waits }) => waits.failed > 0)) return [];
  return now.inboxes.flatMap(({ waits, firstMessageAt }) =>
    waits.failures.map(({ waitId, endedAt, waitedMs, summary }) => {
      const [cause] = (run.causes[waitId] ?? []).filter(({ code }) => code !== 'cut_short');
      const reply = deferral(now, run);
      const more = firstMessageAt === null ? 0 : Date.parse(firstMessageAt) - Date.parse(endedAt);
      const advice =
        more > 0 ? ` A mail came ${seconds(more)} later: with so much more time it may have passed.` : '';
      const text = `${now.name}: a wait of ${seconds(waitedMs)} failed. ${cause?.text ?? summary}${advice}`;
      const isRefused = cause && ['fault_rule', 'refused'].includes(cause.code);
      if (isRefused && reply !== undefined) return { cause: deferred(reply), text };
      if (more > 0) return { cause: 'slow sender', text };
      return {
        cause: (cause && CAUSES[cause.code]) ?? cause?.code.replaceAll('_', ' ') ?? 'failed wait',
        text,
      };
    }),
  );
}

/** The differences of a run from an earlier one. */
export function compareRuns(before: SavedRun, now: SavedRun): Change[] {
  const [old, current] = [groupsOf(before), groupsOf(now)];
  const both = [...current].flatMap(([name, group]): Array<[Group, Group]> => {
    const known = old.get(name);
    return known ? [[known, group]] : [];
  });
  return [
    ...[...current].flatMap(([name, group]) => failures(old.get(name), group, now)),
    ...slower(both, now),
    ...both.flatMap((pair) => counts(pair, now)),
    ...[...old.keys()]
      .filter((name) => !current.has(name))
      .map((name) => ({ cause: 'not run', text: `${name}: has no inbox in this run.` })),
  ];
}

/** For the summary pages of CI systems. Test names may contain Markdown characters. */
export function toMarkdown(changes: Change[], before: SavedRun): string {
  const escaped = (text: string) => text.replace(/[\\`*_<>|[\]]/g, '\\$&').replace(/\s+/g, ' ');
  const lines = changes.map(({ cause, text }) => `- **${escaped(cause)}**: ${escaped(text)}`);
  const head = `### Mail of this run\n\nCompared with the run of ${before.savedAt}: `;
  return changes.length === 0 ? `${head}nothing changed.\n` : `${head}\n\n${lines.join('\n')}\n`;
}

/** A JUnit report with the changes as properties. */
export function toJunit(changes: Change[]): string {
  const escaped = (text: string) =>
    text.replace(/[&<>"']|\p{Cc}/gu, (sign) => (/\p{Cc}/u.test(sign) ? ' ' : `&#${sign.charCodeAt(0)};`));
  const text = changes.map((change) => `${change.cause}: ${change.text}`).join(' | ') || 'nothing changed';
  return `<?xml version="1.0" encoding="UTF-8"?>
<testsuites><testsuite name="mail" tests="0" failures="0"><properties><property name="mayfly.changes" value="${escaped(text)}"/></properties></testsuite></testsuites>
`;
}
