import { useEffect, useRef } from 'preact/hooks';
import { onArrivals } from './arrivals.ts';
import { serverNow } from './time.ts';

/*
 * Refreshes data that the stream does not announce, such as delivery attempts. Requests count against the
 * account's quota and a page may stay open all day, so it refreshes rarely, and never while the page is
 * hidden.
 */

const FIRST_PAUSE_MS = 2_000;
const LONGEST_PAUSE_MS = 300_000;
/** Delay of a refresh after new mail; one refresh covers all mail in this time. */
const AFTER_MAIL_MS = 3_000;
/** Longer timers fire immediately (HTML, section 8.7). */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Refreshes when data is due, with growing pauses if it is late, and after new mail. @param due epoch
 * milliseconds; undefined if nothing is expected @param data the current result; a new one resets the pauses
 */
export function useRefresh(due: number | undefined, data: unknown, reload: () => void): void {
  const latest = useRef(reload);
  latest.current = reload;
  const looks = useRef(0);
  useEffect(() => {
    if (due === undefined) looks.current = 0;
    if (due === undefined) return;
    const load = () => {
      if (document.hidden) return addEventListener('visibilitychange', load, { once: true });
      looks.current += 1;
      latest.current();
    };
    const pause = Math.min(FIRST_PAUSE_MS * 2 ** looks.current, LONGEST_PAUSE_MS);
    const timer = setTimeout(load, Math.min(Math.max(due - serverNow(), pause), LONGEST_TIMER_MS));
    return () => {
      clearTimeout(timer);
      removeEventListener('visibilitychange', load);
    };
  }, [due, data]);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const end = onArrivals(() => {
      if (document.hidden) return;
      timer ??= setTimeout(() => {
        timer = undefined;
        looks.current = 0;
        latest.current();
      }, AFTER_MAIL_MS);
    });
    return () => {
      clearTimeout(timer);
      end();
    };
  }, []);
}
