import { useLayoutEffect, useRef } from 'preact/hooks';
import { href, navigate } from './router.ts';

/** Actions by key. The bindings of the newest screen or pane take precedence. */
type Bindings = Record<string, () => void>;
const layers: { current: Bindings }[] = [];

/** True if the target is a text input, where keys enter text. */
const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.matches('input, textarea, select') || target.isContentEditable);

/** Binds keys while a component is shown. Names are those of `KeyboardEvent.key`. */
export function useKeys(bindings: Bindings): void {
  const latest = useRef(bindings);
  latest.current = bindings;
  useLayoutEffect(() => {
    layers.push(latest);
    return () => {
      layers.splice(layers.indexOf(latest), 1);
    };
  }, []);
}

/** Second keys of the shortcuts `g …`. */
const GO: Record<string, string> = {
  i: '/inboxes',
  l: '/live',
  y: '/why',
  r: '/runs',
  c: '/connect',
  w: '/webhooks',
  u: '/usage',
  k: '/keys',
  d: '/domains',
};
/** Time limit for the second key. */
const SECOND_KEY_MS = 1_200;

/** True if shortcuts must not act: in text inputs, with modifiers, or while a dialog is open. */
const isQuiet = (event: KeyboardEvent): boolean =>
  event.ctrlKey ||
  event.metaKey ||
  event.altKey ||
  isTyping(event.target) ||
  document.querySelector('dialog[open]') !== null;

const isPaletteKey = ({ ctrlKey, metaKey, key }: KeyboardEvent): boolean =>
  (ctrlKey || metaKey) && key.toLowerCase() === 'k';

function focusSearch(event: KeyboardEvent): void {
  const search = document.querySelector<HTMLInputElement>('main input[type="search"]');
  if (search) event.preventDefault();
  search?.focus();
}

/** Runs the action of the newest layer that binds the key. */
function runVerb(event: KeyboardEvent): void {
  const verb = layers.findLast(({ current }) => event.key in current)?.current[event.key];
  if (!verb) return;
  event.preventDefault();
  verb();
}

interface Overlays {
  openPalette(): void;
  openHelp(): void;
}

/** @returns the handler of key presses; after `g`, it waits for a second key */
function createShortcuts({ openPalette, openHelp }: Overlays): (event: KeyboardEvent) => void {
  let goUntil = 0;
  return (event) => {
    if (isPaletteKey(event)) {
      event.preventDefault();
      openPalette();
    }
    if (isQuiet(event)) return;
    const to = event.timeStamp < goUntil ? GO[event.key] : undefined;
    goUntil = event.key === 'g' ? event.timeStamp + SECOND_KEY_MS : 0;
    if (to) navigate(href(to));
    else if (event.key === '?') openHelp();
    else if (event.key === '/') focusSearch(event);
    else runVerb(event);
  };
}

/**
 * Installs the global shortcuts. They do not act in text inputs, nor with modifiers except for the palette's shortcut.
 */
export function useShortcuts(overlays: Overlays): void {
  useLayoutEffect(() => {
    const onKey = createShortcuts(overlays);
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
}
