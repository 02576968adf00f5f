import type { api } from '@mayfly/client';
import type { ComponentChildren } from 'preact';
import { person } from '../../lib/format.ts';
import { href } from '../../lib/router.ts';
import { serverNow } from '../../lib/time.ts';
import { Ago, Badge } from '../../ui/basics.tsx';
import { Letters, unlikeness } from './letters.tsx';
import { Refusals } from './refusals.tsx';
import { type Evidence, evidenceOf, mainCause, NAMES, TimeAxis, Verdict } from './verdict.tsx';

const CONDITIONS: Record<string, string> = { hasAttachments: 'attachments', rcptTo: 'recipient' };

const Seen = ({ inboxId, seen }: { inboxId: string; seen: api.SeenMessage }) => (
  <li class="seen">
    <div class="row-line">
      <a class="cut" dir="auto" href={href(`/inboxes/${inboxId}/messages/${seen.message.id}`)}>
        <b>{seen.message.subject || '(no subject)'}</b>{' '}
        <span class="muted">from {person(seen.message.from)}</span>
      </a>
      <Ago time={seen.message.receivedAt} />
    </div>
    <ul class="seen-failed">
      {seen.failed.map(({ condition, expected, got }) => (
        <li key={condition}>
          <b>{CONDITIONS[condition] ?? condition}</b>: expected <code>{expected}</code>, got{' '}
          <code dir="auto">{got || '(empty)'}</code>
        </li>
      ))}
    </ul>
  </li>
);

const Miss = ({ miss, address }: { miss: api.NearMiss; address: string }) => (
  <li class="seen">
    <div class="row-line">
      <span class="cut address">
        <Letters of={miss.address} unlike={address} />
      </span>
      <Badge kind={miss.outcome === 'refused' ? 'bad' : 'warn'}>
        {miss.outcome} {miss.times > 1 && `${miss.times} times`}
      </Badge>
      <Ago time={miss.at} />
    </div>
    {miss.inboxId && <a href={href(`/inboxes/${miss.inboxId}`)}>Open the inbox that got it</a>}
  </li>
);

const REASONS: Record<api.OtherMail['reason'], string> = {
  'same-recipient': 'sent to the address of this inbox, but stored in another one',
  'meets-conditions': 'meets all conditions, in another inbox',
  refused: 'refused: no inbox had this address',
};

const Other = ({ mail }: { mail: api.OtherMail }) => (
  <li class="seen">
    <div class="row-line">
      <span class="cut address">{mail.address}</span>
      <Ago time={mail.at} />
    </div>
    <span class="small muted">
      {REASONS[mail.reason]}
      {mail.inboxId && (
        <>
          {'. '}
          <a href={href(`/inboxes/${mail.inboxId}`)}>Open the inbox that has it</a>
        </>
      )}
    </span>
  </li>
);

const Handshake = ({ one }: { one: api.FailedHandshake }) => (
  <li class="seen">
    <div class="row-line">
      <span class="cut" title={one.reason}>
        {one.reason}
      </span>
      <Ago time={one.at} />
    </div>
    <span class="small muted">from {one.remoteAddress}</span>
  </li>
);

/** Near misses that are shown before the others are asked for. */
const MOST_ALIKE = 3;

const Misses = ({ misses, address }: { misses: readonly api.NearMiss[]; address: string }) => (
  <>
    <ul>
      {misses.slice(0, MOST_ALIKE).map((miss) => (
        <Miss key={miss.address} miss={miss} address={address} />
      ))}
    </ul>
    {misses.length > MOST_ALIKE && (
      <details>
        <summary>{misses.length - MOST_ALIKE} less similar</summary>
        <ul>
          {misses.slice(MOST_ALIKE).map((miss) => (
            <Miss key={miss.address} miss={miss} address={address} />
          ))}
        </ul>
      </details>
    )}
  </>
);

interface ExplanationProps {
  inbox: Pick<api.Inbox, 'id' | 'address'>;
  explanation: api.WaitExplanation;
  /** The wait that failed; undefined for a look at now. */
  wait: Pick<api.FailedWait, 'endedAt' | 'waitedMs'> | undefined;
  onEdit?: () => void;
}

/** What the explanation is made from, by kind: a section where there is something. */
function sectionsOf(
  inbox: ExplanationProps['inbox'],
  explanation: api.WaitExplanation,
  misses: api.NearMiss[],
) {
  const { seen, refused, otherMail, failedHandshakes } = explanation;
  const lists: Record<Evidence, [number: number, list: ComponentChildren]> = {
    seen: [
      explanation.seenCount,
      <ul key="seen">
        {seen.map((one) => (
          <Seen key={one.message.id} inboxId={inbox.id} seen={one} />
        ))}
      </ul>,
    ],
    nearMisses: [misses.length, <Misses key="misses" misses={misses} address={inbox.address} />],
    otherMail: [
      otherMail.length,
      <ul key="other">
        {otherMail.map((mail, index) => (
          <Other key={index} mail={mail} />
        ))}
      </ul>,
    ],
    refused: [refused.length, <Refusals key="refused" refusals={refused} />],
    failedHandshakes: [
      failedHandshakes.length,
      <ul key="failed">
        {failedHandshakes.map((one) => (
          <Handshake key={`${one.at}${one.reason}`} one={one} />
        ))}
      </ul>,
    ],
  };
  return (Object.entries(lists) as [Evidence, (typeof lists)[Evidence]][]).filter(
    ([, [number]]) => number > 0,
  );
}

/** Why no message meets the conditions: a verdict, when what happened, and what it is made from. */
export function Explanation({ inbox, explanation, wait, onEdit }: ExplanationProps) {
  const misses = explanation.nearMisses.toSorted(
    (a, b) => unlikeness(a.address, inbox.address) - unlikeness(b.address, inbox.address),
  );
  const sections = sectionsOf(inbox, explanation, misses);
  const main = evidenceOf(mainCause(explanation));
  const ended = Date.parse(wait?.endedAt ?? '');
  return (
    <>
      <Verdict
        inbox={inbox}
        explanation={explanation}
        nearest={misses[0]}
        edit={onEdit}
        endedAt={wait?.endedAt}
      />
      <TimeAxis
        inbox={inbox}
        explanation={explanation}
        wait={wait && { begun: ended - wait.waitedMs, ended }}
        until={serverNow()}
      />
      {sections.map(([kind, [number, list]]) => (
        <details class="evidence" key={kind} open={kind === main || sections.length === 1}>
          <summary>
            <h2>
              {NAMES[kind][1]} <span class="tab-count">{number}</span>
            </h2>
          </summary>
          {list}
        </details>
      ))}
    </>
  );
}
