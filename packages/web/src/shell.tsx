import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import icon from './icon.svg';
import { dismiss, type Toast, toasts } from './lib/actions.ts';
import { keepFocus } from './lib/focus.ts';
import { count } from './lib/format.ts';
import { useShortcuts } from './lib/keys.ts';
import { connection, lastHeardAt, stale, startLive } from './lib/live.ts';
import { isNotifying, toggleNotifying } from './lib/notify.ts';
import { quota } from './lib/quota.ts';
import { href } from './lib/router.ts';
import { type Session, session, signOut } from './lib/session.ts';
import { nextTheme, theme } from './lib/theme.ts';
import { duration, now } from './lib/time.ts';
import { IconButton } from './ui/basics.tsx';
import { Dialog } from './ui/dialog.tsx';
import { Icon, type IconName } from './ui/icons.tsx';

interface Place {
  to: string;
  label: string;
  icon: IconName;
  key?: string;
}

/** The places of the rail, with the second key of `g …`. */
const PLACES: readonly Place[] = [
  { to: '/live', label: 'Live', icon: 'live', key: 'l' },
  { to: '/inboxes', label: 'Inboxes', icon: 'inbox', key: 'i' },
  { to: '/why', label: 'Why nothing came', icon: 'question', key: 'y' },
  { to: '/runs', label: 'Test runs', icon: 'play', key: 'r' },
  { to: '/connect', label: 'Connect', icon: 'plug', key: 'c' },
  { to: '/webhooks', label: 'Webhooks', icon: 'hook', key: 'w' },
  { to: '/usage', label: 'Usage', icon: 'chart', key: 'u' },
  { to: '/keys', label: 'API keys', icon: 'key', key: 'k' },
  { to: '/domains', label: 'Domains', icon: 'globe', key: 'd' },
];

/** Places of who is signed in: a read token has its inbox alone. */
export const placesOf = ({ inbox }: Session): readonly Place[] =>
  inbox ? [{ to: `/inboxes/${inbox.id}`, label: 'Inbox', icon: 'inbox' }] : PLACES;

function liveText(): string {
  const ago = duration(now.value - lastHeardAt.value);
  if (connection.value === 'connecting') return 'Connecting';
  if (connection.value === 'lost')
    return `${navigator.onLine ? 'Reconnecting' : 'This machine is offline'} · last update ${ago} ago`;
  return stale.value > 0 ? 'Out of date' : 'Live';
}

const LiveState = () => (
  <p class="live-state">
    <i class={`dot ${stale.value > 0 ? 'lost' : connection.value}`} />
    {liveText()}
  </p>
);

const isCurrent = ({ to }: Place, at: string): boolean =>
  at.endsWith('/why') ? to === '/why' : at === to || at.startsWith(`${to}/`);

const THEMES = { auto: 'Colours: automatic', light: 'Colours: light', dark: 'Colours: dark' };

function Rail({
  at,
  isShown,
  who,
  onPalette,
}: {
  at: string;
  isShown: boolean;
  who: Session;
  onPalette: () => void;
}) {
  return (
    <aside class={`rail ${isShown ? 'shown' : ''}`} aria-label="Mayfly">
      <a class="brand" href={href(placesOf(who)[0]?.to ?? '/')}>
        <img src={icon} alt="" /> Mayfly
      </a>
      <button type="button" class="rail-button" onClick={onPalette}>
        <Icon name="search" /> Find… <kbd>Ctrl K</kbd>
      </button>
      <nav aria-label="Screens">
        <ul>
          {placesOf(who).map((place) => (
            <li key={place.to}>
              <a href={href(place.to)} aria-current={isCurrent(place, at) ? 'page' : undefined}>
                <Icon name={place.icon} /> {place.label}
                {place.key && <kbd>g {place.key}</kbd>}
              </a>
            </li>
          ))}
          <li>
            <a href="/docs">
              <Icon name="external" /> API reference
            </a>
          </li>
        </ul>
      </nav>
      <div class="rail-foot">
        <LiveState />
        <p class="who cut" title={who.key?.name}>
          {who.account ? `${who.account.name} · ${who.key?.name}` : 'Read token of one inbox'}
          {who.scope === 'read' && ' (read only)'}
        </p>
        <button type="button" class="rail-button" onClick={nextTheme}>
          <Icon name="sun" /> {THEMES[theme.value]}
        </button>
        <button
          type="button"
          class="rail-button"
          aria-pressed={isNotifying.value}
          onClick={() => void toggleNotifying()}
        >
          <Icon name="bell" /> Notify: {isNotifying.value ? 'on' : 'off'}
        </button>
        <button type="button" class="rail-button" onClick={() => void signOut()}>
          <Icon name="out" /> Sign out
        </button>
      </div>
    </aside>
  );
}

/** Above the screen while the stream is cut. */
function Lost() {
  const silence = now.value - lastHeardAt.value;
  if (connection.value !== 'lost' || silence < 1_000) return null;
  return (
    <div class="banner" role="status">
      <Icon name="warn" /> {navigator.onLine ? 'No connection to the server' : 'This machine is offline'}.
      Last update {duration(silence)} ago; it continues by itself.
    </div>
  );
}

