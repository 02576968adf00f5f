import { computed, signal } from '@preact/signals';
import { keepFocus } from './focus.ts';

/*
 * Every state that matters is in the URL: the path names the screen, the query its tab, filters and selection.
 * A pasted link shows the same.
 */

const BASE = '/console';

const read = (): URL => new URL(location.href);
/** The address of the page; changes with every navigation. */
export const url = signal(read());
/** Path below /console, such as `/inboxes`. */
export const path = computed(() => url.value.pathname.slice(BASE.length) || '/');
/** Query parameters of the address. */
export const query = computed(() => url.value.searchParams);

addEventListener('popstate', () => {
  url.value = read();
  keepFocus();
});

/** The address of a screen. @param params parameters that are null or '' are left out */
export function href(to: string, params: Record<string, string | null | undefined> = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) if (value) search.set(name, value);
  return `${BASE}${to}${search.size > 0 ? `?${search}` : ''}`;
}

/** What an entry of the history knows beside its address. */
interface Entry {
  /** True where the entry before it is of the console. */
  hasFormer?: boolean;
  /** Id of the row that had the focus when it was left: there one goes on. */
  row?: string | undefined;
}
const entry = (): Entry => (history.state as Entry | null) ?? {};

/** Shows another screen. @param to an address from {@link href} */
export function navigate(to: string, { replace = false } = {}): void {
  if (replace) history.replaceState(history.state, '', to);
  else {
    const row = document.activeElement?.closest<HTMLElement>('.window li')?.dataset.id;
    history.replaceState({ ...entry(), row }, '');
    history.pushState({ hasFormer: true } satisfies Entry, '', to);
  }
  url.value = read();
  keepFocus();
}

/** Goes back to where one came from, with its row and filters. @param otherwise where the page began here */
export function goBack(otherwise: string): void {
  if (entry().hasFormer) history.back();
  else navigate(otherwise);
}

/** Id of the row that had the focus when this entry of the history was left. */
export const formerRow = (): string | undefined => entry().row;

/** Changes parameters of the current screen, by default without a new entry in the history. */
export function setQuery(changes: Record<string, string | null>, { replace = true } = {}): void {
  const next = read();
  for (const [name, value] of Object.entries(changes)) {
    if (value) next.searchParams.set(name, value);
    else next.searchParams.delete(name);
  }
  navigate(next.pathname + next.search, { replace });
}

/** Parameters of a path that has the form of a pattern such as `/inboxes/:id`; null for another path. */
export function match(pattern: string, given: string): Record<string, string> | null {
  const wanted = pattern.split('/');
  const parts = given.replace(/\/$/, '').split('/');
  if (wanted.length !== parts.length) return null;
  const params: Record<string, string> = {};
  for (const [index, name] of wanted.entries()) {
    const part = parts[index] ?? '';
    if (name.startsWith(':')) params[name.slice(1)] = decoded(part);
    else if (name !== part) return null;
  }
  return params;
}

/** A part of a path as text; one that is not encoded well names nothing, and stays as it is. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Lets links within the console navigate without loading the page again. */
export function interceptLinks(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = (event.target as Element).closest('a');
  const to = link?.getAttribute('href');
  if (!to?.startsWith(`${BASE}/`) || link?.hasAttribute('download') || link?.target) return;
  event.preventDefault();
  navigate(to);
}
