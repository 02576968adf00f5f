import type { api } from '@mayfly/client';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { bytes } from '../../lib/format.ts';
import { useKeys } from '../../lib/keys.ts';
import { useQuery } from '../../lib/query.ts';
import { query, setQuery } from '../../lib/router.ts';
import { mayfly, mayWrite } from '../../lib/session.ts';
import { Ago, Badge, Button, CodeChip, IconButton } from '../../ui/basics.tsx';
import { Loaded } from '../../ui/states.tsx';
import { type Tab, Tabs } from '../../ui/tabs.tsx';
import { Codes, firstLink } from './codes.tsx';
import { Headers } from './headers.tsx';
import { Json } from './json.tsx';
import { Lint } from './lint.tsx';
import { Parts } from './parts.tsx';
import { Preview } from './preview.tsx';
import { Source } from './source.tsx';
import { TextView } from './text.tsx';
import { Timeline } from './timeline.tsx';

interface MessagePaneProps {
  inboxId: string;
  messageId: string;
  onBack: () => void;
  onNext: (() => void) | undefined;
  onPrevious: (() => void) | undefined;
  onDelete: () => void;
}

const People = ({ label, people }: { label: string; people: readonly api.MailAddress[] }) =>
  people.length === 0 ? null : (
    <p>
      <span class="muted">{label} </span>
      {people.map(({ name, address }, index) => (
        <span key={address}>
          {index > 0 && ', '}
          {name && `${name} `}
          <span class={name ? 'muted' : ''}>{name ? `<${address}>` : address}</span>
        </span>
      ))}
    </p>
  );

const RESULTS: Record<string, 'ok' | 'bad' | 'warn'> = {
  pass: 'ok',
  fail: 'bad',
  softfail: 'warn',
  permerror: 'bad',
};

/** How the mail came: what the headers do not say. */
function Badges({ message }: { message: api.Message }) {
  const { envelope, authentication } = message;
  const author = message.from?.address;
  return (
    <div class="badges">
      <Badge kind={envelope.tls ? 'ok' : undefined}>{envelope.tls ? 'TLS' : 'no TLS'}</Badge>
      {authentication &&
        (['spf', 'dkim', 'dmarc'] as const).map(
          (check) =>
            authentication[check] && (
              <Badge key={check} kind={RESULTS[authentication[check]]}>
                {check.toUpperCase()} {authentication[check]}
              </Badge>
            ),
        )}
      {!authentication && <Badge>sender not checked</Badge>}
      {author && envelope.mailFrom !== author && (
        <Badge kind="info">envelope from {envelope.mailFrom || 'nobody (bounce)'}</Badge>
      )}
      {message.parseError && <Badge kind="bad">not read in full</Badge>}
      <span class="small muted">{bytes(message.size)}</span>
    </div>
  );
}

function tabsOf({ html, text, codes, links, headers, attachments }: api.Message): Tab[] {
  return [
    ...(html === null ? [] : [{ id: 'html', label: 'HTML' }]),
    ...(text === null && html !== null ? [] : [{ id: 'text', label: 'Text' }]),
    { id: 'codes', label: 'Codes & links', count: codes.length + links.length },
    { id: 'headers', label: 'Headers', count: headers.length },
    { id: 'parts', label: 'Parts', count: attachments.length },
    { id: 'source', label: 'Source' },
    { id: 'json', label: 'JSON' },
    { id: 'timeline', label: 'Timeline' },
    { id: 'lint', label: 'Lint' },
  ];
}

const VIEWS: Record<string, (props: { message: api.Message }) => ComponentChildren> = {
  html: Preview,
  text: TextView,
  codes: Codes,
  headers: Headers,
  parts: Parts,
  source: Source,
  json: Json,
  timeline: Timeline,
  lint: Lint,
};

function Body({ message }: { message: api.Message }) {
  const tabs = tabsOf(message);
  const wanted = query.value.get('view');
  const current = tabs.find(({ id }) => id === wanted)?.id ?? tabs[0]?.id ?? 'text';
  const select = (view: string) => setQuery({ view: view === tabs[0]?.id ? null : view });
  useKeys(Object.fromEntries(tabs.map(({ id }, index) => [String(index + 1), () => select(id)])));
  const View = VIEWS[current] ?? TextView;
  return (
    <Tabs label="Views of the message" tabs={tabs} current={current} onSelect={select}>
      <View message={message} />
    </Tabs>
  );
}

function Subject({ message }: { message: api.Message }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${message.subject || '(no subject)'} · Mayfly`;
    // A row of the list keeps the focus, so that one can go on from there.
    if (!document.activeElement?.closest('.pane-list')?.checkVisibility())
      heading.current?.focus({ preventScroll: true });
  }, [message.id]);
  return (
    <h1 ref={heading} tabIndex={-1}>
      {message.subject || '(no subject)'}
    </h1>
  );
}

/** A message with all its views. */
export function MessagePane({ inboxId, messageId, onBack, onNext, onPrevious, onDelete }: MessagePaneProps) {
  const message = useQuery(`message ${messageId}`, (signal) =>
    mayfly.call('GET /v1/inboxes/{id}/messages/{messageId}', { path: { id: inboxId, messageId }, signal }),
  );
  return (
    <div class="message">
      <Loaded query={message}>
        {(data) => (
          <>
            <header class="message-head">
              <div class="message-top">
                <IconButton icon="back" label="Back to the list" onClick={onBack} />
                <Subject message={data} />
                <IconButton icon="up" label="Newer message" disabled={!onPrevious} onClick={onPrevious} />
                <IconButton icon="down" label="Older message" disabled={!onNext} onClick={onNext} />
                <a
                  class="icon-button"
                  href={data.rawUrl}
                  download={`${data.id}.eml`}
                  title="Download as .eml"
                  aria-label="Download as .eml"
                >
                  <DownloadIcon />
                </a>
                {mayWrite.value && <IconButton icon="trash" label="Delete the message" onClick={onDelete} />}
              </div>
              <div class="people">
                <People label="From" people={data.from ? [data.from] : []} />
                <People label="To" people={data.to} />
                <People label="Cc" people={data.cc} />
                <People label="Reply to" people={data.replyTo} />
                <p class="muted">
                  Received <Ago time={data.receivedAt} /> for{' '}
                  <span class="mono">{data.envelope.rcptTo.join(', ')}</span>
                </p>
              </div>
              <Badges message={data} />
              <Finds message={data} />
            </header>
            <Body message={data} />
          </>
        )}
      </Loaded>
    </div>
  );
}

const DownloadIcon = () => (
  <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
    <path d="M8 2.5v7.5M5 7.2 8 10.2l3-3M3 13.5h10" />
  </svg>
);

/** What a test usually needs of a mail: its code and its link. */
function Finds({ message }: { message: api.Message }) {
  const link = firstLink(message);
  if (message.codes.length === 0 && !link) return null;
  return (
    <div class="finds">
      {message.codes.slice(0, 3).map(({ value }) => (
        <CodeChip key={value} value={value} />
      ))}
      {link && (
        <Button icon="next" class="link-button" onClick={() => setQuery({ view: 'codes' })} title={link.href}>
          {link.text || link.kind}
        </Button>
      )}
    </div>
  );
}
