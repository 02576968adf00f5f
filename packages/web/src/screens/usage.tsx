import type { api } from '@mayfly/client';
import { bytes, count } from '../lib/format.ts';
import { useKeys } from '../lib/keys.ts';
import { useQuery } from '../lib/query.ts';
import { mayfly } from '../lib/session.ts';
import { duration, exact } from '../lib/time.ts';
import { Bars, Meter } from '../ui/bars.tsx';
import { Ago, Badge, CopyButton, ScreenHead } from '../ui/basics.tsx';
import { Icon } from '../ui/icons.tsx';
import { Loaded } from '../ui/states.tsx';

const orUnlimited = (value: number | null) => (value === null ? 'unlimited' : count(value));

function Limits({ limits, plan }: { limits: api.PlanLimits; plan: string }) {
  return (
    <section>
      <h2>Plan “{plan}”</h2>
      <dl class="facts">
        <dt>Requests a month</dt>
        <dd>{orUnlimited(limits.requestsPerMonth)}</dd>
        <dt>Requests a second</dt>
        <dd>
          {orUnlimited(limits.requestsPerSecond)}
          {limits.burst !== null && `, ${count(limits.burst)} at once`}
        </dd>
        <dt>Live inboxes</dt>
        <dd>{orUnlimited(limits.maxLiveInboxes)}</dd>
        <dt>Messages an inbox holds</dt>
        <dd>{count(limits.maxMessagesPerInbox)}</dd>
        <dt>Message size</dt>
        <dd>{bytes(limits.maxMessageBytes)}</dd>
        <dt>Lifetime of an inbox</dt>
        <dd>
          {duration(limits.maxTtlMinutes * 60_000)} ({count(limits.maxTtlMinutes)} minutes)
        </dd>
        <dt>Webhooks</dt>
        <dd>{orUnlimited(limits.maxWebhooks)}</dd>
      </dl>
    </section>
  );
}

/** Shares of the quota from which the figure is marked. */
const WARN = 0.8;

function Month({ usage }: { usage: api.Usage }) {
  const { requestsPerMonth } = usage.limits;
  const share = requestsPerMonth === null ? 0 : usage.used / requestsPerMonth;
  return (
    <section class="panel month">
      <h2>This month</h2>
      <p class="answer">
        <b>{count(usage.used)}</b>{' '}
        {requestsPerMonth === null
          ? 'requests, without a quota'
          : `of ${count(requestsPerMonth)} requests, ${Math.floor(share * 100)} %`}
      </p>
      {requestsPerMonth !== null && (
        <>
          <Meter
            share={share}
            label={`${Math.round(share * 100)} % of the quota`}
            kind={share >= 1 ? 'bad' : share >= WARN ? 'warn' : undefined}
          />
          <p class="badges">
            {usage.thresholds.map(({ percent, reachedAt }) => (
              <Badge key={percent} kind={reachedAt ? (percent === 100 ? 'bad' : 'warn') : undefined}>
                {percent} %: {reachedAt ? <Ago time={reachedAt} /> : 'not reached'}
              </Badge>
            ))}
          </p>
        </>
      )}
      <p class="muted small" title={exact(usage.period.end)}>
        The count starts again on{' '}
        {new Date(usage.period.end).toLocaleDateString(undefined, { dateStyle: 'long', timeZone: 'UTC' })}{' '}
        (UTC). 304, 429 and 5xx are free, and so is mail.
      </p>
    </section>
  );
}

/** What the account used of its plan. */
export function Usage() {
  const usage = useQuery('usage', (signal) => mayfly.call('GET /v1/usage', { signal }));
  useKeys({ r: usage.reload });
  return (
    <div class="screen">
      <ScreenHead title="Usage" lead="Requests of the account, by calendar month and day in UTC" />
      <Loaded query={usage}>
        {(data) => {
          const days = data.days.toReversed();
          const most = Math.max(...days.map(({ requests }) => requests));
          return (
            <div class="page">
              <Month usage={data} />
              <section class="panel">
                <div class="row-line">
                  <h2 class="cut">Requests by day</h2>
                  <CopyButton
                    value={`day,requests\n${days.map(({ day, requests }) => `${day},${requests}`).join('\n')}\n`}
                    what="the days as CSV"
                  />
                </div>
                <Bars
                  bars={days.map(({ day, requests }) => ({ label: day, values: [requests] }))}
                  series={[{ name: 'requests', kind: 'plain' }]}
                  label={`Requests of the last ${days.length} days, at most ${count(most)} a day`}
                />
                <p class="row-line small muted">
                  <span class="cut">{days[0]?.day}</span>
                  <span>most: {count(most)} a day</span>
                  <span class="cut end">{days.at(-1)?.day}</span>
                </p>
                <details>
                  <summary>As a table</summary>
                  <table>
                    <thead>
                      <tr>
                        <th scope="col">Day</th>
                        <th scope="col" class="number">
                          Requests
                        </th>
                      </tr>
                    </thead>
                    <tbody>
                      {data.days.map(({ day, requests }) => (
                        <tr key={day}>
                          <td>{day}</td>
                          <td class="number">{count(requests)}</td>
                        </tr>
                      ))}
                    </tbody>
                  </table>
                </details>
              </section>
              <Limits limits={data.limits} plan={data.plan} />
              <p class="muted small">
                <Icon name="question" /> A request of this console counts as any other.
              </p>
            </div>
          );
        }}
      </Loaded>
    </div>
  );
}
