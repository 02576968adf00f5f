import type { api } from '@mayfly/client';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { copy, wordsOf } from '../lib/actions.ts';
import { person, recipient, showOverrides } from '../lib/format.ts';
import { useQuery } from '../lib/query.ts';
import { href, navigate } from '../lib/router.ts';
import { mayfly, mayWrite, session, signOut } from '../lib/session.ts';
import { nextTheme } from '../lib/theme.ts';
import { placesOf } from '../shell.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Icon, type IconName } from '../ui/icons.tsx';

interface Entry {
  id: string;
  label: string;
  hint: string;
  icon: IconName;
  run: () => void;
  /** The best code of a mail. */
  code?: string | undefined;
}

/** Entries of a kind that are shown at once. */
const MAX_SHOWN = 40;
const MAX_MAILS = 8;
/** Mails are searched when one has stopped to type for so long. */
const PAUSE_MS = 150;

const go = (to: string, params?: Record<string, string>) => () => navigate(href(to, params));

const verb = (id: string, label: string, icon: IconName, run: () => void): Entry => ({
  ...{ id, label, hint: 'verb', icon, run },
});

function verbs(): Entry[] {
  return [
    ...(mayWrite.value
      ? [
          verb('new inbox', 'New inbox', 'plus', go('/inboxes', { new: '1' })),
          verb('new key', 'New API key', 'key', go('/keys', { new: '1' })),
          verb('new webhook', 'New webhook', 'hook', go('/webhooks', { new: '1' })),
        ]
      : []),
    verb('theme', 'Change the colours', 'sun', nextTheme),
    verb('out', 'Sign out', 'out', () => void signOut()),
  ];
}

const mailEntry = (message: api.MessageSummary): Entry => {
  const { id, inboxId, subject, from, codes } = message;
  return {
    ...{ id, icon: 'send', code: codes[0]?.value },
    label: showOverrides(subject) || '(no subject)',
    hint: `${person(from)} → ${recipient(message)}`,
    run: go(`/inboxes/${inboxId}/messages/${id}`),
  };
};

/** The newest mails that match, as {@link api.MessageSummary}; a read token searches its inbox. */
async function findMails(q: string, signal: AbortSignal): Promise<api.MessageSummary[]> {
  const query = { limit: MAX_MAILS, q };
  const inboxId = session.value?.inbox?.id;
  const page = inboxId
    ? await mayfly.call('GET /v1/inboxes/{id}/messages', { path: { id: inboxId }, query, signal })
    : await mayfly.call('GET /v1/messages', { query, signal });
  return page.messages;
}

/** What one types, once one has stopped. */
function useSettled(words: string): string {
  const [settled, setSettled] = useState(words);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(words.trim()), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [words]);
  return settled;
}

/** The inboxes and runs of the account. Beyond a page of inboxes the server searches. */
function useNames(settled: string) {
  const hasAccount = session.value?.account !== null;
  const newest = useQuery('palette', async (signal) => {
    if (!hasAccount) return null;
    const [page, { labels }] = await Promise.all([
      mayfly.call('GET /v1/inboxes', { query: { limit: 200 }, signal }),
      mayfly.call('GET /v1/labels', { query: { limit: 200 }, signal }),
    ]);
    return { ...page, labels };
  });
  const q = newest.data?.hasMore ? settled : '';
  const found = useQuery(`palette inboxes ${q}`, async (signal) =>
    q === '' ? undefined : mayfly.call('GET /v1/inboxes', { query: { q, limit: MAX_SHOWN }, signal }),
  );
  const { inboxes, labels } = newest.data ?? { inboxes: [], labels: [] };
  const isLoading = newest.isLoading || found.isLoading;
  return { inboxes: found.data?.inboxes ?? inboxes, labels, isLoading };
}

/** Screens, verbs, inboxes and runs whose names have all words. */
function useEntries(words: string, settled: string): { entries: Entry[]; isLoading: boolean } {
  const { inboxes, labels, isLoading } = useNames(settled);
  const entries = useMemo(() => {
    const who = session.value;
    if (!who) return [];
    const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
    const matching = (entries: readonly Entry[]) =>
      entries.filter(({ label, hint }) =>
        wanted.every((word) => `${label} ${hint}`.toLowerCase().includes(word)),
      );
    const named = [
      ...placesOf(who).map(({ to, label, icon }) => ({ id: to, label, hint: 'screen', icon, run: go(to) })),
      ...verbs(),
    ];
    const runs = labels
      .filter(({ name }) => name !== 'mayfly')
      .map(({ name, value }) => {
        const label = `${name}=${value}`;
        const run = go('/runs', { [`label.${name}`]: value });
        return { id: label, label, hint: 'test run', icon: 'play' as const, run };
      });
    const own = inboxes.map(({ id, address }) => {
      return { id, label: address, hint: 'inbox', icon: 'inbox' as const, run: go(`/inboxes/${id}`) };
    });
    return [...matching(named), ...matching(own), ...matching(runs)].slice(0, MAX_SHOWN);
  }, [words, inboxes, labels]);
  return { entries, isLoading };
}

interface OptionProps {
  entry: Entry;
  index: number;
  isSelected: boolean;
  onSelect: () => void;
  onRun: () => void;
}

