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

/** What Vitest and Jest tell a matcher. */
interface Runner {
  testPath?: string;
  snapshotState?: { _updateSnapshot?: UpdateMode };
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

  /** Compares what a mail says with the snapshot of that name, or writes it as the runner does with snapshots. */
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

/** For the types of `expect`. */
export interface MailMatchers {
  /** Waits until exactly so many messages match, and for a time in which no further one may come. */
  toHaveReceivedExactly(count: number, exactly?: Exactly): Promise<void>;
  /** Compares what a mail says with the snapshot of that name. */
  toMatchMail(name: string, options?: MatchMailOptions): Promise<void>;
}
