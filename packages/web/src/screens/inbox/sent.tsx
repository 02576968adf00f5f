import type { api } from '@mayfly/client';
import { attempt, toast } from '../../lib/actions.ts';
import { PROVIDER_TITLES, plural } from '../../lib/format.ts';
import { useKeys } from '../../lib/keys.ts';
import { type Query, useQuery } from '../../lib/query.ts';
import { href } from '../../lib/router.ts';
import { mayfly, mayWrite } from '../../lib/session.ts';
import { Ago, Badge, Button, Field, ScreenHead } from '../../ui/basics.tsx';
import { Loaded } from '../../ui/states.tsx';

/** As many as one request returns. */
const PAGE = 200;

type Outcome = api.OutcomeRule['outcome'];
const OUTCOMES: Record<Outcome, string> = {
  bounce: 'bounces',
  'soft-bounce': 'bounces for now',
  complaint: 'is reported as spam',
  delay: 'is delayed',
  unsubscribe: 'makes its recipient unsubscribe',
};
const KINDS: Record<api.SentRecord['state'], 'ok' | 'bad' | 'info' | undefined> = {
  delivered: 'ok',
  failed: 'bad',
  pending: 'info',
  cancelled: undefined,
};

/** What becomes of the next mails, and a form that says so. */
function Outcomes({ id, outcomes }: { id: string; outcomes: Query<api.Outcomes> }) {
  const rules = outcomes.data?.rules.filter(({ left }) => left > 0) ?? [];
  const set = async (next: api.OutcomeRule[]) => {
    const done = await attempt(() =>
      mayfly.call('PUT /v1/inboxes/{id}/outcomes', { path: { id }, body: { rules: next } }),
    );
    if (done) outcomes.set(done);
  };
  const left = rules.map(({ outcome, left: times }) => ({ outcome, times }));
  return (
    <section>
      <h2>What becomes of the next mails</h2>
      <p>
        {rules.length === 0
          ? 'They are taken, and nothing comes back.'
          : rules
              .map(({ outcome, left: times }) => `${plural(times, 'mail')}: ${OUTCOMES[outcome]}`)
              .join(', then ')}
        {rules.length > 0 && '.'}
      </p>
      {mayWrite.value && (
        <form
          class="row-line wrap"
          onSubmit={(event) => {
            event.preventDefault();
            const data = new FormData(event.currentTarget);
            void set([
              ...left,
              { outcome: data.get('outcome') as Outcome, times: Number(data.get('times')) },
            ]);
          }}
        >
          <Field label="The mail">
            <select name="outcome">
              {Object.entries(OUTCOMES).map(([outcome, words]) => (
                <option key={outcome} value={outcome}>
                  {words}
                </option>
              ))}
            </select>
          </Field>
          <Field label="How many mails">
            <input name="times" type="number" min={1} max={1000} value={1} required />
          </Field>
          <Button type="submit" icon="plus">
            Add
          </Button>
          {rules.length > 0 && <Button onClick={() => void set([])}>Remove all</Button>}
        </form>
      )}
    </section>
  );
}

function Row({ id, one }: { id: string; one: api.SentRecord }) {
  const { outcome, via, to, subject, text, state, attempts, error, createdAt, messageId } = one;
  return (
    <li>
      <a href={href(`/inboxes/${id}/messages/${messageId}`)}>
        {outcome === null ? subject : `The mail ${OUTCOMES[outcome]}`}
      </a>
      <span class="badges small">
        <Badge kind={KINDS[state]}>{state}</Badge>
        <Ago time={createdAt} />
      </span>
      <p class="target small muted">
        {[text, via && PROVIDER_TITLES[via], to.join(', '), attempts > 1 && `${attempts} attempts`, error]
          .filter(Boolean)
          .join(' · ')}
      </p>
    </li>
  );
}

/** Conversations: a mail alone is none. */
function Threads({ id, threads }: { id: string; threads: readonly api.Thread[] }) {
  return threads
    .filter(({ entries }) => entries.length > 1)
    .map(({ subject, entries }) => (
      <details key={entries[0]?.id}>
        <summary>
          {subject} <span class="tab-count">{entries.length}</span>
        </summary>
        <ul class="link-list">
          {entries.map(({ kind, id: entry, at, subject: title }) => (
            <li key={entry}>
              {kind === 'sent' ? title : <a href={href(`/inboxes/${id}/messages/${entry}`)}>{title}</a>}
              <Ago time={at} />
            </li>
          ))}
        </ul>
      </details>
    ));
}

/** What comes back from an inbox: bounces and other outcomes, replies, and what waits for its time. */
export function Sent({ id }: { id: string }) {
  const path = { id };
  const outcomes = useQuery(`outcomes ${id}`, (signal) =>
    mayfly.call('GET /v1/inboxes/{id}/outcomes', { path, signal }),
  );
  const sent = useQuery(`sent ${id}`, (signal) =>
    mayfly.call('GET /v1/inboxes/{id}/sent', { path, query: { limit: PAGE }, signal }),
  );
  const threads = useQuery(`threads ${id}`, (signal) =>
    mayfly.call('GET /v1/inboxes/{id}/threads', { path, signal }),
  );
  const reload = () => {
    for (const one of [outcomes, sent, threads]) one.reload();
  };
  useKeys({ r: reload });
  const advance = async (minutes: number) => {
    const done = await attempt(() =>
      mayfly.call('POST /v1/inboxes/{id}/advance', { path, body: { minutes } }),
    );
    if (!done) return;
    toast(done.released === 0 ? 'Nothing waits for its time' : `Released: ${done.released}`);
    reload();
  };
  return (
    <div class="screen">
      <ScreenHead
        title="Replies and bounces"
        lead="What this inbox sends back to your application, and what becomes of the next mails."
      >
        <a class="button" href={href(`/inboxes/${id}`)}>
          Messages
        </a>
        {mayWrite.value && (
          <Button icon="clock" onClick={() => void advance(24 * 60)}>
            Release what is due within a day
          </Button>
        )}
      </ScreenHead>
      <Loaded query={outcomes} rows={2}>
        {() => (
          <div class="page">
            <Outcomes id={id} outcomes={outcomes} />
            <section>
              <h2>Sent</h2>
              <Loaded query={sent} rows={3}>
                {({ sent: all }) =>
                  all.length === 0 ? (
                    <p>Nothing yet. Reply to a mail, or let the next one bounce.</p>
                  ) : (
                    <ul class="link-list">
                      {all.map((one) => (
                        <Row key={one.id} id={id} one={one} />
                      ))}
                    </ul>
                  )
                }
              </Loaded>
            </section>
            <section>
              <h2>Conversations</h2>
              <Threads id={id} threads={threads.data?.threads ?? []} />
            </section>
          </div>
        )}
      </Loaded>
    </div>
  );
}
