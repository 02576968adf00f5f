import { ApiError } from '@mayfly/client/console';
import { signal } from '@preact/signals';
import { isGone } from './query.ts';

/** A short notification at the edge of the page. */
export interface Toast {
  id: number;
  text: string;
  kind: 'info' | 'error';
  /** Undoes the reported action while the notification is shown. */
  undo?: () => void;
}

const SHOWN_MS = 5_000;
/** Errors are shown longer, because they are longer than confirmations and unexpected. */
const ERROR_SHOWN_MS = 12_000;
/** Older notifications are removed above this number, except those with an undo, which stay for their full time. */
const MAX_SHOWN = 3;
let last = 0;
export const toasts = signal<readonly Toast[]>([]);

export function dismiss(id: number): void {
  toasts.value = toasts.value.filter((one) => one.id !== id);
}

export function toast(text: string, kind: Toast['kind'] = 'info', undo?: () => void): number {
  const id = ++last;
  const kept = toasts.value.filter((one, index, all) => one.undo || index > all.length - MAX_SHOWN);
  toasts.value = [...kept, { id, text, kind, ...(undo && { undo }) }];
  setTimeout(() => dismiss(id), kind === 'error' ? ERROR_SHOWN_MS : SHOWN_MS);
  return id;
}

/** The text of an error for people: the API's message if there is one. */
export function wordsOf(error: unknown): string {
  if (error instanceof ApiError && error.problem) return error.problem.detail;
  return error instanceof Error ? error.message : String(error);
}

/** Runs an action, and shows the error if it fails. @returns undefined after a failure */
export async function attempt<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    toast(wordsOf(error), 'error');
    return undefined;
  }
}

/** Ids of deleted items, including those whose deletion can still be undone. Lists leave them out. */
const hidden = signal<ReadonlySet<string>>(new Set());

/** Hides items in all lists of this page, or shows them again. */
export function setHidden(ids: readonly string[], isHidden: boolean): void {
  const next = new Set(hidden.value);
  for (const id of ids) {
    if (isHidden) next.add(id);
    else next.delete(id);
  }
  hidden.value = next;
}

/** The items that were not deleted on this page. */
export const visible = <T extends { id: string }>(items: readonly T[]): readonly T[] =>
  hidden.value.size === 0 ? items : items.filter(({ id }) => !hidden.value.has(id));

interface Deletion {
  ids: readonly string[];
  /** States what is deleted. */
  text: string;
  remove: () => Promise<unknown>;
  onUndo?: () => void;
}

/** Hides items now and deletes them after some seconds, in which the user can undo it. */
export function deleteLater({ ids, text, remove, onUndo }: Deletion): void {
  setHidden(ids, true);
  let isOver = false;
  const finish = () => {
    if (isOver) return;
    isOver = true;
    removeEventListener('pagehide', finish);
    remove().catch((error) => {
      // Someone else deleted it, or it expired.
      if (isGone(error)) return;
      setHidden(ids, false);
      toast(`It was not deleted. ${wordsOf(error)}`, 'error');
    });
  };
  toast(text, 'info', () => {
    isOver = true;
    removeEventListener('pagehide', finish);
    setHidden(ids, false);
    onUndo?.();
  });
  setTimeout(finish, SHOWN_MS);
  addEventListener('pagehide', finish);
}

/** Copies through a text selection, because pages without HTTPS have no clipboard API. */
function copyBySelection(text: string): boolean {
  const focused = document.activeElement;
  const area = document.createElement('textarea');
  area.value = text;
  area.className = 'visually-hidden';
  // Everything outside an open dialog is inert and cannot be selected.
  (document.querySelector('dialog[open]') ?? document.body).append(area);
  area.select();
  const isDone = document.execCommand('copy');
  area.remove();
  if (focused instanceof HTMLElement) focused.focus({ preventScroll: true });
  return isDone;
}

/**
 * Copies text to the clipboard. @param what its name, such as `the address` @returns false if the browser
 * does not allow it
 */
export async function copy(text: string, what: string): Promise<boolean> {
  let isDone = false;
  try {
    await navigator.clipboard.writeText(text);
    isDone = true;
  } catch {
    isDone = copyBySelection(text);
  }
  if (isDone) toast(`Copied ${what}`);
  else toast(`The browser does not let this page copy. Select ${what} and copy it by hand.`, 'error');
  return isDone;
}
