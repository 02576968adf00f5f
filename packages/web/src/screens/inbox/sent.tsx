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
  const { type, outcome, via, to, subject, text, state, attempts, error, createdAt, messageId } = one;
  const what = outcome === null ? subject : `The mail ${OUTCOMES[outcome]}`;
  return (
    <tr>
      <th scope="row">
        <a href={href(`/inboxes/${id}/messages/${messageId}`)}>{what}</a>
        {text && <p class="small muted cut">{text}</p>}
      </th>
      <td data-name="Kind">{via === null ? type : `${type}, ${PROVIDER_TITLES[via]}`}</td>
      <td data-name="To" class="cell-long">
        {to.join(', ') || '–'}
      </td>
      <td data-name="State">
        <Badge kind={KINDS[state]}>{state}</Badge>
        {attempts > 1 && <span class="small muted"> {attempts} attempts</span>}
        {error && <p class="small cell-long">{error}</p>}
      </td>
      <td data-name="Made">
        <Ago time={createdAt} />
      </td>
    </tr>
  );
}

function SentTable({ id, list }: { id: string; list: api.SentList }) {
  if (list.sent.length === 0)
    return <p>Nothing yet. Reply to a mail, or let the next one bounce: what goes back is listed here.</p>;
  return (
    <div class="table-box">
      <table class="stacked">
        <thead>
          <tr>
            <th scope="col">What</th>
            <th scope="col">Kind</th>
            <th scope="col">To</th>
            <th scope="col">State</th>
            <th scope="col">Made</th>
          </tr>
        </thead>
        <tbody>
          {list.sent.map((one) => (
            <Row key={one.id} id={id} one={one} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Conversations: a mail alone is none. */
function Threads({ id, threads }: { id: string; threads: readonly api.Thread[] }) {
  const shown = threads.filter(({ entries }) => entries.length > 1);
  if (shown.length === 0) return null;
  return (
    <section>
      <h2>Conversations</h2>
      {shown.map(({ subject, entries }) => (
        <details key={entries[0]?.id}>
          <summary>
            {subject || '(no subject)'} <span class="tab-count">{entries.length}</span>
          </summary>
          <ul>
            {entries.map(({ kind, id: entry, at, subject: title }) => (
              <li key={entry}>
                <Badge kind={kind === 'sent' ? 'info' : undefined}>{kind}</Badge>{' '}
                {kind === 'sent' ? title : <a href={href(`/inboxes/${id}/messages/${entry}`)}>{title}</a>}{' '}
                <Ago time={at} />
              </li>
            ))}
          </ul>
        </details>
      ))}
    </section>
  );
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
                {(list) => <SentTable id={id} list={list} />}
              </Loaded>
            </section>
            {threads.data && <Threads id={id} threads={threads.data.threads} />}
          </div>
        )}
      </Loaded>
    </div>
  );
}
