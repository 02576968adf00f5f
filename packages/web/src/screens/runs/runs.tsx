import type { api } from '@mayfly/client';
import { useRef } from 'preact/hooks';
import { count, plural } from '../../lib/format.ts';
import { useKeys } from '../../lib/keys.ts';
import { useQuery } from '../../lib/query.ts';
import { href, query, setQuery } from '../../lib/router.ts';
import { mayfly } from '../../lib/session.ts';
import { duration, exact } from '../../lib/time.ts';
import { Ago, Badge, Button, ScreenHead, SearchField, Snippet } from '../../ui/basics.tsx';
import { Loaded, Notice } from '../../ui/states.tsx';
import { Failures, hasProblem } from './failures.tsx';
import { type Labels, labelParams, labelsIn, loadReport } from './report.ts';

/** With the flag by which browsers read the attribute `pattern`. */
const LABEL = /^([\w.\-]+)=(.+)$/v;
/** As many labels as one request returns. */
const NEWEST = 200;
type Label = api.LabelList['labels'][number];

interface Labelled {
  /** Playwright and pytest give the label `run` by themselves. */
  runs: Label[];
  others: Label[];
}

async function loadLabels(signal: AbortSignal): Promise<Labelled> {
  const load = async (query: { name?: string }) =>
    (await mayfly.call('GET /v1/labels', { query: { ...query, limit: NEWEST }, signal })).labels;
  const [runs, all] = await Promise.all([load({ name: 'run' }), load({})]);
  return { runs, others: all.filter(({ name }) => name !== 'run' && name !== 'mayfly') };
}

const Choices = ({ runs }: { runs: readonly Label[] }) => (
  <ul>
    {runs.map(({ name, value, inboxes, newestAt }) => (
      <li class="seen" key={`${name}=${value}`}>
        <div class="row-line">
          <a class="cut mono" href={href('/runs', labelParams({ [name]: value }))}>
            {name}={value}
          </a>
          <span class="small muted">{plural(inboxes, 'inbox')}</span>
          <Ago time={newestAt} />
        </div>
      </li>
    ))}
  </ul>
);

function Choose() {
  const labels = useQuery('runs', loadLabels);
  useKeys({ r: labels.reload });
  return (
    <Loaded query={labels} rows={3}>
      {({ runs, others }) =>
        runs.length + others.length === 0 ? (
          <Notice icon="play" title="No inbox has a label">
            <p>
              Give the inboxes of a test run a label, for instance its number. The report of the run then says
              which waits failed and why, for 24 hours after its inboxes have ended. The packages for
              Playwright and pytest do that by themselves.
            </p>
            <Snippet
              what="the command"
              text={`curl -X POST ${location.origin}/v1/inboxes \\\n  -H "Authorization: Bearer $MAYFLY_API_KEY" \\\n  -H "Content-Type: application/json" -d '{"labels": {"run": "4711"}}'`}
            />
          </Notice>
        ) : (
          <section>
            <h2>Runs with live inboxes</h2>
            <Choices runs={runs} />
            <p class="small muted padded-line">
              A run whose inboxes have all ended is not listed: enter its label above.
            </p>
            <details open={runs.length === 0}>
              <summary>Other labels</summary>
              <Choices runs={others} />
            </details>
          </section>
        )
      }
    </Loaded>
  );
}

/** What became of the run, in one sentence. */
function verdict({ totals, inboxes }: api.RunReport): string {
  const { waitsFailed, waitsSucceeded, refusals } = totals;
  if (waitsFailed > 0) {
    const affected = inboxes.filter(({ waits }) => waits.failed > 0).length;
    return `${plural(waitsFailed, 'wait')} failed, in ${plural(affected, 'inbox')}.`;
  }
  if (refusals > 0)
    return `No wait failed, but ${plural(refusals, 'mail')} ${refusals === 1 ? 'was' : 'were'} refused.`;
  if (inboxes.some(hasProblem)) return 'No wait failed, but some lists or streams had no message.';
  return waitsSucceeded === 0 ? 'No wait has ended yet.' : 'No wait failed.';
}

const State = ({ inbox: { state, endedAt } }: { inbox: api.ReportedInbox }) => (
  <span title={endedAt ? exact(endedAt) : undefined}>
    <Badge kind={state === 'live' ? 'ok' : undefined}>{state}</Badge>
  </span>
);

const Address = ({ inbox: { id, address, state } }: { inbox: api.ReportedInbox }) =>
  state === 'live' ? (
    <a class="cut address" href={href(`/inboxes/${id}`)}>
      {address}
    </a>
  ) : (
    <span class="cut address">{address}</span>
  );

/** Below it a time is shown in milliseconds. */
const MOST_MS = 10_000;
const span = (ms: number): string => (ms < MOST_MS ? `${ms} ms` : duration(ms));

