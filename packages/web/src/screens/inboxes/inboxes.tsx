import type { api } from '@mayfly/client';
import { useEffect, useRef, useState } from 'preact/hooks';
import { attempt, copy, deleteLater, toast, visible } from '../../lib/actions.ts';
import { onArrivals, openings } from '../../lib/arrivals.ts';
import { afterLayout, afterRender, keepFocus } from '../../lib/focus.ts';
import { count, plural } from '../../lib/format.ts';
import { useKeys } from '../../lib/keys.ts';
import { loadInboxes } from '../../lib/pages.ts';
import { type Query, useQuery } from '../../lib/query.ts';
import { href, navigate, query, setQuery } from '../../lib/router.ts';
import { mayfly, mayWrite, session } from '../../lib/session.ts';
import { Button, ScreenHead, SearchField, Snippet } from '../../ui/basics.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import { useFollowing } from '../../ui/search.tsx';
import { Loaded, Loading, Notice } from '../../ui/states.tsx';
import { focusedRow, focusRow, rowKeys, WindowList } from '../../ui/window-list.tsx';
import { labelParams, labelsIn } from '../runs/report.ts';
import { CreateInbox } from './create-inbox.tsx';
import { InboxRow, isSink } from './row.tsx';

function Empty({ onCreate }: { onCreate: () => void }) {
  const smtp = session.value?.server.smtp;
  return (
    <Notice icon="inbox" title="No inboxes yet">
      <p>
        Create one, and send mail to its address{smtp ? ` on ${smtp.host}:${smtp.port}` : ''}. Tests do the
        same with one request:
      </p>
      <Snippet
        what="the command"
        text={`curl -X POST ${location.origin}/v1/inboxes \\\n  -H "Authorization: Bearer $MAYFLY_API_KEY"`}
      />
      <p>
        {mayWrite.value && (
          <Button kind="primary" icon="plus" onClick={onCreate}>
            New inbox
          </Button>
        )}{' '}
        <a href={href('/connect')}>Connect an application</a>
      </p>
    </Notice>
  );
}

/** Deletes all inboxes with the labels of the filter, after it has said how many. */
function DeleteByLabel({
  labels,
  number,
  onDone,
}: {
  labels: Record<string, string>;
  number: number;
  onDone: () => void;
}) {
  const [isAsking, setAsking] = useState(false);
  const remove = async () => {
    const deleted = await attempt(() => mayfly.call('DELETE /v1/inboxes', { query: labelParams(labels) }));
    if (deleted !== undefined) toast(`${plural(deleted.deleted, 'inbox')} deleted`);
    onDone();
  };
  return (
    <>
      <Button kind="danger" icon="trash" onClick={() => setAsking(true)}>
        Delete all {count(number)}
      </Button>
      {isAsking && (
        <Confirm
          title="Delete inboxes"
          verb={`Delete ${plural(number, 'inbox')}`}
          onConfirm={remove}
          onClose={() => setAsking(false)}
        >
          <p>
            All inboxes with{' '}
            {Object.entries(labels)
              .map(([name, value]) => `${name}=${value}`)
              .join(', ')}{' '}
            and their messages are deleted at once. This cannot be undone.
          </p>
        </Confirm>
      )}
    </>
  );
}

interface Inboxes extends Query<api.Inbox[]> {
  /** True if there are older ones that were not loaded. */
  hasMore: boolean;
  /** True until the server has searched what is not loaded. */
  isSearching: boolean;
  loadWhole(): void;
}

/** A search begins when one has stopped to type for so long. */
const PAUSE_MS = 250;
/** As many characters as the API searches for. */
const MAX_WORDS = 200;

/** Mail for several new inboxes at once loads the list once. */
const RELOAD_MS = 500;

