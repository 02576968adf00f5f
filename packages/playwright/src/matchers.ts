import { dirname, join } from 'node:path';
import type { Message } from '@mayfly/client';
import {
  fileNameOf,
  type MatchMailOptions,
  matchMailFile,
  type Result,
  type UpdateMode,
} from '@mayfly/client/expect';
import { expect, type Page, type PageAssertionsToHaveScreenshotOptions, test } from '@playwright/test';
import { openMail } from './open-mail.ts';

/** Update modes by Playwright's option `updateSnapshots`. */
const MODES: Record<string, UpdateMode> = {
  ...{ all: 'all', changed: 'all', missing: 'new', none: 'none' },
  // The default since Playwright 1.65.
  default: 'new',
};
/** Mails are usually designed for a width of 600 pixels. */
const DEFAULT_WIDTH = 600;
const HEIGHT = 800;

type ScreenshotOptions = Omit<PageAssertionsToHaveScreenshotOptions, 'mask'>;
export interface MailScreenshotOptions extends ScreenshotOptions, MatchMailOptions {
  /** Pixels. Default: 600. */
  width?: number;
  /** Emulates a mail program in dark mode. */
  dark?: boolean;
  /** Name of the image. Default: the title of the test and a number, as in Playwright. */
  name?: string;
}

/** Replaces variable texts by fixed ones: the code, and the names of the test. */
async function maskPage(page: Page, mail: Message, mask: Record<string, string>): Promise<void> {
  const names = Object.entries(mask).map(([name, value]) => [value, `{${name}}`]);
  const codes = mail.codes.map(({ value }) => [value, value.replace(/[^\s-]/g, '0')]);
  const replaced = [...names, ...codes].filter(([value]) => value !== '');
  await page.evaluate(`(() => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode())
      for (const [value, instead] of ${JSON.stringify(replaced)}) node.data = node.data.replaceAll(value, instead);
  })()`);
}

export const mailMatchers = {
  /**
   * Compares the content of a mail with the named snapshot, in Playwright's snapshot folder of the test file.
   */
  async toMatchMail(mail: Message, name: string, options?: MatchMailOptions): Promise<Result> {
    const info = test.info();
    // Unlike screenshots, mails do not depend on the browser or the platform, so their file names contain
    // neither.
    const file = join(dirname(info.snapshotPath('mail')), fileNameOf(name));
    const mode = MODES[info.config.updateSnapshots] ?? 'none';
    const { isNew, ...result } = await matchMailFile(mail, file, mode, options);
    // Fails for a new snapshot, as Playwright does, so that it is noticed.
    return isNew && mode === 'new' ? { ...result, pass: false } : result;
  },

  /** Opens a mail in the page with the given width, and compares a screenshot with the stored one. */
  async toMatchMailScreenshot(
    page: Page,
    mail: Message,
    options: MailScreenshotOptions = {},
  ): Promise<Result> {
    const { width = DEFAULT_WIDTH, dark = false, name, mask = {}, ...screenshot } = options;
    await page.setViewportSize({ width, height: HEIGHT });
    await page.emulateMedia({ colorScheme: dark ? 'dark' : 'light' });
    await openMail(page, mail);
    await maskPage(page, mail, mask);
    const wanted = { fullPage: true, ...screenshot };
    try {
      await (name === undefined
        ? expect(page).toHaveScreenshot(wanted)
        : expect(page).toHaveScreenshot(`${name}.png`, wanted));
      return { pass: true, message: () => 'The mail looks like its picture, and another look was expected.' };
    } catch (error) {
      return { pass: false, message: () => (error as Error).message };
    }
  },
};
