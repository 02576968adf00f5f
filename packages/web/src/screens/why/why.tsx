import type { api } from '@mayfly/client';
import { useState } from 'preact/hooks';
import { afterLayout } from '../../lib/focus.ts';
import { plural } from '../../lib/format.ts';
import { useKeys } from '../../lib/keys.ts';
import { isGone, useQuery } from '../../lib/query.ts';
import { href, navigate, query, setQuery } from '../../lib/router.ts';
import { mayfly, mayWrite } from '../../lib/session.ts';
import { duration } from '../../lib/time.ts';
import { Ago, Button, ScreenHead } from '../../ui/basics.tsx';
import { Icon } from '../../ui/icons.tsx';
import { Failure, Loaded, Loading } from '../../ui/states.tsx';
import { Failures } from '../runs/failures.tsx';
import { labelParams, labelsIn, loadReported } from '../runs/report.ts';
import { CONDITIONS_ID, Conditions } from './conditions.tsx';
import { Explanation } from './explanation.tsx';
import { isEmpty, paramsOf, type Wait, waitIn } from './wait.ts';

/** What was explained when the wait of the address failed; undefined without one, and when it is kept no longer. */
async function loadKept(id: string, search: URLSearchParams, signal: AbortSignal) {
  const waitId = search.get('wait');
  if (!waitId) return undefined;
  const path = { id, waitId };
  return mayfly.call('GET /v1/inboxes/{id}/waits/{waitId}', { path, signal }).catch((error) => {
    if (isGone(error)) return undefined;
    throw error;
  });
}

interface Looked {
  inbox: api.Inbox;
  kept: api.FailedWait | undefined;
  /** What the report of its run says; undefined where there is none. */
  reported: api.ReportedInbox | undefined;
  result: api.WaitResult;
}

/**
 * Looks into an inbox with the conditions of the address. Without any, those of the last wait that failed are
 * put there: that is what one wants to know. Where the address names a failed wait, what that has explained is shown.
 */
async function look(
  id: string,
  search: URLSearchParams,
  onFilled: () => void,
  signal: AbortSignal,
): Promise<Looked> {
  const path = { id };
  const wait = waitIn(search);
  const inbox = await mayfly.call('GET /v1/inboxes/{id}', { path, signal });
  const reported = await loadReported(id, inbox.labels, signal);
  const failed = reported?.waits.failures.at(-1);
  if (isEmpty(wait) && !search.has('wait') && failed && Object.keys(failed.match).length > 0) {
    setQuery({ ...paramsOf(failed.match, { count: failed.count }), wait: failed.waitId });
    onFilled();
    // The change of the address looks again, and drops this result.
    return new Promise(() => undefined);
  }
  const kept = await loadKept(id, search, signal);
  if (kept) {
    const { explanation } = kept;
    return { inbox, kept, reported, result: { matched: false, messages: [], cursor: '', explanation } };
  }
  const { match, since, count } = wait;
  const body = { match, count, timeoutSeconds: 0, ...(since && { since }) };
  const result = await mayfly.call('POST /v1/inboxes/{id}/wait', { path, body, signal });
  return { inbox, kept, reported, result };
}

/** How a message that meets the conditions lies to the last wait that failed. */
function beside(message: api.Message, reported: api.ReportedInbox | undefined): string {
  const failed = reported?.waits.failures.at(-1);
  if (!failed) {
    return 'If the test failed, it had given up before this message came, began to wait after it (since), or has other conditions.';
  }
  const late = Date.parse(message.receivedAt) - Date.parse(failed.endedAt);
  return late > 0
    ? `It came ${duration(late)} after the last wait of the test had failed: the wait was too short, or the application too slow.`
    : 'It came before the last wait of the test failed: that wait began after it (since), or has other conditions.';
}

function Matched({ wait, looked: { inbox, reported, result } }: { wait: Wait; looked: Looked }) {
  const first = result.messages[0];
  if (isEmpty(wait)) {
    return (
      <section class="panel">
        <h2>No conditions were given</h2>
        <p class="answer">
          Mail has come, and without conditions every message is enough. Enter above what the test waits for.
        </p>
      </section>
    );
  }
  if (!first) {
    return (
      <section class="panel">
        <h2>
          <Icon name="check" /> No message meets the conditions, as wanted
        </h2>
      </section>
    );
  }
  return (
    <section class="panel">
      <h2>
        <Icon name="check" /> It is here
      </h2>
      <p class="answer">
        <a dir="auto" href={href(`/inboxes/${inbox.id}/messages/${first.id}`)}>
          {first.subject || '(no subject)'}
        </a>{' '}
        meets the conditions. It was received <Ago time={first.receivedAt} />.
      </p>
      <p>{beside(first, reported)}</p>
    </section>
  );
}

