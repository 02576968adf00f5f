import { environment, type Milliseconds } from './transport.ts';

/** The time of the test that an inbox belongs to: its waits end before the test does, and say why. */
export interface TestTime {
  /** Until the runner ends the test. */
  left(): Milliseconds;
  /** How the test gets more, in a sentence such as `Call test.setTimeout(60_000).` */
  advice: string;
  /** Aborted with an error that says so when the test has ended. */
  ended: AbortSignal;
}

const DEFAULT_WAIT = 30_000;
/** A fifth of what is left, for the explanation and for what the test does with it, also on a busy machine. */
const LEAST_RESERVE = 1_000;
const MOST_RESERVE = 3_000;
/** A wait that ends so long before the test is left as it is. */
const MARGIN = 500;
/** Runners whose limit a program cannot ask for: the variable that they set, a wait that ends before it, advice. */
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

/** How long a wait may take, and a sentence about why it is not as long as it was meant to be; '' otherwise. */
export interface Allowed {
  timeout: Milliseconds;
  cut: string;
  /** What the limit of the test cut it from. */
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
  // A default that is cut by little is of no interest.
  if (asked === undefined && left >= wanted / 2) return { timeout, cut: '' };
  const cut = `The limit of the test cut it from ${wanted / 1000} s, because the test had only ${Math.round(left / 100) / 10} s left. ${test.advice}`;
  return { timeout, cut, asked: wanted };
}
