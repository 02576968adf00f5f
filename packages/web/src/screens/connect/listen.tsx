import type { api } from '@mayfly/client';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { attempt } from '../../lib/actions.ts';
import { person, recipient, showOverrides } from '../../lib/format.ts';
import { connection } from '../../lib/live.ts';
import { type Query, useQuery } from '../../lib/query.ts';
import { href, navigate, query, setQuery } from '../../lib/router.ts';
import { mayfly, mayWrite, session } from '../../lib/session.ts';
import { Ago, Button, CodeChip, CopyButton, ScreenHead, Snippet } from '../../ui/basics.tsx';
import { Icon, type IconName } from '../../ui/icons.tsx';
import { type Conversation, useConversations } from './conversations.ts';
import { SNIPPETS } from './snippets.ts';
import { sendTestMail } from './test-mail.ts';

/** The newest inbox that is no sink. */
async function newestInbox(signal: AbortSignal): Promise<api.Inbox | null> {
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

const ICONS: Record<Conversation['kind'], IconName> = {
  accepted: 'check',
  refused: 'close',
  handshake: 'warn',
};

/** One line of the conversations: what became of it, and what to do next. */
const Line = ({ kind, at, title, children }: Pick<Conversation, 'kind' | 'at'> & LineProps) => (
  <li class={`conversation ${kind}`}>
    <Icon name={ICONS[kind]} />
    <div class="row-line">
      <b class="cut" dir="auto">
        {title}
      </b>
      <Ago time={at} />
    </div>
    <div class="small muted cell-long">{children}</div>
  </li>
);
interface LineProps {
  title: ComponentChildren;
  children: ComponentChildren;
}

const Accepted = ({ message, at }: { message: api.MessageSummary; at: string }) => (
  <Line
    kind="accepted"
    at={at}
    title={
      <a href={href(`/inboxes/${message.inboxId}/messages/${message.id}`)}>
        {showOverrides(message.subject) || '(no subject)'}
      </a>
    }
  >
    {person(message.from)} → {recipient(message)}
    {message.codes[0] && (
      <p class="big-code">
        <CodeChip value={message.codes[0].value} />
      </p>
    )}
  </Line>
);

const Refused = ({ refusal, at }: { refusal: api.RefusedMail; at: string }) => (
  <Line
    kind="refused"
    at={at}
    title={
      refusal.address ? (
        <a href={href('/why', { address: refusal.address })}>{refusal.address}</a>
      ) : (
        'no recipient'
      )
    }
  >
    <code>{refusal.reply || 'The connection ended without a mail.'}</code>
    <br />
    from {refusal.mailFrom || 'nobody (bounce)'} at {refusal.remoteAddress}, HELO {refusal.helo}
  </Line>
);

function Entry({ one }: { one: Conversation }) {
  if (one.kind === 'accepted') return <Accepted message={one.message} at={one.at} />;
  if (one.kind === 'refused') return <Refused refusal={one.refusal} at={one.at} />;
  return (
    <Line kind="handshake" at={one.at} title="A TLS handshake failed">
      {one.failure.reason}, from {one.failure.remoteAddress}
    </Line>
  );
}

/** Each conversation with the SMTP server as it happens, below a pulse. */
function Log({
  server,
  inboxId,
  onShow,
}: {
  server: string;
  inboxId: string | undefined;
  onShow: () => void;
}) {
  const { all, guess } = useConversations(inboxId);
  const hasMail = all.some(({ kind }) => kind === 'accepted');
  const isOpen = connection.value === 'open';
  return (
    <section class="panel log" aria-label="Conversations with the SMTP server">
      <p class="pulse">
        <i class={`dot ${connection.value}`} />
        <b>{isOpen ? 'Listening' : 'Connecting'}</b> <span class="mono">{server}</span>
      </p>
      <div role="status">
        {hasMail ? (
          <p>
            <Button onClick={onShow}>Show all mail</Button>
          </p>
        ) : (
          all.length === 0 && <p class="muted">{guess || 'Waiting for the first mail.'}</p>
        )}
      </div>
      <ol>
        {all.map((one) => (
          <Entry key={one.id} one={one} />
        ))}
      </ol>
    </section>
  );
}

const Value = ({ name, value, what }: { name: string; value: string; what: string }) => (
  <div class="value">
    <dt>{name}</dt>
    <dd class="mono">
      {value} <CopyButton value={value} what={what} />
    </dd>
  </div>
);

/** What the settings and snippets are filled with. */
function valuesOf(inbox: api.Inbox | null | undefined) {
  const { smtp, domains = [] } = session.value?.server ?? {};
  const isAny = smtp?.host === '0.0.0.0' || smtp?.host === '::';
  return {
    host: isAny ? location.hostname : (smtp?.host ?? location.hostname),
    port: smtp?.port ?? 2525,
    address: inbox?.address ?? `inbox@${domains[0] ?? 'mayfly.test'}`,
    inboxId: inbox?.id ?? 'INBOX_ID',
    url: location.origin,
  };
}

/** SMTP settings of the application, with the values of this server, and code for its framework. */
function Settings({ inbox, onCreate }: { inbox: Query<api.Inbox | null>; onCreate: () => void }) {
  const values = valuesOf(inbox.data);
  const tlsPort = session.value?.server.smtp?.tlsPort;
  const current = SNIPPETS.find(({ id }) => id === query.value.get('for')) ?? SNIPPETS[0];
  return (
    <section class="panel" aria-label="SMTP settings of the application">
      <dl class="values">
        <Value name="Host" value={values.host} what="the host" />
        <Value name="Port" value={String(values.port)} what="the port" />
        {tlsPort && <Value name="Port with TLS" value={String(tlsPort)} what="the port with TLS" />}
        {inbox.data && <Value name="Recipient" value={inbox.data.address} what="the address" />}
      </dl>
      {mayWrite.value && (
        <p>
          <Button icon="plus" onClick={onCreate}>
            A fresh inbox
          </Button>
        </p>
      )}
      {session.value?.server.sink && <Sink />}
      <p class="small muted">
        No user or password. With the id of an inbox and its read token, all mail of the application goes to
        that inbox.
      </p>
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset would need a visible legend. */}
      <div class="choices" role="group" aria-label="Framework">
        {SNIPPETS.map(({ id, label }) => (
          <Button
            key={id}
            kind="quiet"
            aria-pressed={id === current?.id}
            onClick={() => setQuery({ for: id })}
          >
            {label}
          </Button>
        ))}
      </div>
      {current && <Snippet what={`the settings for ${current.label}`} text={current.text(values)} />}
    </section>
  );
}

const showLive = () => navigate(href('/live'));

/** Where an application sends its mail, and what comes: the first screen until there is mail, and Connect later. */
export function Listen({ title = 'Connect', onShow = showLive }: { title?: string; onShow?: () => void }) {
  const inbox = useQuery('newest inbox', newestInbox);
  const [isBusy, setBusy] = useState(false);
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
    if (to) await sendTestMail(to.id, to.address);
    setBusy(false);
  };
  const { host, port } = valuesOf(inbox.data);
  return (
    <div class="screen">
      <ScreenHead
        title={title}
        lead="Point the mail settings of your application here. Each attempt to send shows at once."
      >
        {mayWrite.value && (
          <Button kind="primary" icon="send" disabled={isBusy} onClick={() => void test()}>
            Send a test mail
          </Button>
        )}
        <a class="button" href={href('/why')}>
          <Icon name="question" /> Why nothing came
        </a>
      </ScreenHead>
      <div class="page listen">
        <Log server={`${host}:${port}`} inboxId={inbox.data?.id} onShow={onShow} />
        <Settings inbox={inbox} onCreate={() => void create()} />
      </div>
    </div>
  );
}
