import { computed, effect, signal } from '@preact/signals';
import icon from '../icon.svg';
import { onNews } from './arrivals.ts';

/*
 * The title and icon of the page in the browser's tab. While the page is hidden, they show the number of new
 * mails.
 */

const shown = signal('Mayfly');
const unseen = signal(0);
/** Highest number shown: while the page is hidden, the exact number of more mails is unknown. */
const MOST = 9;
/** The inbox that the page shows; null if it shows mail of all inboxes. */
let shownInbox: string | null = null;

/** The icon with the count: a data URI of an SVG, in which the mark is inserted before the closing tag. */
const marked = (text: string): string =>
  icon.replace(
    /(?=%3c(?:\/|%2f)svg%3e)/i,
    `%3ccircle cx='44' cy='20' r='20' fill='%23d1382c'/%3e%3ctext x='44' y='29' font-size='26' font-weight='700' font-family='sans-serif' text-anchor='middle' fill='%23fff'%3e${text}%3c/text%3e`,
  );

onNews((arrivals, more) => {
  if (!document.hidden) return;
  if (more) unseen.value += MOST;
  unseen.value += arrivals.filter(({ inboxId }) => inboxId === (shownInbox ?? inboxId)).length;
});
addEventListener('visibilitychange', () => {
  if (!document.hidden) unseen.value = 0;
});
const mark = computed(() => (unseen.value > MOST ? `${MOST}+` : String(unseen.value)));

effect(() => {
  document.title = `${unseen.value > 0 ? `(${mark.value}) ` : ''}${shown.value} · Mayfly`;
});
effect(() => {
  document
    .querySelector('link[rel=icon]')
    ?.setAttribute('href', mark.value === '0' ? icon : marked(encodeURIComponent(mark.value)));
});

/** Sets the title. @param inboxId if set, only mail of this inbox counts as new */
export function showTitle(title: string, inboxId: string | null = null): void {
  shown.value = title;
  shownInbox = inboxId;
}
