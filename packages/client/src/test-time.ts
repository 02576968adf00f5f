import { environment, type Milliseconds } from './transport.ts';

/**
 * The remaining time of the current test: waits of its inboxes end before it, so that they can explain their
 * failure.
 */
export interface TestTime {
  /** Remaining time until the runner ends the test. */
  left(): Milliseconds;
  /** How to raise the test's time limit, in a sentence such as `Call test.setTimeout(60_000).` */
  advice: string;
  /** Aborted at the end of the test, with an error that says so. */
  ended: AbortSignal;
}

const DEFAULT_WAIT = 30_000;
/**
 * A fifth of the remaining time, within these bounds, is reserved for the explanation and the rest of the
 * test.
 */
const LEAST_RESERVE = 1_000;
const MOST_RESERVE = 3_000;
/** A wait is not shortened if it ends this long before the test. */
const MARGIN = 500;
/**
 * Test runners that do not disclose their time limit: the environment variable that they set, a timeout below
 * their default limit, and advice.
 */
const RUNNERS: Array<[variable: string, timeout: Milliseconds, words: string]> = [
  [
    'VITEST',
    4_000,
    'Vitest, where a test has 5 s: pass "timeout" and give the test more, or use @mayfly/vitest',
  ],
  ['JEST_WORKER_ID', 4_000, 'Jest, where a test has 5 s: pass "timeout" and call jest.setTimeout()'],
  ['NODE_TEST_CONTEXT', 4_000, 'node:test: pass "timeout" for more'],
  ['TEST_WORKER_INDEX', 25_000, 'Playwright, where a test has 30 s: use the inbox of @mayfly/playwright'],
];

/** How long a wait may take, and a sentence that explains why it was shortened; '' if it was not. */
export interface Allowed {
  timeout: Milliseconds;
  cut: string;
  /** The timeout before it was shortened. */
  asked?: Milliseconds | undefined;
}

/** @param asked undefined for a wait without a timeout of its own */
export function allowedTime(asked: Milliseconds | undefined, test: TestTime | undefined): Allowed {
  if (!test) {
    if (asked !== undefined) return { timeout: asked, cut: '' };
    const [, timeout, words] = RUNNERS.find(([variable]) => environment(variable)) ?? [];
    if (!timeout) return { timeout: DEFAULT_WAIT, cut: '' };
    return { timeout, cut: `That is the default under ${words}.` };
  }
  const wanted = asked ?? DEFAULT_WAIT;
  const left = test.left();
  if (wanted + MARGIN < left) return { timeout: wanted, cut: '' };
  const reserve = Math.min(MOST_RESERVE, Math.max(LEAST_RESERVE, left / 5));
  const timeout = Math.max(left - reserve, left / 2);
  // Do not mention a default timeout that was shortened only a little.
  if (asked === undefined && left >= wanted / 2) return { timeout, cut: '' };
  const cut = `The limit of the test cut it from ${wanted / 1000} s, because the test had only ${Math.round(left / 100) / 10} s left. ${test.advice}`;
  return { timeout, cut, asked: wanted };
}
