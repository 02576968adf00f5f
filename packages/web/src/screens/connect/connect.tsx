import { useState } from 'preact/hooks';
import { attempt } from '../../lib/actions.ts';
import { useQuery } from '../../lib/query.ts';
import { href, navigate, query, setQuery } from '../../lib/router.ts';
import { mayfly, mayWrite, session } from '../../lib/session.ts';
import { Button, CopyButton, ScreenHead, Snippet } from '../../ui/basics.tsx';
import { Loaded } from '../../ui/states.tsx';
import { SNIPPETS } from './snippets.ts';
import { sendTestMail } from './test-mail.ts';

/** The newest inbox that is no sink. */
async function newestInbox(signal: AbortSignal) {
  const { inboxes } = await mayfly.call('GET /v1/inboxes', { query: { limit: 10 }, signal });
  return inboxes.find(({ labels }) => labels.mayfly !== 'sink') ?? null;
}

/** Where mail goes that no inbox takes. The sink may be another account's. */
function Sink() {
  const found = useQuery('sink', (signal) =>
    mayfly.call('GET /v1/inboxes', { query: { 'label.mayfly': 'sink', limit: 1 }, signal }),
  );
  const [sink] = found.data?.inboxes ?? [];
  if (!found.data) return <p class="muted">The sink is on: mail to any address is taken.</p>;
  return (
    <p class="muted">
      The sink is on: mail to any address is taken
      {sink ? (
        <>
          , and is in <a href={href(`/inboxes/${sink.id}`)}>the sink of this account</a>.
        </>
      ) : (
        '. What no inbox takes goes to the sink of another account.'
      )}
    </p>
  );
}

/** How an application and its tests use this server, with its real values. */
export function Connect() {
  const inbox = useQuery('newest inbox', newestInbox);
  const [isBusy, setBusy] = useState(false);
  const smtp = session.value?.server.smtp;
  const domain = session.value?.server.domains[0] ?? 'mayfly.test';
  const current = SNIPPETS.find(({ id }) => id === query.value.get('for')) ?? SNIPPETS[0];
  const create = async () => {
    const created = await attempt(() =>
      mayfly.call('POST /v1/inboxes', { body: { labels: { made: 'console' } } }),
    );
    if (created) inbox.set(created);
    return created;
  };
  const test = async () => {
    setBusy(true);
    const to = inbox.data ?? (await create());
    const id = to && (await sendTestMail(to.id, to.address));
    setBusy(false);
    if (to && id) navigate(href(`/inboxes/${to.id}/messages/${id}`));
  };
  const host =
    smtp?.host === '0.0.0.0' || smtp?.host === '::' ? location.hostname : (smtp?.host ?? location.hostname);
  const port = smtp?.port ?? 2525;
  const address = inbox.data?.address ?? `inbox@${domain}`;
  return (
    <div class="screen">
      <ScreenHead
        title="Connect"
        lead="Point an application’s mail settings here, and read its mail in tests."
      >
        {mayWrite.value && (
          <Button kind="primary" icon="send" disabled={isBusy} onClick={() => void test()}>
            Send a test mail
          </Button>
        )}
      </ScreenHead>
      <div class="page">
        <section class="panel">
          <h2>SMTP settings of the application</h2>
          <dl class="facts">
            <dt>Host</dt>
            <dd class="mono">
              {host} <CopyButton value={host} what="the host" />
            </dd>
            <dt>Port</dt>
            <dd class="mono">
              {port} <CopyButton value={String(port)} what="the port" />
            </dd>
            {smtp?.tlsPort && (
              <>
                <dt>Port with TLS</dt>
                <dd class="mono">{smtp.tlsPort}</dd>
              </>
            )}
            <dt>User and password</dt>
            <dd>
              none; or the id of an inbox and its read token, and then all mail of the application goes to
              that inbox
            </dd>
            <dt>Recipient</dt>
            <dd>
              <Loaded query={inbox} rows={1}>
                {(one) =>
                  one ? (
                    <span class="mono">
                      {one.address} <CopyButton value={one.address} what="the address" />
                    </span>
                  ) : (
                    <>any inbox at {domain}</>
                  )
                }
              </Loaded>
              {mayWrite.value && (
                <Button icon="plus" onClick={() => void create()}>
                  A fresh inbox
                </Button>
              )}
            </dd>
          </dl>
          {session.value?.server.sink && <Sink />}
        </section>
        <section class="steps">
          <div>
            <h2>In your framework</h2>
            {/* biome-ignore lint/a11y/useSemanticElements: a fieldset would need a visible legend. */}
            <div class="choices padded-line" role="group" aria-label="Framework">
              {SNIPPETS.map(({ id, label }) => (
                <Button key={id} aria-pressed={id === current?.id} onClick={() => setQuery({ for: id })}>
                  {label}
                </Button>
              ))}
            </div>
            {current && (
              <Snippet
                what={`the settings for ${current.label}`}
                text={current.text({
                  host,
                  port,
                  address,
                  inboxId: inbox.data?.id ?? 'INBOX_ID',
                  url: location.origin,
                })}
              />
            )}
          </div>
        </section>
        <p class="muted">
          Nothing arrives? <a href={href('/why')}>See why nothing came</a>.
        </p>
      </div>
    </div>
  );
}
