import type { api } from '@mayfly/client';
import { useQuery } from '../../lib/query.ts';
import { href } from '../../lib/router.ts';
import { mayfly } from '../../lib/session.ts';
import { duration, exact } from '../../lib/time.ts';
import { Badge } from '../../ui/basics.tsx';
import { Icon } from '../../ui/icons.tsx';
import { Loaded } from '../../ui/states.tsx';

const TITLES: Record<api.TimelineEvent['event'], string> = {
  'date-header': 'Date header',
  'received-header': 'Received by another server',
  'earlier-attempt': 'An earlier attempt was put off',
  connected: 'Connected',
  tls: 'TLS',
  authenticated: 'AUTH',
  fault: 'Fault that was asked for',
  'mail-from': 'MAIL FROM',
  'rcpt-to': 'RCPT TO',
  data: 'DATA',
  injected: 'Injected by the API',
  'provider-call': 'Request to a provider',
  imported: 'Read from a recording',
  'end-of-data': 'End of DATA',
  parsed: 'Parsed',
  'sender-checked': 'SPF, DKIM and DMARC checked',
  committed: 'Stored by Mayfly',
  replied: '250 reply',
  'webhook-attempt': 'Webhook',
  'sent-back': 'Sent back',
};
const CLOCKS = { sender: 'by the sender', relay: 'by that server', mayfly: '' } as const;
/** Below it a gap is shown in milliseconds. */
const MOST_MS = 10_000;

/** A gap: `+431 ms`, `−2 h`. */
function gap(ms: number): string {
  const size = Math.abs(ms);
  return `${ms < 0 ? '−' : '+'}${size < MOST_MS ? `${size} ms` : duration(size)}`;
}

function Attempt({ webhook }: { webhook: api.TimelineWebhook }) {
  const { webhookId, deliveryId, attempt, status, error, durationMs } = webhook;
  return (
    <span class="badges">
      <Badge kind={error === null ? 'ok' : 'bad'}>{status ?? error}</Badge>
      <span class="small">
        attempt {attempt}, {durationMs} ms
      </span>
      <a class="small" href={href(`/webhooks/${webhookId}/deliveries/${deliveryId}`)}>
        Show the delivery
      </a>
    </span>
  );
}

function Event({ one }: { one: api.TimelineEvent }) {
  const { at, event, clock, sincePreviousMs, detail, note, webhook } = one;
  const hasFailed = event === 'fault' || (webhook !== null && webhook.error !== null);
  return (
    <li class={hasFailed ? 'failed' : clock}>
      <span class="at small">{sincePreviousMs === null ? '' : gap(sincePreviousMs)}</span>
      <span class="mark" />
      <span>
        <b>{TITLES[event]}</b>{' '}
        <span class="small muted" title={at === null ? undefined : exact(at)}>
          {at === null ? 'no time' : at.replace('T', ' ')} {CLOCKS[clock]}
        </span>
        {webhook ? <Attempt webhook={webhook} /> : <div class="small cell-long">{detail}</div>}
        {note && (
          <p class="small note">
            <Icon name="warn" /> {note}
          </p>
        )}
      </span>
    </li>
  );
}

/** When what happened to the mail, from its Date header to each webhook attempt, with the gaps. */
export function Timeline({ message }: { message: api.Message }) {
  const { id: messageId, inboxId: id } = message;
  const timeline = useQuery(`timeline ${messageId}`, (signal) =>
    mayfly.call('GET /v1/inboxes/{id}/messages/{messageId}/timeline', { path: { id, messageId }, signal }),
  );
  return (
    <div class="padded">
      <Loaded query={timeline} rows={6}>
        {({ events }) => (
          <ol class="timeline">
            {events.map((one, index) => (
              <Event key={index} one={one} />
            ))}
          </ol>
        )}
      </Loaded>
    </div>
  );
}
