import type { api } from '@mayfly/client';
import { person } from '../../lib/format.ts';
import { href } from '../../lib/router.ts';
import { Ago, Badge } from '../../ui/basics.tsx';
import { Letters } from './letters.tsx';
import { Refusals } from './refusals.tsx';

const NAMES: Record<string, string> = { hasAttachments: 'attachments', rcptTo: 'recipient' };

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
          <b>{NAMES[condition] ?? condition}</b>: expected <code>{expected}</code>, got{' '}
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
  refused: 'refused: no inbox has this address',
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

interface ExplanationProps {
  inbox: Pick<api.Inbox, 'id' | 'address'>;
  explanation: api.WaitExplanation;
  /** When the wait failed; undefined for one that is made now. */
  endedAt: string | undefined;
}

/** Why no message meets the conditions: the summary of the server, and what it is made from. */
export function Explanation({ inbox, explanation, endedAt }: ExplanationProps) {
  const { summary, seen, seenCount, refused, nearMisses, otherMail, failedHandshakes } = explanation;
  const isQuiet = [seen, refused, nearMisses, otherMail, failedHandshakes].every((all) => all.length === 0);
  return (
    <>
      <section class="panel" aria-live="polite">
        <h2>
          The answer
          {endedAt && (
            <>
              {' when the wait failed, '}
              <Ago time={endedAt} />
            </>
          )}
        </h2>
        <p class="answer" dir="auto">
          {summary}
        </p>
        {isQuiet && (
          <p>
            Compare the host and port of the application with those on <a href={href('/connect')}>Connect</a>.
          </p>
        )}
      </section>
      {seen.length > 0 && (
        <section>
          <h2>Messages that came and did not match ({seenCount})</h2>
          <ul>
            {seen.map((one) => (
              <Seen key={one.message.id} inboxId={inbox.id} seen={one} />
            ))}
          </ul>
        </section>
      )}
      {nearMisses.length > 0 && (
        <section>
          <h2>Mail for similar addresses</h2>
          <ul>
            {nearMisses.map((miss) => (
              <Miss key={miss.address} miss={miss} address={inbox.address} />
            ))}
          </ul>
        </section>
      )}
      {otherMail.length > 0 && (
        <section>
          <h2>Mail for other addresses</h2>
          <ul>
            {otherMail.map((mail, index) => (
              <Other key={index} mail={mail} />
            ))}
          </ul>
        </section>
      )}
      {refused.length > 0 && (
        <section>
          <h2>Mail for this address that was refused</h2>
          <Refusals refusals={refused} />
        </section>
      )}
      {failedHandshakes.length > 0 && (
        <section>
          <h2>TLS handshakes that failed</h2>
          <ul>
            {failedHandshakes.map((one) => (
              <Handshake key={`${one.at}${one.reason}`} one={one} />
            ))}
          </ul>
        </section>
      )}
    </>
  );
}
