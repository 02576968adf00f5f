import { computed, signal } from '@preact/signals';
import { keepFocus } from './focus.ts';

/*
 * The URL contains all state that matters: the path names the screen, the query its tab, filters and
 * selection. So a copied link shows the same page.
 */

const BASE = '/console';

const read = (): URL => new URL(location.href);
/** The URL of the page; changes with every navigation. */
export const url = signal(read());
/** Path below /console, such as `/inboxes`. */
export const path = computed(() => url.value.pathname.slice(BASE.length) || '/');
/** Query parameters of the URL. */
export const query = computed(() => url.value.searchParams);

addEventListener('popstate', () => {
  url.value = read();
  keepFocus();
});

/** The URL of a screen. @param params parameters that are null or '' are left out */
export function href(to: string, params: Record<string, string | null | undefined> = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) if (value) search.set(name, value);
  return `${BASE}${to}${search.size > 0 ? `?${search}` : ''}`;
}

/** State of a history entry besides its URL. */
interface Entry {
  /** True if the previous entry belongs to the console. */
  hasFormer?: boolean;
  /** Id of the row that had the focus when the user left; restored on return. */
  row?: string | undefined;
}
const entry = (): Entry => (history.state as Entry | null) ?? {};

/** Shows another screen. @param to a URL from {@link href} */
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

/** Goes back to the previous screen with its row and filters. @param otherwise used if the visit began at this page */
export function goBack(otherwise: string): void {
  if (entry().hasFormer) history.back();
  else navigate(otherwise);
}

/** Id of the row that had the focus when the user left this history entry. */
export const formerRow = (): string | undefined => entry().row;

/** Changes parameters of the current screen, by default without a new history entry. */
export function setQuery(changes: Record<string, string | null>, { replace = true } = {}): void {
  const next = read();
  for (const [name, value] of Object.entries(changes)) {
    if (value) next.searchParams.set(name, value);
    else next.searchParams.delete(name);
  }
  navigate(next.pathname + next.search, { replace });
}

/** The parameters of a path that matches a pattern such as `/inboxes/:id`; null if it does not match. */
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

/** Decodes a path segment; returns an invalid one unchanged. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Click handler: follows links within the console without reloading the page. */
export function interceptLinks(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = (event.target as Element).closest('a');
  const to = link?.getAttribute('href');
  if (!to?.startsWith(`${BASE}/`) || link?.hasAttribute('download') || link?.target) return;
  event.preventDefault();
  navigate(to);
}
