import type { api } from '@mayfly/client';
import type { ComponentChildren } from 'preact';
import { copy } from '../../lib/actions.ts';
import { person } from '../../lib/format.ts';
import { href, navigate, setQuery } from '../../lib/router.ts';
import { Ago, Button } from '../../ui/basics.tsx';
import { Icon, type IconName } from '../../ui/icons.tsx';
import { Letters } from './letters.tsx';

/** A kind of what a wait has seen; each has a section and dots on the time axis. */
export type Evidence = 'seen' | 'refused' | 'nearMisses' | 'otherMail' | 'failedHandshakes';

interface Verb {
  icon: IconName;
  label: string;
  run: () => void;
}

interface Case {
  inbox: Pick<api.Inbox, 'id' | 'address'>;
  explanation: api.WaitExplanation;
  nearest: api.NearMiss | undefined;
  /** Opens the form of the conditions; undefined where nothing can be looked for any more. */
  edit: (() => void) | undefined;
}

const connectVerb = (): Verb => ({
  icon: 'plug',
  label: 'Compare the SMTP settings',
  run: () => navigate(href('/connect')),
});
const addressVerb = ({ inbox }: Case): Verb => ({
  icon: 'copy',
  label: 'Copy the right address',
  run: () => void copy(inbox.address, 'the address'),
});
const sinceVerb = (): Verb => ({
  icon: 'refresh',
  label: 'Look without since',
  run: () => setQuery({ since: null, wait: null }),
});
const editVerb = ({ edit }: Case): Verb | undefined =>
  edit && { icon: 'search', label: 'Change the conditions', run: edit };
const inboxVerb = ({ inbox }: Case): Verb => ({
  icon: 'inbox',
  label: 'Open the inbox',
  run: () => navigate(href(`/inboxes/${inbox.id}`)),
});
function mailVerb({ inbox, explanation }: Case): Verb | undefined {
  const nearest = explanation.seen.toSorted((a, b) => a.failed.length - b.failed.length)[0];
  return (
    nearest && {
      icon: 'inbox',
      label: 'Open the mail',
      run: () => navigate(href(`/inboxes/${inbox.id}/messages/${nearest.message.id}`)),
    }
  );
}
function otherVerb(given: Case): Verb | undefined {
  const id = given.explanation.otherMail.find(({ inboxId }) => inboxId !== null)?.inboxId;
  return id
    ? { icon: 'inbox', label: 'Open the inbox that has it', run: () => navigate(href(`/inboxes/${id}`)) }
    : addressVerb(given);
}

/** What to do next, and which evidence a cause is made from. */
const CAUSES: Partial<
  Record<api.WaitCause['code'], { verb: (given: Case) => Verb | undefined; from?: Evidence }>
> = {
  unexpected_message: { verb: mailVerb, from: 'seen' },
  since_in_future: { verb: sinceVerb },
  before_since: { verb: sinceVerb },
  inbox_full: { verb: inboxVerb, from: 'refused' },
  too_large: { verb: inboxVerb, from: 'refused' },
  malformed: { verb: inboxVerb, from: 'refused' },
  too_many_recipients: { verb: inboxVerb, from: 'refused' },
  auth_failed: { verb: connectVerb, from: 'refused' },
  fault_rule: { verb: inboxVerb, from: 'refused' },
  sender_left: { verb: inboxVerb, from: 'refused' },
  refused: { verb: addressVerb, from: 'refused' },
  before_creation: { verb: otherVerb, from: 'refused' },
  captured_elsewhere: { verb: otherVerb, from: 'otherMail' },
  other_recipient: { verb: otherVerb, from: 'otherMail' },
  similar_address: { verb: addressVerb, from: 'nearMisses' },
  impossible_condition: { verb: editVerb },
  too_few: { verb: (given) => mailVerb(given) ?? inboxVerb(given), from: 'seen' },
  not_matching: { verb: mailVerb, from: 'seen' },
  deleted: { verb: inboxVerb },
  tls_failed: { verb: connectVerb, from: 'failedHandshakes' },
  left_without_recipient: { verb: connectVerb },
  nothing_connected: { verb: connectVerb },
  nothing_arrived: { verb: connectVerb },
};

