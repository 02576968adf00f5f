/**
 * `@mayfly/client/expect`: matchers for Vitest and Jest, by `expect.extend(matchers)`. `@mayfly/vitest` and
 * `@mayfly/playwright` have them already.
 */
import { basename, dirname, join } from 'node:path';
import { type Exactly, type Inbox, MayflyError, type Message } from '@mayfly/client';
import {
  fileNameOf,
  type MatchMailOptions,
  matchMailFile,
  type Result,
  type UpdateMode,
} from './expect/mail-file.ts';

export {
  fileNameOf,
  type MatchMailOptions,
  matchMailFile,
  type Result,
  type UpdateMode,
} from './expect/mail-file.ts';

/** The parts that Vitest and Jest pass to a matcher as `this`. */
interface Runner {
  testPath?: string;
  snapshotState?: { _updateSnapshot?: UpdateMode };
}

const EXPECTED = ['wait_timeout', 'unexpected_message'];

export const matchers = {
  /** Waits until exactly `count` messages match, and then makes sure that no further one arrives. */
  async toHaveReceivedExactly(inbox: Inbox, count: number, exactly?: Exactly): Promise<Result> {
    try {
      await inbox.expectExactly(count, exactly);
      const message = () => `Exactly ${count} mails reached ${inbox.name}, and another number was expected.`;
      return { pass: true, message };
    } catch (error) {
      // Invalid arguments and an unreachable server fail also with `not`.
      if (!MayflyError.is(error) || !EXPECTED.includes(error.code)) throw error;
      return { pass: false, message: () => error.message };
    }
  },

  /**
   * Compares the content of a mail with the named snapshot, or writes the snapshot according to the runner's
   * update mode.
   */
  toMatchMail(this: unknown, mail: Message, name: string, options?: MatchMailOptions): Promise<Result> {
    const { testPath, snapshotState } = this as Runner;
    if (testPath === undefined)
      throw new Error('toMatchMail needs a runner that tells the file of the test.');
    const folder = join(dirname(testPath), '__snapshots__', basename(testPath));
    return matchMailFile(
      mail,
      join(folder, fileNameOf(name)),
      snapshotState?._updateSnapshot ?? 'new',
      options,
    );
  },
};

/** Types of the matchers, for `expect`. */
export interface MailMatchers {
  /** Waits until exactly `count` messages match, and then makes sure that no further one arrives. */
  toHaveReceivedExactly(count: number, exactly?: Exactly): Promise<void>;
  /** Compares the content of a mail with the named snapshot. */
  toMatchMail(name: string, options?: MatchMailOptions): Promise<void>;
}
