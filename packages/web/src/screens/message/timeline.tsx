import type { api } from '@mayfly/client';
import { duration, exact } from '../../lib/time.ts';

interface Step {
  at: number | null;
  event: string;
  detail: string;
}

/** The way of the mail by its own header fields, oldest first, and when it was stored here. */
function stepsOf(message: api.Message): Step[] {
  const hops = message.headers
    .filter(({ name }) => name.toLowerCase() === 'received')
    .map(({ value }) => {
      const end = value.lastIndexOf(';');
      const time = end < 0 ? Number.NaN : Date.parse(value.slice(end + 1));
      return {
        at: Number.isNaN(time) ? null : time,
        event: 'Received by a server',
        detail: value.slice(0, end < 0 ? undefined : end),
      };
    })
    .reverse();
  return [
    ...(message.date
      ? [
          {
            at: Date.parse(message.date),
            event: 'Date header',
            detail: 'When the sender says that it was written',
          },
        ]
      : []),
    ...hops,
    {
      at: Date.parse(message.receivedAt),
      event: 'Stored by Mayfly',
      detail: 'Acknowledged with 250: readable from here on',
    },
  ];
}

/** When what happened to the mail, with the time between the steps. */
export function Timeline({ message }: { message: api.Message }) {
  const steps = stepsOf(message);
  const end = Date.parse(message.receivedAt);
  return (
    <div class="padded">
      <ol class="timeline">
        {steps.map(({ at, event, detail }, index) => {
          const ms = at === null ? null : at - end;
          return (
            <li key={index}>
              <span class="at small">
                {ms === null ? 'no time' : ms === 0 ? '0' : `${ms < 0 ? '−' : '+'}${gap(Math.abs(ms))}`}
              </span>
              <span class="mark" />
              <span>
                <b>{event}</b>
                {at !== null && <div class="small muted">{exact(new Date(at).toISOString())}</div>}
                <div class="small mono cell-long">{detail}</div>
              </span>
            </li>
          );
        })}
      </ol>
      <p class="muted small">Times in headers are those of other machines and have whole seconds.</p>
    </div>
  );
}

const gap = (ms: number): string => (ms < 10_000 ? `${ms} ms` : duration(ms));