/** The end of a first sentence, or of what stands before an advice; a quoted subject may hold one too. */
const SENTENCE = /(?:[.!?](?= (?:"|[A-Z]))|:(?= [a-z]))(?=(?:[^"]*"[^"]*")*[^"]*$)/;

/** As {@link SENTENCE}, for a refusal: what follows its colon is the reason. */
const WITH_REASON = /[.!?](?= [A-Z])(?=(?:[^"]*"[^"]*")*[^"]*$)/;

/** The first sentence of a text, and the rest. */
function split(text: string, sentence = SENTENCE): [string, string] {
  const end = sentence.exec(text);
  if (!end) return [text, ''];
  const rest = text.slice(end.index + 2);
  const isAdvice = end[0] === ':';
  return [
    `${text.slice(0, end.index)}${isAdvice ? '.' : end[0]}`,
    isAdvice ? `${rest.charAt(0).toUpperCase()}${rest.slice(1)}` : rest,
  ];
}

/** The cause that a verdict is about. That the wait was short says little where something happened. */
export function mainCause({ causes = [] }: api.WaitExplanation): api.WaitCause | undefined {
  return causes.find(({ code }) => code !== 'cut_short') ?? causes[0];
}
export const evidenceOf = (cause: api.WaitCause | undefined): Evidence | undefined =>
  cause && CAUSES[cause.code]?.from;

const CERTAINTIES = { certain: 'It is certain', likely: 'Most likely', possible: 'Possibly' } as const;

function headline(cause: api.WaitCause | undefined, given: Case): [ComponentChildren, string] {
  const { inbox, explanation, nearest } = given;
  if (cause?.code === 'similar_address' && nearest) {
    const outcome = nearest.outcome === 'refused' ? 'and refused' : 'and another inbox took it';
    return [
      <>
        Sent to{' '}
        <span class="address">
          <Letters of={nearest.address} unlike={inbox.address} />
        </span>
        , {outcome}.
      </>,
      cause.text,
    ];
  }
  if (cause?.code === 'nothing_arrived')
    return ['No mail came for this address, and none was refused.', split(cause.text)[1]];
  const isRefusal = evidenceOf(cause) === 'refused' && cause?.code !== 'before_creation';
  return split(cause?.text ?? explanation.summary, isRefusal ? WITH_REASON : SENTENCE);
}

/** Why the wait failed in one large sentence, and what to do about it with one button. */
export function Verdict({ endedAt, ...given }: Case & { endedAt: string | undefined }) {
  const { causes = [] } = given.explanation;
  const cause = mainCause(given.explanation);
  const others = causes.filter((one) => one !== cause);
  const [sentence, rest] = headline(cause, given);
  const verb = cause ? CAUSES[cause.code]?.verb(given) : undefined;
  return (
    <section class="verdict" aria-live="polite">
      <p class="small muted">
        {cause ? CERTAINTIES[cause.certainty] : 'The answer'}
        {endedAt ? (
          <>
            , when the wait failed <Ago time={endedAt} />
          </>
        ) : (
          ', as of now'
        )}
      </p>
      <h2 dir="auto">{sentence}</h2>
      {rest && (
        <p class="answer" dir="auto">
          {rest}
        </p>
      )}
      {verb && (
        <p>
          <Button kind="primary" icon={verb.icon} onClick={verb.run}>
            {verb.label}
          </Button>
        </p>
      )}
      {others.length > 0 && (
        <ul class="others">
          {others.map(({ code, certainty, text }) => (
            <li key={text} dir="auto">
              <Icon name={code === 'cut_short' ? 'clock' : 'next'} />
              <span>
                <span class="muted">
                  {certainty === 'certain' ? 'Also: ' : `${CERTAINTIES[certainty]}: `}
                </span>
                {text}
              </span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** A moment on the time axis. */
interface Moment {
  kind: Evidence;
  at: number;
  text: string;
  to?: string;
}

function momentsOf({ inbox, explanation }: Omit<Case, 'nearest' | 'edit'>): Moment[] {
  const { seen, refused, nearMisses, otherMail, failedHandshakes } = explanation;
  const moment = (kind: Evidence, at: string, text: string): Moment => ({ kind, at: Date.parse(at), text });
  return [
    ...seen.map(({ message }) => ({
      ...moment(
        'seen',
        message.receivedAt,
        `${message.subject || '(no subject)'} from ${person(message.from)}`,
      ),
      to: href(`/inboxes/${inbox.id}/messages/${message.id}`),
    })),
    ...refused.map(({ at, reply }) => moment('refused', at, reply || 'the connection ended')),
    ...nearMisses.map(({ at, address, outcome }) => moment('nearMisses', at, `${address}, ${outcome}`)),
    ...otherMail.map(({ at, address }) => moment('otherMail', at, address)),
    ...failedHandshakes.map(({ at, reason }) => moment('failedHandshakes', at, reason)),
  ];
}

export const NAMES: Record<Evidence, [one: string, title: string]> = {
  seen: ['mail', 'Messages that came and did not match'],
  refused: ['refusal', 'Mail for this address that was refused'],
  nearMisses: ['similar address', 'Mail for similar addresses'],
  otherMail: ['other address', 'Mail for other addresses'],
  failedHandshakes: ['failed handshake', 'TLS handshakes that failed'],
};

/** What is longer ago than so many lengths of the wait is shown at the edge, or the wait would be a point. */
const MOST_LENGTHS = 4;
const LEAST_MS = 5_000;
const clock = (at: number): string => new Date(at).toISOString().slice(11, 23);

/** The wait, and each mail, refusal and handshake as a dot at its time. @param wait undefined for a look at now */
export function TimeAxis({
  wait,
  until,
  ...given
}: Omit<Case, 'nearest' | 'edit'> & { wait: { begun: number; ended: number } | undefined; until: number }) {
  const moments = momentsOf(given).toSorted((a, b) => a.at - b.at);
  const times = moments.map(({ at }) => at);
  const end = Math.max(wait?.ended ?? until, ...times);
  const length = Math.max(LEAST_MS, wait ? wait.ended - wait.begun : 0);
  const earliest = wait ? wait.begun - MOST_LENGTHS * length : Number.NEGATIVE_INFINITY;
  const begin = Math.min(wait?.begun ?? end, ...times.filter((at) => at >= earliest)) - length * 0.05;
  const place = (at: number) => `${Math.max(0, ((at - begin) / Math.max(1, end - begin)) * 100).toFixed(2)}%`;
  if (!wait && moments.length === 0) return null;
  const kinds = [...new Set(moments.map(({ kind }) => kind))];
  return (
    <figure class="time-axis">
      <div class="axis-line">
        {wait && (
          <span
            class="axis-wait"
            style={{ left: place(wait.begun), right: `calc(100% - ${place(wait.ended)})` }}
            title={`The wait, from ${clock(wait.begun)} to ${clock(wait.ended)} UTC`}
          />
        )}
        <ol>
          {moments.map(({ kind, at, text, to }, index) => {
            const words = `${clock(at)} UTC, ${NAMES[kind][0]}: ${text}`;
            const style = { left: place(at) };
            return (
              <li key={index} class="axis-dot" data-kind={kind} style={style} title={words}>
                {to ? (
                  <a href={to}>
                    <span class="visually-hidden">{words}</span>
                  </a>
                ) : (
                  <span class="visually-hidden">{words}</span>
                )}
              </li>
            );
          })}
        </ol>
      </div>
      <figcaption class="small muted">
        {wait ? (
          <span>
            <i class="axis-key" /> the wait, {clock(wait.begun).slice(0, 8)} to{' '}
            {clock(wait.ended).slice(0, 8)} UTC, {((wait.ended - wait.begun) / 1_000).toFixed(1)} s
          </span>
        ) : (
          <span>
            {clock(begin).slice(0, 8)} to now, {clock(end).slice(0, 8)} UTC
          </span>
        )}
        {kinds.map((kind) => (
          <span key={kind}>
            <i class="axis-dot" data-kind={kind} /> {NAMES[kind][0]}
          </span>
        ))}
      </figcaption>
    </figure>
  );
}