/** The inboxes of the account with these words, kept current while the component is shown. */
function useInboxes(labels: Record<string, string>, words: string): Inboxes {
  const isWhole = useRef(false);
  const hasMore = useRef(false);
  const key = JSON.stringify(labels);
  /** For which labels all inboxes are loaded: then none is left to search on the server. */
  const complete = useRef('');
  const wanted = words.trim().slice(0, MAX_WORDS);
  const loaded = useRef('');
  const list = useQuery(`inboxes ${key}`, async (signal) => {
    const q = complete.current === key ? '' : wanted;
    const query = { ...labelParams(labels), ...(q && { q }) };
    const { items, hasMore: more } = await loadInboxes(query, signal, isWhole.current);
    hasMore.current = more;
    loaded.current = q;
    complete.current = q === '' && !more ? key : '';
    return items;
  });
  const isLeft = complete.current !== key && loaded.current !== wanted;
  useEffect(() => {
    if (!isLeft) return;
    const timer = setTimeout(() => latest.current.reload(), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [wanted, isLeft]);
  const latest = useRef(list);
  latest.current = list;
  const lookedFor = useRef(new Set<string>());
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  // New mail moves the figures of its row. An inbox that is not in the list is looked for once: it may be new,
  // or the labels leave it out.
  useEffect(
    () =>
      onArrivals((arrivals) => {
        const { data, set } = latest.current;
        if (!data) return;
        const byId = new Map(data.map((one) => [one.id, one]));
        for (const { inboxId, message } of arrivals) {
          const inbox = byId.get(inboxId);
          if (!inbox && !lookedFor.current.has(inboxId)) {
            lookedFor.current.add(inboxId);
            clearTimeout(timer.current);
            timer.current = setTimeout(() => latest.current.reload(), RELOAD_MS);
          }
          if (!inbox) continue;
          const { messageCount, lastMessageAt } = inbox;
          if ((lastMessageAt ?? '') >= message.receivedAt) continue;
          byId.set(inboxId, { ...inbox, messageCount: messageCount + 1, lastMessageAt: message.receivedAt });
        }
        set([...byId.values()]);
      }),
    [],
  );
  const opened = openings.value;
  useEffect(() => {
    if (opened > 1) latest.current.reload();
  }, [opened]);
  const loadWhole = () => {
    if (isWhole.current || !hasMore.current) return;
    isWhole.current = true;
    list.reload();
  };
  return { ...list, hasMore: hasMore.current, isSearching: isLeft, loadWhole };
}

/** Words, and the labels by which the server filters. */
function Toolbar({ words, labels }: { words: string; labels: Record<string, string> }) {
  const input = useRef<HTMLInputElement>(null);
  const cancel = useRef<() => void>(() => undefined);
  const sent = useFollowing(input, words);
  useEffect(() => () => cancel.current(), []);
  return (
    <div class="toolbar">
      <SearchField
        ref={input}
        aria-label="Search inboxes"
        placeholder="Address or label; label=value and Enter for all with it"
        defaultValue={words}
        onInput={({ currentTarget: { value } }) => {
          // The letter is shown before the list is rendered again.
          cancel.current();
          cancel.current = afterLayout(() => {
            if (value !== words) sent(value);
            setQuery({ q: value });
          });
        }}
        onKeyDown={({ key, currentTarget }) => {
          if (key !== 'Enter') return;
          // `run=4711` filters on the server, by label.
          const label = /^([\w.-]+)=(.+)$/.exec(currentTarget.value);
          if (!label) return;
          cancel.current();
          currentTarget.value = '';
          setQuery({ q: null, [`label.${label[1]}`]: label[2] ?? '' });
        }}
      />

      {Object.entries(labels).map(([name, value]) => (
        <Button key={name} icon="close" onClick={() => setQuery({ [`label.${name}`]: null })}>
          {name}={value}
        </Button>
      ))}
    </div>
  );
}

/** What is searched of an inbox, made once for all letters that are typed. */
const texts = new WeakMap<api.Inbox, string>();

function textOf(inbox: api.Inbox): string {
  const known = texts.get(inbox);
  if (known !== undefined) return known;
  const pairs = Object.entries(inbox.labels).map(([name, value]) => `${name}=${value}`);
  const text = [inbox.address, ...pairs].join('\n').toLowerCase();
  texts.set(inbox, text);
  return text;
}

/** Those with each word in the address or in a label, as the server searches. */
function withWords(inboxes: readonly api.Inbox[], words: string): readonly api.Inbox[] {
  const wanted = words.toLowerCase().split(/\s+/);
  return inboxes.filter((inbox) => wanted.every((word) => textOf(inbox).includes(word)));
}

/** Moving in the list and deleting; also by keys. */
function useVerbs(list: Inboxes, shown: readonly api.Inbox[]) {
  const box = useRef<HTMLDivElement>(null);
  const remove = (inbox: api.Inbox | undefined) => {
    if (!inbox || isSink(inbox)) return;
    const index = shown.indexOf(inbox);
    deleteLater({
      ids: [inbox.id],
      text: `${inbox.address} is deleted`,
      remove: () => mayfly.call('DELETE /v1/inboxes/{id}', { path: { id: inbox.id } }),
    });
    afterRender(() => focusRow(box.current, Math.min(index, shown.length - 2)));
    // There may be no other row.
    keepFocus();
  };
  useKeys({
    ...rowKeys(box, shown.length),
    r: list.reload,
    c: () => {
      const inbox = shown[focusedRow()];
      if (inbox) void copy(inbox.address, 'the address');
    },
    ...(mayWrite.value && { n: create, Delete: () => remove(shown[focusedRow()]) }),
  });
  return box;
}

const create = () => setQuery({ new: '1' });
const renderRow = (inbox: api.Inbox) => <InboxRow inbox={inbox} />;

/** All live inboxes of the account. */
export function Inboxes() {
  const labels = labelsIn(query.value);
  const words = query.value.get('q') ?? '';
  const list = useInboxes(labels, words);
  const shown = withWords(visible(list.data ?? []), words);
  const box = useVerbs(list, shown);
  const isFiltered = Object.keys(labels).length > 0;
  return (
    <div class="screen fixed inboxes" ref={box}>
      <ScreenHead
        title="Inboxes"
        lead={
          list.data && (
            <>
              {list.hasMore ? `${count(shown.length)}+ live inboxes` : plural(shown.length, 'live inbox')}
              {words === '' && list.data.every(isSink) && (
                <>
                  {' · '}
                  <a href={href('/connect')}>Connect an application</a>
                </>
              )}
            </>
          )
        }
      >
        {isFiltered && (
          <a class="button" href={href('/runs', labelParams(labels))}>
            Report of the run
          </a>
        )}
        {mayWrite.value && isFiltered && shown.length > 0 && (
          <DeleteByLabel labels={labels} number={shown.length} onDone={list.reload} />
        )}
        {mayWrite.value && (
          <Button kind="primary" icon="plus" onClick={create}>
            New inbox
          </Button>
        )}
      </ScreenHead>
      <Toolbar words={words} labels={labels} />
      <Loaded query={list}>
        {(inboxes) =>
          inboxes.length === 0 && !isFiltered && words === '' ? (
            <Empty onCreate={create} />
          ) : shown.length === 0 && list.isSearching ? (
            <Loading rows={4} />
          ) : shown.length === 0 ? (
            <Notice icon="search" title="No inbox matches">
              <Button onClick={() => navigate(href('/inboxes'))}>Show all inboxes</Button>
            </Notice>
          ) : (
            <WindowList items={shown} label="Inboxes" render={renderRow} onEnd={list.loadWhole} />
          )
        }
      </Loaded>
      {query.value.has('new') && mayWrite.value && (
        <CreateInbox onCreated={list.reload} onClose={() => setQuery({ new: null })} />
      )}
    </div>
  );
}
