import {
  type CodeWait,
  describeMatch,
  type Exactly,
  Inbox,
  type InboxData,
  type LinkWait,
  type Message,
  type MessageSummary,
  type MessageWait,
  type Silence,
  type Transport,
} from '@mayfly/client';
import { type Page, type TestInfo, test } from '@playwright/test';
import { openMail } from './open-mail.ts';

const BOX = { box: true };

/** An inbox whose waits are steps of the report and end before the test. */
export class TestInbox extends Inbox {
  readonly #ended: AbortController;

  constructor(transport: Transport, data: InboxData, testInfo: TestInfo, testStart: number) {
    const ended = new AbortController();
    const left = () =>
      testInfo.timeout === 0
        ? Number.POSITIVE_INFINITY
        : Math.max(0, testInfo.timeout - (Date.now() - testStart));
    super(transport, data, { left, advice: 'Call test.setTimeout() for more.', ended: ended.signal });
    this.#ended = ended;
  }

  // Each wait is a boxed step, awaited by the method that the test calls: Playwright then shows the line of the
  // test, because it leaves out one frame of the asynchronous stack.

  override async waitForMessage(wait: MessageWait = {}, ...others: []): Promise<Message> {
    return await test.step(this.#title('a mail', wait), () => super.waitForMessage(wait, ...others), BOX);
  }

  override async waitForMessages(count: number, wait: MessageWait = {}, ...others: []): Promise<Message[]> {
    const work = () => super.waitForMessages(count, wait, ...others);
    return await test.step(this.#title(`${count} mails`, wait), work, BOX);
  }

  override async waitForCode(wait: CodeWait = {}, ...others: []): Promise<string> {
    const work = () => super.waitForCode(wait, ...others);
    return await test.step(this.#title('a code in a mail', wait), work, BOX);
  }

  override async waitForLink(wait: LinkWait = {}, ...others: []): Promise<string> {
    const work = () => super.waitForLink(wait, ...others);
    return await test.step(this.#title('a link in a mail', wait), work, BOX);
  }

  override async expectSilence(silence: Silence = {}, ...others: []): Promise<void> {
    const title = `Expect no mail${describeMatch(Object(silence))} to ${this.address}`;
    return await test.step(title, () => super.expectSilence(silence, ...others), BOX);
  }

  override async expectExactly(count: number, exactly: Exactly = {}, ...others: []): Promise<Message[]> {
    const title = `Expect exactly ${count} mails${describeMatch(Object(exactly))} to ${this.address}`;
    return await test.step(title, () => super.expectExactly(count, exactly, ...others), BOX);
  }

  #title(noun: string, wait: object): string {
    return `Wait for ${noun}${describeMatch(Object(wait))} to ${this.address}`;
  }

  /**
   * Called at the end of the test or hook that created it. Ends pending waits, so that a wait without `await`
   * is reported for this test and not for a later one.
   */
  end(): void {
    this.#ended.abort(
      new Error(
        `The test ended while it waited for mail to ${this.address}. Write "await" in front of the wait, or await its promise later.`,
      ),
    );
  }

  /**
   * Opens a message in the page as a mail program shows it. Its links open in the same page. @param message
   * default: the newest one
   */
  async open(page: Page, message?: MessageSummary): Promise<void> {
    const shown = message ?? (await this.messages({ limit: 1 }))[0];
    if (!shown)
      throw new Error(
        `There is no mail to open in ${this.address}. Wait for it with waitForMessage() first.`,
      );
    const open = () => openMail(page, shown);
    await test.step(`Open the mail ${JSON.stringify(shown.subject)}`, open, BOX);
  }
}
