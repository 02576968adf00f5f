import { AsyncLocalStorage } from 'node:async_hooks';
import {
  ApiError,
  type api,
  Inbox,
  type LinkMatch,
  type Match,
  type Message,
  type SilenceOptions,
  type Transport,
  type WaitOptions,
} from '@mayfly/client';
import { describeMatch } from '@mayfly/client/explain';
import { type Page, type TestInfo, test } from '@playwright/test';

/** A wait without a timeout of its own. */
const DEFAULT_WAIT_MS = 30_000;
/**
 * The explanation must come before Playwright's "Test timeout exceeded", also on a busy machine: a wait leaves so
 * much of the test's time, or half of it when there is little.
 */
const RESERVE_MS = 3_000;

/** As the server's own preview: an opaque origin, no scripts; links work. */
const PREVIEW_POLICY =
  "sandbox allow-popups allow-popups-to-escape-sandbox allow-top-navigation; default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:";

/** Whether the code runs inside of a step of this package. */
const inStep = new AsyncLocalStorage<boolean>();

/** An inbox whose waits are steps of the report, and end before the test does. */
export class TestInbox extends Inbox {
  readonly #testInfo: TestInfo;
  readonly #testStart: number;
  readonly #ended = new AbortController();

  constructor(transport: Transport, data: api.Inbox, testInfo: TestInfo, testStart: number) {
    super(transport, data);
    this.#testInfo = testInfo;
    this.#testStart = testStart;
  }

  // Each wait is a boxed step, awaited by the method that the test calls: Playwright then shows the line of the
  // test, because it leaves out one frame of the asynchronous stack. The waits that another one makes inside are
  // no steps of their own.

