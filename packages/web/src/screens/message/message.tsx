import type { api } from '@mayfly/client';
import type { ComponentType } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { setHidden } from '../../lib/actions.ts';
import { bytes, count, PROVIDER_TITLES, person, showOverrides } from '../../lib/format.ts';
import { useKeys } from '../../lib/keys.ts';
import { mark, marksOf } from '../../lib/marks.ts';
import { isGone, useQuery } from '../../lib/query.ts';
import { query, setQuery } from '../../lib/router.ts';
import { mayfly, mayWrite } from '../../lib/session.ts';
import { showTitle } from '../../lib/title.ts';
import { Ago, Badge, Button, CodeChip, CopyButton, IconButton } from '../../ui/basics.tsx';
import { Icon } from '../../ui/icons.tsx';
import { later } from '../../ui/later.tsx';
import { Loaded } from '../../ui/states.tsx';
import { type Tab, Tabs } from '../../ui/tabs.tsx';
import { TagField } from '../../ui/tag-field.tsx';
import { Codes, firstLink } from './codes.tsx';
import { Preview } from './preview.tsx';
import { TextView } from './text.tsx';

interface MessagePaneProps {
  inboxId: string;
  messageId: string;
  onBack: () => void;
  onNext: (() => void) | undefined;
  onPrevious: (() => void) | undefined;
  onDelete: () => void;
}

/** More people and files are shown when asked for: a mail to hundreds would push its text off the page. */
const MAX_PEOPLE = 5;

function Group({ label, people }: { label: string; people: readonly api.MailAddress[] }) {
  const [isWhole, setWhole] = useState(false);
  if (people.length === 0) return null;
  const shown = isWhole || people.length <= MAX_PEOPLE + 1 ? people : people.slice(0, MAX_PEOPLE);
  return (
    <p dir="auto">
      <span class="muted">{label} </span>
      {shown.map(({ name, address }, index) => (
        <span key={address}>
          {index > 0 && ', '}
          {name && (
            <>
              <bdi>{showOverrides(name)}</bdi>{' '}
            </>
          )}
          <bdi class={name ? 'muted' : ''}>{showOverrides(name ? `<${address}>` : address)}</bdi>
        </span>
      ))}{' '}
      {shown.length < people.length && (
        <Button kind="quiet" class="in-text" onClick={() => setWhole(true)}>
          and {count(people.length - shown.length)} more
        </Button>
      )}
    </p>
  );
}

const RESULTS: Record<string, 'ok' | 'bad' | 'warn'> = {
  pass: 'ok',
  fail: 'bad',
  softfail: 'warn',
  permerror: 'bad',
};

/** How the mail came where that is worth knowing; what is so for every local mail stands with the details. */
function Badges({ message }: { message: api.Message }) {
  const { envelope, authentication, from, parseError } = message;
  const { via } = envelope;
  const isOther = from !== null && envelope.mailFrom !== from.address;
  if (!authentication && !isOther && !parseError && !via) return null;
  return (
    <div class="badges">
      {(['spf', 'dkim', 'dmarc'] as const).map(
        (check) =>
          authentication?.[check] && (
            <Badge key={check} kind={RESULTS[authentication[check]]}>
              {check.toUpperCase()} {authentication[check]}
            </Badge>
          ),
      )}
      {via && <Badge kind="info">via {PROVIDER_TITLES[via]}</Badge>}
      {isOther && <Badge kind="info">envelope from {envelope.mailFrom || 'nobody (bounce)'}</Badge>}
      {parseError && <Badge kind="bad">not read in full</Badge>}
    </div>
  );
}

/** Who wrote to whom, in one line; all of it when asked for. */
function People({ message }: { message: api.Message }) {
  const { from, to, cc, replyTo, receivedAt, envelope, authentication } = message;
  return (
    <details class="people">
      <summary>
        <span class="cut">
          <bdi>{person(from)}</bdi> <span class="muted">to</span>{' '}
          <bdi>{envelope.rcptTo[0] ?? to[0]?.address}</bdi>
        </span>
        <Ago time={receivedAt} />
      </summary>
      <Group label="From" people={from ? [from] : []} />
      <Group label="To" people={to} />
      <Group label="Cc" people={cc} />
      <Group label="Reply to" people={replyTo} />
      <p class="muted">
        Received at <span class="mono">{receivedAt.slice(11, 19)}</span> UTC, for{' '}
        <span class="mono">{envelope.rcptTo.join(', ')}</span>, {bytes(message.size)},{' '}
        {envelope.tls ? 'with TLS' : 'without TLS'}
        {!authentication && ', sender not checked'}
      </p>
    </details>
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

/** The views in the order of their keys, which are the same for every mail. */
const rare = () => import('./rare.ts');
const VIEWS: Record<string, ComponentType<{ message: api.Message }>> = {
  html: Preview,
  text: TextView,
  codes: Codes,
  headers: later(async () => (await rare()).Headers),
  parts: later(async () => (await rare()).Parts),
  source: later(async () => (await rare()).Source),
  json: later(async () => (await rare()).Json),
  timeline: later(async () => (await rare()).Timeline),
  lint: later(async () => (await rare()).Lint),
};

function Body({ message }: { message: api.Message }) {
  const tabs = tabsOf(message);
  const wanted = query.value.get('view');
  const current = tabs.find(({ id }) => id === wanted)?.id ?? tabs[0]?.id ?? 'text';
  const select = (view: string) => setQuery({ view: view === tabs[0]?.id ? null : view });
  const View = VIEWS[current] ?? TextView;
  return (
    <Tabs label="Views of the message" tabs={tabs} current={current} onSelect={select}>
      <View message={message} />
    </Tabs>
  );
}

function Subject({ message }: { message: api.Message }) {
  const subject = showOverrides(message.subject) || '(no subject)';
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    showTitle(subject, message.inboxId);
    // A row of the list keeps the focus, so that one can go on from there.
    if (!document.activeElement?.closest('.pane-list')?.checkVisibility())
      heading.current?.focus({ preventScroll: true });
  }, [message.id]);
  return (
    <h1 ref={heading} tabIndex={-1} dir="auto">
      {subject}
    </h1>
  );
}