/** Share of the month's quota from which every screen says so. */
const QUOTA_WARNING = 0.8;

/** Above the screen when the quota of the month is nearly or quite used up. */
function Quota({ who }: { who: Session }) {
  if (quota.value === null) return null;
  const { limit, remaining, resetAt } = quota.value;
  const share = (limit - remaining) / limit;
  if (share < QUOTA_WARNING) return null;
  const reset = new Date(resetAt).toLocaleDateString(undefined, { dateStyle: 'long', timeZone: 'UTC' });
  return (
    <div class="banner" role="status">
      <Icon name="warn" />
      <span>
        {remaining === 0 ? 'All' : `${Math.floor(share * 100)} % of the`} {count(limit)} requests of this
        month are used. The count starts again on {reset} (UTC).{' '}
        {who.account && <a href={href('/usage')}>Show the usage</a>}
      </span>
    </div>
  );
}

/** Notes, above everything else: a dialog that is opened later would cover them. */
function Toasts() {
  const box = useRef<HTMLDivElement>(null);
  const shown = toasts.value;
  useLayoutEffect(() => {
    const element = box.current;
    if (element?.matches(':popover-open')) element.hidePopover();
    element?.showPopover();
  }, [shown]);
  return (
    <div class="toasts" role="status" aria-live="polite" popover="manual" ref={box}>
      {shown.map((one) => (
        <ToastNote key={one.id} one={one} />
      ))}
    </div>
  );
}

const ToastNote = ({ one: { id, text, kind, undo } }: { one: Toast }) => (
  <div class={`toast ${kind}`}>
    {text}
    {undo && (
      <button
        type="button"
        onClick={() => {
          undo();
          dismiss(id);
          keepFocus();
        }}
      >
        Undo
      </button>
    )}
    {kind === 'error' && <IconButton icon="close" label="Close the note" onClick={() => dismiss(id)} />}
  </div>
);

let loadedOverlays: Awaited<ReturnType<typeof importOverlays>> | undefined;
const importOverlays = () => import('./screens/palette.tsx');
async function overlays() {
  loadedOverlays = await importOverlays();
}
/** They are loaded soon after the first screen, and are there when a key asks for them. */
const PREPARE_MS = 500;

/** The help on keys, or the search of everything; until its script is loaded, a field that keeps what is typed. */
function Overlay({ shown, onClose }: { shown: 'palette' | 'help'; onClose: () => void }) {
  const [loaded, setLoaded] = useState(loadedOverlays);
  const field = useRef<HTMLInputElement>(null);
  const typed = useRef('');
  useEffect(
    () =>
      void overlays().then(() => {
        typed.current = field.current?.value ?? '';
        setLoaded(loadedOverlays);
      }, onClose),
    [],
  );
  if (loaded) {
    const { Palette, Help } = loaded;
    return shown === 'palette' ? (
      <Palette typed={typed.current} onClose={onClose} />
    ) : (
      <Help onClose={onClose} />
    );
  }
  if (shown === 'help') return null;
  return (
    <Dialog key="loading" title="Find" onClose={onClose} isWide>
      <div class="palette">
        <input ref={field} autofocus aria-label="Find" />
      </div>
    </Dialog>
  );
}

/** The frame of all screens: rail, palette, notes, and the stream of new mail. */
export function Shell({ at, children }: { at: string; children: ComponentChildren }) {
  const who = session.value;
  const [isMenu, setMenu] = useState(false);
  const [overlay, setOverlay] = useState<'palette' | 'help' | null>(null);
  const id = who?.account?.id ?? who?.inbox?.id;
  useEffect(() => {
    const controller = new AbortController();
    if (who) void startLive(who, controller.signal);
    return () => controller.abort();
  }, [id]);
  useEffect(() => {
    const timer = setTimeout(() => void overlays().catch(() => undefined), PREPARE_MS);
    return () => clearTimeout(timer);
  }, []);
  useEffect(() => setMenu(false), [at]);
  useShortcuts({ openPalette: () => setOverlay('palette'), openHelp: () => setOverlay('help') });
  if (!who) return null;
  // The event of a closed dialog comes late: another one may be open by then.
  const close = (closed: typeof overlay) => () => setOverlay((shown) => (shown === closed ? null : shown));
  return (
    <div class="shell">
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="top-bar">
        <IconButton
          icon={isMenu ? 'close' : 'menu'}
          label="Menu"
          aria-expanded={isMenu}
          onClick={() => setMenu(!isMenu)}
        />
        <a class="brand" href={href(placesOf(who)[0]?.to ?? '/')}>
          Mayfly
        </a>
        <i class={`dot ${connection.value}`} title={connection.value} />
        <IconButton icon="search" label="Find" onClick={() => setOverlay('palette')} />
      </header>
      <Rail at={at} isShown={isMenu} who={who} onPalette={() => setOverlay('palette')} />
      <main id="main" tabIndex={-1}>
        <Lost />
        <Quota who={who} />
        {children}
      </main>
      <Toasts />
      {overlay && <Overlay shown={overlay} onClose={close(overlay)} />}
    </div>
  );
}