  override async waitForMessage(match: Match = {}, options: WaitOptions = {}): Promise<Message> {
    const wait = () => inStep.run(true, () => super.waitForMessage(match, this.#withTimeout(options)));
    return inStep.getStore() ? wait() : await test.step(this.#title('a mail', match), wait, { box: true });
  }

  override async waitForMessages(
    count: number,
    match: Match = {},
    options: WaitOptions = {},
  ): Promise<Message[]> {
    const wait = () =>
      inStep.run(true, () => super.waitForMessages(count, match, this.#withTimeout(options)));
    return inStep.getStore()
      ? wait()
      : await test.step(this.#title(`${count} mails`, match), wait, { box: true });
  }

  override async waitForCode(
    match: Match & { pattern?: RegExp } = {},
    options: WaitOptions = {},
  ): Promise<string> {
    const wait = () => inStep.run(true, () => super.waitForCode(match, this.#withTimeout(options)));
    return await test.step(this.#title('a code in a mail', match), wait, { box: true });
  }

  override async waitForLink(
    match: LinkMatch & Omit<Match, 'text' | 'link'> = {},
    options: WaitOptions = {},
  ): Promise<string> {
    const wait = () => inStep.run(true, () => super.waitForLink(match, this.#withTimeout(options)));
    return await test.step(this.#title('a link in a mail', match), wait, { box: true });
  }

  override async expectSilence(match: Match, options: SilenceOptions): Promise<void> {
    const wait = () => inStep.run(true, () => super.expectSilence(match, this.#fitting(options)));
    const title = `Expect no mail${describeMatch(match)} to ${this.address} for ${options.forMs} ms`;
    return await test.step(title, wait, { box: true });
  }

  /**
   * Called when the test or hook that created it is over. Ends the waits that still run: of one without `await` the
   * rejection is then reported for this test, and not for whichever runs later.
   */
  end(): void {
    this.#ended.abort(
      new Error(
        `The test ended while it waited for mail to ${this.address}. Write "await" in front of the wait, or await its promise later.`,
      ),
    );
  }

  /** Aborted with the signal of the wait, or with the test. */
  #untilEnd(own: AbortSignal | undefined): AbortSignal {
    if (!own) return this.#ended.signal;
    const controller = new AbortController();
    for (const signal of [own, this.#ended.signal]) {
      if (signal.aborted) controller.abort(signal.reason);
      else signal.addEventListener('abort', () => controller.abort(signal.reason), { once: true });
    }
    return controller.signal;
  }

  #title(noun: string, match: Match): string {
    return `Wait for ${noun}${describeMatch(match)} to ${this.address}`;
  }

  /** @throws Error for a silence that the test cannot see the end of */
  #fitting(options: SilenceOptions): SilenceOptions {
    const left = this.#timeLeft();
    if (options.forMs < left) return { ...options, signal: this.#untilEnd(options.signal) };
    throw new Error(
      `The test has ${Math.round(left)} ms left, which is too little to expect silence for ${options.forMs} ms. Shorten "forMs", or call test.setTimeout().`,
    );
  }

  /** With a time that ends before the test does. */
  #withTimeout(options: WaitOptions): WaitOptions {
    if (this.#ended.signal.aborted)
      throw new Error(
        `The inbox ${this.address} ended with the test or hook that created it. For several tests, create one in beforeAll with the fixture mailClient: await mailClient.inboxes.create().`,
      );
    const { timeoutMs = DEFAULT_WAIT_MS } = options;
    const left = this.#timeLeft();
    const signal = this.#untilEnd(options.signal);
    if (timeoutMs < left) return { ...options, signal, timeoutMs };
    // A default that is cut by little is of no interest.
    const isWorthSaying = options.timeoutMs !== undefined || left < timeoutMs / 2;
    return {
      ...options,
      signal,
      timeoutMs: Math.max(left - RESERVE_MS, left / 2),
      ...(isWorthSaying && { askedMs: timeoutMs }),
    };
  }

  /**
   * Shows a message in the page, as the customer sees it in the mail program. Its links lead the same page on.
   * @param message default: the newest one
   */
  async open(page: Page, message?: Pick<Message, 'id' | 'subject'>): Promise<void> {
    const shown = message ?? (await this.list())[0];
    if (!shown)
      throw new Error(
        `There is no mail to open in ${this.address}. Wait for it with waitForMessage() first.`,
      );
    await test.step(
      `Open the mail ${JSON.stringify(shown.subject)}`,
      async () => {
        const response = await page.goto(await this.#pageOf(page, shown.id));
        // Playwright shows error pages as any other.
        if (response && !response.ok())
          throw new Error(
            `The mail cannot be shown: ${response.url()} responded ${response.status()}. ${await response.text()}`,
          );
        // A mail program opens links in a new tab; a test goes on in its page.
        await page.evaluate(
          `document.querySelectorAll('[target]').forEach((element) => element.removeAttribute('target'))`,
        );
      },
      { box: true },
    );
  }

  /** A URL that shows the mail: the server's preview, or the HTML itself where the server has none. */
  async #pageOf(page: Page, messageId: string): Promise<string> {
    try {
      return (await this.preview(messageId)).url;
    } catch (error) {
      if (!(error instanceof ApiError && (error.status === 404 || error.status === 405))) throw error;
    }
    const { html, text, subject } = await this.read(messageId);
    const url = `${this.consoleUrl}/messages/${messageId}/preview`;
    const escaped = (value: string) => value.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
    const body = html ?? `<!doctype html><title>${escaped(subject)}</title><pre>${escaped(text ?? '')}</pre>`;
    await page.route(url, (route) =>
      route.fulfill({
        body,
        contentType: 'text/html; charset=utf-8',
        headers: { 'content-security-policy': PREVIEW_POLICY },
      }),
    );
    return url;
  }

  /** Milliseconds until Playwright ends the test. */
  #timeLeft(): number {
    const { timeout } = this.#testInfo;
    return timeout === 0 ? Infinity : Math.max(0, timeout - (Date.now() - this.#testStart));
  }
}