/** A message with all its views. */
export function MessagePane({ inboxId, messageId, onBack, onNext, onPrevious, onDelete }: MessagePaneProps) {
  const message = useQuery(`message ${messageId}`, (signal) =>
    mayfly.call('GET /v1/inboxes/{id}/messages/{messageId}', { path: { id: inboxId, messageId }, signal }),
  );
  useEffect(() => void rare().catch(() => undefined), []);
  const isDeleted = isGone(message.error);
  const { data: read } = message;
  // What is shown was read; a mail that is marked as unread stays so until it is opened again.
  useEffect(() => {
    if (read?.readAt === null) mark([read], () => ({ read: true }));
  }, [read]);
  const isRead = read !== undefined && marksOf(read).readAt !== null;
  const toggleRead = () => read && mark([read], ({ readAt }) => ({ read: readAt === null }));
  // The keys of the views are there before the mail is.
  const tabs = read && tabsOf(read).map(({ id }) => id);
  const views = Object.keys(VIEWS).map((view, index) => [
    String(index + 1),
    () => {
      if (!tabs || tabs.includes(view)) setQuery({ view: view === tabs?.[0] ? null : view });
    },
  ]);
  const [isReplying, setReplying] = useState(false);
  useKeys({ e: toggleRead, ...Object.fromEntries(views) });
  // Somebody else deleted it: its row goes as well.
  useEffect(() => {
    if (isDeleted) setHidden([messageId], true);
  }, [isDeleted, messageId]);
  return (
    <div class="message">
      <Loaded query={message} isScreen>
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
                  data-tip="Download as .eml"
                  aria-label="Download as .eml"
                >
                  <Icon name="download" />
                </a>
                {mayWrite.value && (
                  <>
                    <IconButton
                      icon={isRead ? 'unread' : 'check'}
                      label={isRead ? 'Mark as unread' : 'Mark as read'}
                      onClick={toggleRead}
                    />
                    <IconButton icon="reply" label="Reply" onClick={() => setReplying(true)} />
                    <IconButton icon="trash" label="Delete the message" onClick={onDelete} />
                  </>
                )}
              </div>
              <People message={data} />
              <Badges message={data} />
              <Finds message={data} />
            </header>
            <Body message={data} />
            {isReplying && <ReplyDialog message={data} onClose={() => setReplying(false)} />}
          </>
        )}
      </Loaded>
    </div>
  );
}

const ReplyDialog = later(async () => (await rare()).ReplyDialog);
const AttachmentDialog = later(async () => (await rare()).AttachmentDialog);

/** Attachments as buttons that show them. */
function Attachments({ message }: { message: api.Message }) {
  const [shown, setShown] = useState<api.Attachment | null>(null);
  const files = message.attachments.filter(({ disposition }) => disposition === 'attachment');
  return (
    <>
      {files.slice(0, MAX_PEOPLE).map((part) => (
        <Button key={part.id} icon="clip" class="file" onClick={() => setShown(part)}>
          <span class="cut">{showOverrides(part.filename ?? 'no name')}</span>
          <span class="small muted">{bytes(part.size)}</span>
        </Button>
      ))}
      {files.length > MAX_PEOPLE && (
        <Button kind="quiet" onClick={() => setQuery({ view: 'parts' })}>
          and {count(files.length - MAX_PEOPLE)} more
        </Button>
      )}
      {shown && <AttachmentDialog message={message} part={shown} onClose={() => setShown(null)} />}
    </>
  );
}

/** Tags, each with a button that removes it, and a field for another one. */
function Tags({ message }: { message: api.Message }) {
  const [isAdding, setAdding] = useState(false);
  const { tags } = marksOf(message);
  const set = (next: (tags: string[]) => string[]) =>
    mark([message], ({ tags: former }) => ({ tags: next(former) }));
  if (!mayWrite.value) return tags.map((tag) => <Badge key={tag}>{tag}</Badge>);
  return (
    <>
      {tags.map((tag) => (
        <Button
          key={tag}
          icon="close"
          class="tag"
          title={`Remove the tag ${tag}`}
          onClick={() => set((all) => all.filter((one) => one !== tag))}
        >
          {tag}
        </Button>
      ))}
      {isAdding ? (
        <TagField
          label="New tag"
          onAdd={(tag) => set((all) => [...new Set([...all, tag])])}
          onDone={() => setAdding(false)}
        />
      ) : (
        <Button kind="quiet" icon="plus" onClick={() => setAdding(true)}>
          Tag
        </Button>
      )}
    </>
  );
}

/** What a test usually needs of a mail: its code, its link and its files. */
function Finds({ message }: { message: api.Message }) {
  const link = firstLink(message);
  return (
    <div class="finds">
      {message.codes.slice(0, 3).map(({ value }) => (
        <CodeChip key={value} value={value} />
      ))}
      {link && (
        <CopyButton value={link.href} what="the link">
          <Icon name="link" />
          <span class="cut" title={link.href}>
            {link.text || link.kind}
          </span>
        </CopyButton>
      )}
      {link && (
        <a
          class="icon-button"
          href={link.href}
          target="_blank"
          rel="noopener noreferrer"
          data-tip="Open in a new tab"
          aria-label="Open the link in a new tab"
        >
          <Icon name="external" />
        </a>
      )}
      <Attachments message={message} />
      <Tags message={message} />
    </div>
  );
}
