import { ApiError } from '@mayfly/client';
import { signal } from '@preact/signals';

/** A short note at the edge of the page. */
export interface Toast {
  id: number;
  text: string;
  kind: 'info' | 'error';
  /** Undoes what the note says, while it is shown. */
  undo?: () => void;
}

const SHOWN_MS = 5_000;
let last = 0;
export const toasts = signal<readonly Toast[]>([]);

export function dismiss(id: number): void {
  toasts.value = toasts.value.filter((one) => one.id !== id);
}

export function toast(text: string, kind: Toast['kind'] = 'info', undo?: () => void): number {
  const id = ++last;
  toasts.value = [...toasts.value.slice(-2), { id, text, kind, ...(undo && { undo }) }];
  setTimeout(() => dismiss(id), SHOWN_MS);
  return id;
}

/** What a failure says to people: the API's own words where there are some. */
export function wordsOf(error: unknown): string {
  if (error instanceof ApiError && error.problem) return error.problem.detail;
  return error instanceof Error ? error.message : String(error);
}

/** Runs a verb, and shows why it failed. @returns undefined after a failure */
export async function attempt<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    toast(wordsOf(error), 'error');
    return undefined;
  }
}

/**
 * Deletes after some seconds in which it can be undone: the API deletes at once.
 * @param hide takes the thing from the screen
 * @param show brings it back
 */
export function deleteLater(
  text: string,
  hide: () => void,
  show: () => void,
  remove: () => Promise<unknown>,
): void {
  hide();
  let isUndone = false;
  const run = () => {
    if (isUndone) return;
    isUndone = true;
    removeEventListener('pagehide', run);
    remove().catch((error) => {
      toast(wordsOf(error), 'error');
      show();
    });
  };
  toast(text, 'info', () => {
    isUndone = true;
    removeEventListener('pagehide', run);
    show();
  });
  setTimeout(run, SHOWN_MS);
  addEventListener('pagehide', run);
}

/** Copies text. Without permission, or without HTTPS, by a selection. */
export async function copy(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement('textarea');
    area.value = text;
    area.className = 'visually-hidden';
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  }
  toast(`${what} copied`);
}
