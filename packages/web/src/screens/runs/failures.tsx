import type { api } from '@mayfly/client';
import { count } from '../../lib/format.ts';
import { href } from '../../lib/router.ts';
import { exact } from '../../lib/time.ts';
import { paramsOf } from '../why/wait.ts';
import { labelParams } from './report.ts';

const SECOND_MS = 1_000;

/** 12:03:07 */
const clock = (time: string): string => time.slice(11, 19);
const wanted = ({ count: messages }: api.ReportedWait): string =>
  messages === 0 ? 'no message' : messages === 1 ? 'a message' : `${messages} messages`;

/** The address of the screen that shows what a wait has explained. */
const whyHref = (inbox: api.ReportedInbox, { waitId, match, count: messages }: api.ReportedWait): string =>
  href(`/inboxes/${inbox.id}/why`, {
    ...paramsOf(match, { count: messages }),
    ...labelParams(inbox.labels),
    wait: waitId,
  });

const Failure = ({ inbox, wait }: { inbox: api.ReportedInbox; wait: api.ReportedWait }) => (
  <li>
    <span class="small muted" title={exact(wait.endedAt)}>
      {clock(wait.endedAt)} UTC, after {(wait.waitedMs / SECOND_MS).toFixed(1)} s
    </span>
    <div>
      Waited for {wanted(wait)}
      {Object.entries(wait.match).map(([name, value]) => (
        <span key={name}>
          {' '}
          · {name} <code dir="auto">{value}</code>
        </span>
      ))}
    </div>
    <b>{wait.summary}</b>{' '}
    <a href={whyHref(inbox, wait)}>
      {inbox.state === 'live' ? 'Explain with the messages' : 'The whole explanation'}
    </a>
  </li>
);

/** Lists or streams that never had a message; '' where none ended so. */
function heldInVain(one: string, several: string, { empty, withMessages }: api.HeldCounts): string {
  if (empty === 0 || withMessages > 0) return '';
  return `${empty === 1 ? one : `${count(empty)} ${several}`} ended without a message.`;
}

function refusalText({ count: refused, last }: api.ReportedInbox['refusals']): string {
  if (last === null) return '';
  const mails = refused === 1 ? 'A mail was' : `${count(refused)} mails were`;
  return last.reply === ''
    ? `${mails} not received: the connection ended in the middle.`
    : `${mails} refused, the last one at ${clock(last.at)} UTC with “${last.reply}”.`;
}

/** What was wrong that has no explanation of its own. */
const notes = ({ waits, refusals }: api.ReportedInbox): string[] =>
  [
    heldInVain('A list that waited', 'lists that waited', waits.lists),
    heldInVain('A stream', 'streams', waits.streams),
    refusalText(refusals),
  ].filter((note) => note !== '');

/** True where something was wrong with the mail of the inbox. */
export const hasProblem = (inbox: api.ReportedInbox): boolean =>
  inbox.waits.failed > 0 || notes(inbox).length > 0;

/** The waits of an inbox that failed, and what else was wrong. */
export function Failures({ inbox }: { inbox: api.ReportedInbox }) {
  const { failed, failures } = inbox.waits;
  return (
    <ul class="seen-failed">
      {failures.map((wait) => (
        <Failure key={wait.endedAt} inbox={inbox} wait={wait} />
      ))}
      {failed > failures.length && (
        <li class="muted">{count(failed - failures.length)} more waits failed.</li>
      )}
      {notes(inbox).map((note) => (
        <li key={note}>{note}</li>
      ))}
    </ul>
  );
}
