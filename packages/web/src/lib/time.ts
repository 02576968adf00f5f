import { signal } from '@preact/signals';

/** Smaller clock differences are ignored: the header has whole seconds, and a response takes a while. */
const TOLERANCE_MS = 10_000;
/** How far the local clock is ahead of the server's, milliseconds. */
let ahead = 0;

/** The time of the server's clock. */
export const serverNow = (): number => Date.now() - ahead;

/** Compares the clocks by the Date header. @param response just received */
export function noteTime({ headers }: Response): void {
  const difference = Date.now() - Date.parse(headers.get('date') ?? '');
  if (!Number.isNaN(difference)) ahead = Math.abs(difference) < TOLERANCE_MS ? 0 : difference;
}

/** One timer for all relative times of the page; it stops while the page is hidden. */
export const now = signal(serverNow());
const TICK_MS = 1_000;
setInterval(() => {
  if (!document.hidden) now.value = serverNow();
}, TICK_MS);

const STEPS: [seconds: number, unit: string][] = [
  [60, 's'],
  [3_600, 'min'],
  [86_400, 'h'],
  [Number.POSITIVE_INFINITY, 'd'],
];

/** Formats a duration with one unit: `42 s`, `3 min`, `5 h`, `2 d`. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  let divisor = 1;
  for (const [limit, unit] of STEPS) {
    if (seconds < limit) return `${Math.floor(seconds / divisor)} ${unit}`;
    divisor = limit;
  }
  return '';
}

/** Formats how long ago a time was, such as `3 min ago`. */
export const ago = (time: string): string => {
  const ms = now.value - Date.parse(time);
  return ms < 5_000 ? 'just now' : `${duration(ms)} ago`;
};

/** Created once: it takes a millisecond, and each row of a list shows a time. */
const inFull = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

/** Full local and UTC time, for tooltips. */
export const exact = (time: string): string => `${inFull.format(new Date(time))} · ${time} UTC`;