const Table = ({ inboxes }: { inboxes: readonly api.ReportedInbox[] }) => (
  <div class="table-box">
    <table class="stacked">
      <thead>
        <tr>
          <th scope="col">Inbox</th>
          <th scope="col">State</th>
          <th scope="col" class="number">
            Mails
          </th>
          <th scope="col" class="number">
            First after
          </th>
          <th scope="col" class="number">
            Waits failed
          </th>
        </tr>
      </thead>
      <tbody>
        {inboxes.map((inbox) => (
          <tr key={inbox.id}>
            <th scope="row">
              <Address inbox={inbox} />
            </th>
            <td data-name="State">
              <State inbox={inbox} />
            </td>
            <td data-name="Mails" class="number">
              {count(inbox.messageCount)}
            </td>
            <td data-name="First after" class="number">
              {inbox.firstMessageAfterMs === null ? '' : span(inbox.firstMessageAfterMs)}
            </td>
            <td data-name="Waits failed" class="number">
              {inbox.waits.failed + inbox.waits.succeeded === 0
                ? 'no waits'
                : `${inbox.waits.failed} of ${inbox.waits.failed + inbox.waits.succeeded}`}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);

function Report({ report }: { report: api.RunReport }) {
  const { totals, inboxes, hasMore } = report;
  const wrong = inboxes.filter(hasProblem);
  return (
    <>
      <section class="panel" aria-live="polite">
        <h2>{verdict(report)}</h2>
        <p class="muted">
          {plural(totals.inboxes, 'inbox')}, {count(totals.inboxesWithoutMail)} without mail ·{' '}
          {plural(totals.messages, 'mail')}, {count(totals.refusals)} refused ·{' '}
          {plural(totals.waitsSucceeded, 'wait')} succeeded, {count(totals.waitsFailed)} failed
        </p>
      </section>
      {wrong.length > 0 && (
        <section>
          <h2>What was wrong</h2>
          <ul>
            {wrong.map((inbox) => (
              <li class="seen" key={inbox.id}>
                <div class="row-line">
                  <Address inbox={inbox} />
                  <State inbox={inbox} />
                </div>
                <Failures inbox={inbox} />
              </li>
            ))}
          </ul>
        </section>
      )}
      <section>
        <h2>{hasMore ? `${count(inboxes.length)} inboxes of the run` : 'All inboxes of the run'}</h2>
        {hasMore && (
          <p class="small muted padded-line">
            Those with a problem and the newest others are listed. A further label narrows the report.
          </p>
        )}
        <Table inboxes={inboxes} />
      </section>
    </>
  );
}

/** The report of the labels. */
function Run({ labels }: { labels: Labels }) {
  const report = useQuery(`run ${JSON.stringify(labels)}`, (signal) => loadReport(labels, signal));
  useKeys({ r: report.reload });
  return (
    <Loaded query={report}>
      {(data) =>
        data.inboxes.length === 0 ? (
          <Notice icon="search" title="No inbox of the last 24 hours has this label">
            <p>Reports cover live inboxes, and those that expired or were deleted within 24 hours.</p>
            <Button
              onClick={() =>
                setQuery(Object.fromEntries(Object.keys(labelParams(labels)).map((name) => [name, null])))
              }
            >
              Show the labels of live inboxes
            </Button>
          </Notice>
        ) : (
          <Report report={data} />
        )
      }
    </Loaded>
  );
}

/** What became of the mail of a test run, also after its inboxes have ended. */
export function Runs() {
  const labels = labelsIn(query.value);
  const names = Object.keys(labels);
  const input = useRef<HTMLInputElement>(null);
  const add = (field: HTMLInputElement | null) => {
    const label = LABEL.exec(field?.value.trim() ?? '');
    if (!field || !label) return;
    field.value = '';
    setQuery({ [`label.${label[1]}`]: label[2] ?? '' }, { replace: false });
  };
  return (
    <div class="screen">
      <ScreenHead title="Test runs" lead="Which waits failed and why, also of inboxes that have ended">
        {names.length > 0 && (
          <a class="button" href={href('/inboxes', labelParams(labels))}>
            Live inboxes
          </a>
        )}
      </ScreenHead>
      <div class="page">
        <form
          class="toolbar flush"
          onSubmit={(event) => {
            event.preventDefault();
            add(input.current);
          }}
        >
          <SearchField
            ref={input}
            aria-label="Label of the run"
            placeholder="run=4711"
            pattern={LABEL.source}
            title="A label and its value, such as run=4711"
          />
          {Object.entries(labels).map(([name, value]) => (
            <Button key={name} icon="close" onClick={() => setQuery({ [`label.${name}`]: null })}>
              {name}={value}
            </Button>
          ))}
          <Button kind="primary" type="submit">
            Report
          </Button>
        </form>
        {names.length === 0 ? <Choose /> : <Run labels={labels} />}
      </div>
    </div>
  );
}
