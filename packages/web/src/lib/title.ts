import { computed, effect, signal } from '@preact/signals';
import icon from '../icon.svg';
import { onArrivals } from './live.ts';

/*
 * The title and icon of the page, by which one finds it among many tabs. While the page is hidden they say how
 * many mails came.
 */

const shown = signal('Mayfly');
const unseen = signal(0);
/** The inbox that the page shows; null where it shows mail of all. */
let shownInbox: string | null = null;

/** The icon is a data URI, in which a mark is put before its end. */
const MARK = "%3ccircle cx='50' cy='14' r='14' fill='%23d1382c'/%3e";
const MARKED_ICON = icon.replace(/(?=%3c(?:\/|%2f)svg%3e)/i, MARK);

onArrivals((arrivals) => {
  if (!document.hidden) return;
  unseen.value += arrivals.filter(({ inboxId }) => inboxId === (shownInbox ?? inboxId)).length;
});
addEventListener('visibilitychange', () => {
  if (!document.hidden) unseen.value = 0;
});
const isMarked = computed(() => unseen.value > 0);

effect(() => {
  document.title = `${unseen.value > 0 ? `(${unseen.value}) ` : ''}${shown.value} · Mayfly`;
});
effect(() => {
  document.querySelector('link[rel=icon]')?.setAttribute('href', isMarked.value ? MARKED_ICON : icon);
});

/** Names what the page shows. @param inboxId where only mail of this inbox counts as new */
export function showTitle(title: string, inboxId: string | null = null): void {
  shown.value = title;
  shownInbox = inboxId;
}
