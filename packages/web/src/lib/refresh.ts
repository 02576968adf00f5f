import { useEffect, useRef } from 'preact/hooks';
import { onArrivals } from './arrivals.ts';
import { serverNow } from './time.ts';

/*
 * When to load what the stream of messages does not announce, such as attempts of deliveries. Each request counts
 * against the quota of the account, and a page may stay open all day: so seldom, and never while it is hidden.
 */

const FIRST_PAUSE_MS = 2_000;
const LONGEST_PAUSE_MS = 300_000;
/** New mail causes a request after this time at the earliest, and only one in it. */
const AFTER_MAIL_MS = 3_000;
/** Longer timers would fire at once (HTML, section 8.7). */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Loads again when something is due, with longer and longer pauses while it does not come, and after new mail.
 * @param due milliseconds since 1970; undefined while nothing is expected
 * @param data the result so far: each new one sets the next time
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