const Option = ({ entry, index, isSelected, onSelect, onRun }: OptionProps) => (
  // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the combobox.
  // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the combobox.
  <li
    id={`palette-${index}`}
    role="option"
    aria-selected={isSelected}
    onPointerMove={onSelect}
    onClick={onRun}
  >
    <Icon name={entry.icon} />
    <span class="cut" dir="auto">
      {entry.label}
    </span>
    {entry.code && <b class="code">{entry.code}</b>}
    <span class="muted small cut hint">{entry.hint}</span>
  </li>
);

const STEPS: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };

/** Finds mails, inboxes, runs, screens and verbs, and opens them. @param typed before this script was loaded */
export function Palette({ typed, onClose }: { typed: string; onClose: () => void }) {
  const [words, setWords] = useState(typed);
  const [at, setAt] = useState(0);
  /** True once an arrow has moved: letters are keys of the result then, as in a list. */
  const [isChoosing, setChoosing] = useState(false);
  const list = useRef<HTMLUListElement>(null);
  const settled = useSettled(words);
  const mails = useQuery(`palette mails ${settled}`, (signal) =>
    settled === '' ? Promise.resolve([]) : findMails(settled, signal),
  );
  const kept = useRef<readonly api.MessageSummary[]>([]);
  if (mails.data || mails.error !== undefined) kept.current = mails.data ?? [];
  const { entries, isLoading } = useEntries(words, settled);
  const shown = [...entries, ...(words === '' ? [] : kept.current.map(mailEntry))];
  const isSearching = words.trim() !== settled || mails.isLoading || isLoading;
  /** True from an Enter before something was found, until then. */
  const isEntered = useRef(false);
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' });
  }, [at]);
  const run = (entry: Entry | undefined) => {
    if (!entry) return;
    onClose();
    entry.run();
  };
  useLayoutEffect(() => {
    if (isSearching || !isEntered.current) return;
    isEntered.current = false;
    run(shown[0]);
  });
  const onKeyDown = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    const code = shown[at]?.code;
    if (step) {
      setChoosing(true);
      setAt((at + step + shown.length) % Math.max(1, shown.length));
    } else if (event.key === 'Enter') {
      // What is shown may be of the letters before.
      isEntered.current = isSearching && entries.length === 0 && !isChoosing;
      if (!isEntered.current) run(shown[at]);
    } else if (event.key === 'x' && code && isChoosing) void copy(code, `code ${code}`);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title="Find" onClose={onClose} isWide>
      <div class="palette">
        <input
          autofocus
          role="combobox"
          aria-label="Mail, inbox, run, screen or verb"
          aria-expanded="true"
          aria-controls="palette-list"
          aria-activedescendant={shown[at] ? `palette-${at}` : undefined}
          placeholder="Mail, inbox, run, screen or verb"
          value={words}
          onInput={(event) => {
            isEntered.current = false;
            setChoosing(false);
            setAt(0);
            setWords(event.currentTarget.value);
          }}
          onKeyDown={onKeyDown}
        />
        <ul id="palette-list" role="listbox" aria-label="Results" ref={list}>
          {shown.map((entry, index) => (
            <Option
              key={entry.id}
              entry={entry}
              index={index}
              isSelected={index === at}
              onSelect={() => setAt(index)}
              onRun={() => run(entry)}
            />
          ))}
        </ul>
        <p class="dialog-body muted small" role="status">
          {mails.error !== undefined
            ? wordsOf(mails.error)
            : shown.length === 0 && !isSearching
              ? 'Nothing matches.'
              : 'Enter opens; after an arrow key, x copies the code. Mails are searched as everywhere: from:shop code:482913 is:unread'}
        </p>
      </div>
    </Dialog>
  );
}

const KEYS: [key: string, words: string][] = [
  ['j / k', 'next, previous row or message'],
  ['Home / End', 'newest, oldest row'],
  ['Enter', 'open the row'],
  ['u / Esc', 'back to the same row'],
  ['/', 'search this list'],
  ['Ctrl K', 'find anything'],
  ['x', 'copy the best code'],
  ['c', 'copy the address'],
  ['s', 'select the row; Shift click selects several'],
  ['e', 'mark as read, or as unread'],
  ['Delete', 'delete, with undo'],
  ['n', 'new inbox'],
  ['1 – 9', 'HTML, text, codes, headers, parts, source, JSON, timeline, lint'],
  ['r', 'load again'],
  ['p', 'pause the live list'],
  ['g l', 'live'],
  ['g i', 'inboxes'],
  ['g y', 'why nothing came'],
  ['g r', 'test runs'],
  ['g c', 'connect'],
  ['g w', 'webhooks'],
  ['g u', 'usage'],
  ['g k', 'API keys'],
  ['g d', 'domains'],
  ['?', 'this help'],
];

/** The keys of the console. */
export const Help = ({ onClose }: { onClose: () => void }) => (
  <Dialog title="Keys" onClose={onClose} isWide>
    <dl class="dialog-body keys-help">
      {KEYS.map(([key, words]) => (
        <>
          <dt>
            <kbd>{key}</kbd>
          </dt>
          <dd>{words}</dd>
        </>
      ))}
    </dl>
  </Dialog>
);
