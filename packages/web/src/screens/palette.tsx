import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { loadInboxes } from '../lib/pages.ts';
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
}

/** Entries that are shown at once. */
const MAX_SHOWN = 40;

function entriesFor(inboxes: readonly { id: string; address: string }[]): Entry[] {
  const who = session.value;
  if (!who) return [];
  const go = (to: string) => () => navigate(href(to));
  return [
    ...placesOf(who).map(({ to, label, icon }) => ({ id: to, label, hint: 'screen', icon, run: go(to) })),
    ...(mayWrite.value
      ? [
          {
            id: 'new inbox',
            label: 'New inbox',
            hint: 'verb',
            icon: 'plus' as const,
            run: () => navigate(href('/inboxes', { new: '1' })),
          },
          {
            id: 'new key',
            label: 'New API key',
            hint: 'verb',
            icon: 'key' as const,
            run: () => navigate(href('/keys', { new: '1' })),
          },
          {
            id: 'new webhook',
            label: 'New webhook',
            hint: 'verb',
            icon: 'hook' as const,
            run: () => navigate(href('/webhooks', { new: '1' })),
          },
        ]
      : []),
    { id: 'theme', label: 'Change the colours', hint: 'verb', icon: 'sun', run: nextTheme },
    { id: 'out', label: 'Sign out', hint: 'verb', icon: 'out', run: () => void signOut() },
    ...inboxes.map(({ id, address }) => ({
      id,
      label: address,
      hint: 'inbox',
      icon: 'inbox' as const,
      run: go(`/inboxes/${id}`),
    })),
  ];
}

/** Goes to any screen or inbox, and does any verb, by typing a part of its name. */
export function Palette({ onClose }: { onClose: () => void }) {
  const [words, setWords] = useState('');
  const [at, setAt] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  const hasAccount = session.value?.account !== null;
  const newest = useQuery('palette', async (signal) =>
    hasAccount ? await mayfly.call('GET /v1/inboxes', { query: { limit: 200 }, signal }) : null,
  );
  // Older inboxes are found too, and cost requests only when one types.
  const isWhole = words !== '' && (newest.data?.hasMore ?? false);
  const all = useQuery(`palette ${isWhole}`, async (signal) =>
    isWhole ? loadInboxes({}, signal) : undefined,
  );
  const inboxes = all.data ?? newest.data?.inboxes;
  const shown = useMemo(() => {
    const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
    return entriesFor(inboxes ?? [])
      .filter(({ label, hint }) => wanted.every((word) => `${label} ${hint}`.toLowerCase().includes(word)))
      .slice(0, MAX_SHOWN);
  }, [words, inboxes]);
  useEffect(() => setAt(0), [words]);
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' });
  }, [at]);
  const run = (entry: Entry | undefined) => {
    if (!entry) return;
    onClose();
    entry.run();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      setAt((at + step + shown.length) % Math.max(1, shown.length));
    } else if (event.key === 'Enter') {
      event.preventDefault();
      run(shown[at]);
    }
  };
  return (
    <Dialog title="Go to" onClose={onClose}>
      <div class="palette">
        <input
          autofocus
          role="combobox"
          aria-label="Screen, verb or address"
          aria-expanded="true"
          aria-controls="palette-list"
          aria-activedescendant={shown[at] ? `palette-${at}` : undefined}
          placeholder="Screen, verb or address"
          value={words}
          onInput={(event) => setWords(event.currentTarget.value)}
          onKeyDown={onKeyDown}
        />
        <ul id="palette-list" role="listbox" aria-label="Results" ref={list}>
          {shown.map((entry, index) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the combobox.
            // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the combobox.
            <li
              key={entry.id}
              id={`palette-${index}`}
              role="option"
              aria-selected={index === at}
              onPointerMove={() => setAt(index)}
              onClick={() => run(entry)}
            >
              <Icon name={entry.icon} />
              <span class="cut">{entry.label}</span>
              <span class="muted small">{entry.hint}</span>
            </li>
          ))}
        </ul>
        {shown.length === 0 && <p class="dialog-body muted">Nothing has that name.</p>}
      </div>
    </Dialog>
  );
}

const KEYS: [key: string, words: string][] = [
  ['j / k', 'next, previous row or message'],
  ['Home / End', 'first, last row'],
  ['Enter', 'open the row'],
  ['u / Esc', 'back to the same row'],
  ['/', 'search'],
  ['n', 'new inbox'],
  ['c', 'copy the address'],
  ['x', 'copy the best code'],
  ['1 – 9', 'views of a message'],
  ['r', 'load again'],
  ['Delete', 'delete, with undo'],
  ['p', 'pause the live list'],
  ['g i', 'inboxes'],
  ['g l', 'live'],
  ['g y', 'why nothing came'],
  ['g r', 'test runs'],
  ['g c', 'connect'],
  ['g w', 'webhooks'],
  ['g u', 'usage'],
  ['g k', 'API keys'],
  ['g d', 'domains'],
  ['Ctrl K', 'go to…'],
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