/** The failed waits of the test, but not the one alone that is explained above. */
const Told = ({ reported, kept }: Pick<Looked, 'reported' | 'kept'>) =>
  reported && reported.waits.failed > 0 ? (
    <section>
      {(!kept || reported.waits.failed > 1) && (
        <>
          <h2>Waits of the test that failed</h2>
          <Failures inbox={reported} />
        </>
      )}
      <p class="small padded-line">
        <a href={href('/runs', labelParams(reported.labels))}>Report of the test run</a>
      </p>
    </section>
  ) : null;

/** Of an inbox that has ended: what the report of its run has kept. */
function Ended({ id, error, retry }: { id: string; error: unknown; retry: () => void }) {
  const labels = labelsIn(query.value);
  const told = useQuery(`reported ${id} ${query.value}`, async (signal) => ({
    reported: await loadReported(id, labels, signal),
    kept: await loadKept(id, query.value, signal).catch(() => undefined),
  }));
  if (told.isLoading) return <Loading isScreen />;
  const { reported, kept } = told.data ?? {};
  if (!reported && !kept) return <Failure error={error} retry={retry} isScreen />;
  const { address = id, state = 'deleted', endedAt = null, messageCount = null } = reported ?? {};
  return (
    <>
      <ScreenHead title="Why nothing came" lead={<span class="address">{address}</span>} />
      <div class="page">
        <section class="verdict">
          <h2>
            This inbox {reported ? (state === 'deleted' ? 'was deleted' : 'has expired') : 'has ended'}{' '}
            {endedAt && <Ago time={endedAt} />}
          </h2>
          <p>
            {messageCount === null
              ? 'Its mail can no longer be read. '
              : `It had received ${plural(messageCount, 'mail')}, which can no longer be read. `}
            Below is what is kept for 24 hours.
          </p>
          {mayWrite.value && (
            <Button kind="primary" icon="plus" onClick={() => navigate(href('/inboxes', { new: '1' }))}>
              Create another inbox
            </Button>
          )}
        </section>
        {kept && <Explanation inbox={{ id, address }} explanation={kept.explanation} wait={kept} />}
        <Told reported={reported} kept={kept} />
      </div>
    </>
  );
}

/** Why no mail of an inbox meets the conditions of a wait: one wait that does not wait, in words. */
export function Why({ id }: { id: string }) {
  const search = query.value;
  const [isOpen, setOpen] = useState(() => isEmpty(waitIn(search)));
  const looked = useQuery(`why ${id} ${search}`, (signal) => look(id, search, () => setOpen(false), signal));
  useKeys({ r: looked.reload, Escape: () => navigate(href(`/inboxes/${id}`)) });
  if (isGone(looked.error)) {
    return (
      <div class="screen">
        <Ended id={id} error={looked.error} retry={looked.reload} />
      </div>
    );
  }
  // Without conditions there is no answer yet, and the form comes first.
  const isFirst = isEmpty(waitIn(search)) && !search.has('wait');
  const edit = () => {
    setOpen(true);
    afterLayout(() => document.querySelector<HTMLElement>(`#${CONDITIONS_ID} input`)?.focus());
  };
  const form = <Conditions isOpen={isOpen} onToggle={setOpen} onSame={looked.reload} />;
  return (
    <div class="screen">
      <ScreenHead
        title="Why nothing came"
        lead={
          <a class="address" href={href(`/inboxes/${id}`)}>
            {looked.data?.inbox.address ?? id}
          </a>
        }
      />
      <div class="page">
        {isFirst && form}
        <Loaded query={looked}>
          {(data) => (
            <>
              {data.result.explanation ? (
                <Explanation
                  inbox={data.inbox}
                  explanation={data.result.explanation}
                  wait={data.kept}
                  onEdit={edit}
                />
              ) : (
                <Matched wait={waitIn(search)} looked={data} />
              )}
              {!isFirst && form}
              <Told reported={data.reported} kept={data.kept} />
            </>
          )}
        </Loaded>
      </div>
    </div>
  );
}
