/**
 * `@mayfly/client/expect`: matchers for Vitest, Jest and Playwright, by `expect.extend(matchers)`. `@mayfly/vitest` and
 * `@mayfly/playwright` have them already.
 */
import { type Exactly, type Inbox, MayflyError } from '@mayfly/client';

/** What the three runners take of a matcher. */
export interface Result {
  pass: boolean;
  message: () => string;
}

const EXPECTED = ['wait_timeout', 'unexpected_message'];

export const matchers = {
  /** Waits until exactly so many messages match, and for a time in which no further one may come. */
  async toHaveReceivedExactly(inbox: Inbox, count: number, exactly?: Exactly): Promise<Result> {
    try {
      await inbox.expectExactly(count, exactly);
      const message = () => `Exactly ${count} mails reached ${inbox.name}, and another number was expected.`;
      return { pass: true, message };
    } catch (error) {
      // Wrong arguments, or a server that is not reached, fail with `not` too.
      if (!MayflyError.is(error) || !EXPECTED.includes(error.code)) throw error;
      return { pass: false, message: () => error.message };
    }
  },
};

/** For the types of `expect`. */
export interface MailMatchers {
  /** Waits until exactly so many messages match, and for a time in which no further one may come. */
  toHaveReceivedExactly(count: number, exactly?: Exactly): Promise<void>;
}
