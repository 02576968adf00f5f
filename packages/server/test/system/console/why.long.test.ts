import { Mayfly, type WaitTimeoutError } from '@mayfly/client';
import type { Page } from 'playwright-core';
import { beforeAll, expect, it } from 'vitest';
import { MINUTE_MS, systemClock } from '../../../src/clock.ts';
import { appOfTest, TEST_KEY } from '../../support/start-app.ts';
import { describeConsole, expectAccessible, LOOKS, type Site, signUpMail } from './console.ts';

/** The codes of causes by the button of their verdict. */
const BUTTONS: Record<string, readonly string[]> = {
  'Compare the SMTP settings': [
    'nothing_connected',
    'left_without_recipient',
    'tls_failed',
    'nothing_arrived',
  ],
  'Copy the right address': ['before_creation', 'captured_elsewhere', 'other_recipient', 'similar_address'],
  'Open the mail': ['not_matching', 'too_few', 'unexpected_message'],
  'Open the inbox': ['deleted'],
  'Look without since': ['since_in_future', 'before_since'],
  'Change the conditions': ['impossible_condition'],
};
/** The same for causes that are refusals, whose sentence includes the reason. */
const BUTTONS_OF_REFUSALS: typeof BUTTONS = {
  'Compare the SMTP settings': ['auth_failed'],
  'Copy the right address': ['refused'],
  'Open the inbox': [
    'inbox_full',
    'too_large',
    'malformed',
    'too_many_recipients',
    'fault_rule',
    'sender_left',
  ],
};
let ahead = 0;
const clock = { ...systemClock, now: () => systemClock.now() + ahead };

function casesOf(site: Site): void {
  let mayfly: Mayfly;
  beforeAll(async () => {
    mayfly = new Mayfly({ url: site.app.url, apiKey: TEST_KEY });
  });

  /** @returns the path below /console that the error of a failed wait contains */
  const pathOf = (error: unknown): string =>
    /Look: \S+\/console(\S+)/.exec((error as WaitTimeoutError).message)?.[1] ?? '';
  /** Pastes into the field of the condition "text". @returns true if the page does not handle the paste */
  const paste = (page: Page, text: string) =>
    page.evaluate(`(() => {
      const clipboardData = new DataTransfer();
      clipboardData.setData('text', ${JSON.stringify(text)});
      const event = new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true });
      return document.querySelector('input[name=text]').dispatchEvent(event);
    })()`);

  it('the printed link leads to the answer at once, and to what is kept when the inbox was deleted', async () => {
    const inbox = await mayfly.createInbox({ labels: { run: '4711', worker: '2' } });
    await site.app.send(signUpMail(inbox.address));
    const error = await inbox
      .waitForMessage({ subject: 'invoice', code: true, timeout: 1 })
      .catch((failure: unknown) => failure);
    const { page, open } = await site.show(pathOf(error));
    await page.getByText('1 message arrived; none has "invoice" in its subject').first().waitFor();
    // Of the two conditions of the wait, one is met.
    await page.getByText('expected invoice').waitFor();
    expect(await page.getByText(/expected a code/).count()).toBe(0);
    await expectAccessible(page, 'why, from a link');
    // Later mail does not change what the link shows.
    await site.app.send({ ...signUpMail(inbox.address), subject: 'Your invoice' });
    await page.reload();
    await page.getByText('1 message arrived; none has "invoice" in its subject').first().waitFor();
    await page.getByText(/when the wait failed/).waitFor();
    await page.getByText('What the test waits for').click();
    await page.getByRole('button', { name: 'Look again' }).click();
    await page.getByText('It is here').waitFor();
    expect(new URL(page.url()).searchParams.has('wait')).toBe(false);

    await inbox.delete();
    await open(pathOf(error));
    await page.getByText(/This inbox was deleted/).waitFor();
    await page.getByText('1 message arrived; none has "invoice" in its subject.').first().waitFor();
    await expectAccessible(page, 'why, of a deleted inbox');
    await page.getByRole('link', { name: 'Report of the test run' }).click();
    await page.getByRole('heading', { name: '1 wait failed, in 1 inbox.' }).waitFor();
    expect(new URL(page.url()).searchParams.get('label.run')).toBe('4711');
    await expectAccessible(page, 'run');
  });

  it('without conditions shows those of the last wait that failed; looking is no wait of the run', async () => {
    const inbox = await mayfly.createInbox({ labels: { run: '4712' } });
    await site.app.send(signUpMail(inbox.address));
    for (const subject of ['first', 'second']) {
      await inbox.waitForMessage({ subject, timeout: 1 }).catch(() => undefined);
    }
    const { page, open } = await site.show(`/inboxes/${inbox.id}/why`, LOOKS[1]);
    await page.waitForURL(/why\?subject=second/);
    await page.getByText('none has "second" in its subject').first().waitFor();
    // The form is closed, so that the answer is visible on a phone.
    expect(await page.getByLabel('Subject').isVisible()).toBe(false);
    await page.getByText('What the test waits for').click();
    await page.getByLabel('Subject').fill('confirm');
    await page.getByRole('button', { name: 'Look again' }).click();
    await page.getByText('It is here').waitFor();
    await page.getByText('It came before the last wait of the test failed').waitFor();
    const { totals } = await mayfly.report({ run: '4712' });
    expect(totals.waitsFailed).toBe(2);

    await open('/runs');
    await page.getByRole('link', { name: 'run=4712' }).click();
    await page.getByRole('heading', { name: '2 waits failed, in 1 inbox.' }).waitFor();
    await expectAccessible(page, 'run, narrow');
    await page.getByRole('link', { name: 'Explain with the messages' }).first().click();
    await page.getByText('none has "first" in its subject').first().waitFor();
  });

  it('gives a verdict and one button for what went wrong, and a time axis of it', async () => {
    const inbox = await mayfly.createInbox({ localPart: 'new.points' });
    const waiting = inbox.waitForMessage({ subject: 'confirm', timeout: 1500 }).catch(pathOf);
    for (const address of ['nwe.points', 'newpoints', 'new.point', 'n.points'])
      await site.app.send(signUpMail(`${address}@mayfly.test`)).catch(() => undefined);
    const { page, open } = await site.show(String(await waiting), LOOKS[1]);
    // The most similar address is shown; less similar ones are folded.
    await page.getByRole('heading', { name: 'Sent to new.point@mayfly.test, and refused.' }).waitFor();
    expect(await page.locator('.time-axis .axis-line li').count()).toBe(4);
    await page.getByText('1 less similar').click();
    await page.getByRole('button', { name: 'Copy the right address' }).click();
    await page.getByText('Copied the address').waitFor();
    await expectAccessible(page, 'verdict, similar address');

    // The mail arrived before `since`.
    const second = await mayfly.createInbox();
    await site.app.send(signUpMail(second.address));
    const since = new Date(Date.now() + 50).toISOString();
    const early = second.waitForMessage({ subject: 'confirm', since, timeout: 1000 }).catch(pathOf);
    await open(String(await early));
    await page.getByRole('heading', { name: /"Please confirm your address" matches, but arrived/ }).waitFor();
    await page.getByRole('button', { name: 'Look without since' }).click();
    await page.getByText('It is here').waitFor();
  });

  it('lists the runs that have live inboxes, with all of these, however many inboxes are newer', async () => {
    const fresh = await appOfTest();
    await fresh.createInbox({ labels: { run: 'older', test: 'first' } });
    for (let n = 0; n < 210; n++) await fresh.createInbox({ labels: { run: 'newer', test: `${n}` } });
    const { page } = await site.show('/runs', LOOKS[0], TEST_KEY, fresh);
    await page.getByRole('link', { name: 'run=older' }).waitFor();
    await page.getByText('210 inboxes').waitFor();
  });

  it('an inbox without conditions and with mail is not said to have what the test waits for', async () => {
    const inbox = await site.inboxWithSignUp();
    // With an address instead of an id, the same page is shown.
    const { page } = await site.show(`/why?address=${inbox.address}`);
    await page.waitForURL(new RegExp(`/inboxes/${inbox.id}/why`));
    await page.getByText('No conditions were given').waitFor();
    expect(await page.getByText('It is here').count()).toBe(0);
  });

  it('takes a pasted wait with all its conditions, and leaves other texts to the field', async () => {
    const inbox = await site.app.createInbox();
    const { page, open } = await site.openConsole();
    const bodies: unknown[] = [];
    page.on('request', (request) => {
      if (request.url().endsWith('/wait')) bodies.push(request.postDataJSON());
    });
    await open(`/inboxes/${inbox.id}/why?subject=kept`);
    await page.getByText('as of now').waitFor();
    await page.getByText('What the test waits for').click();
    // These are JSON, but not requests of a wait.
    for (const text of ['482913', '"confirm"', '[1]', 'null']) {
      expect(await paste(page, text), text).toBe(true);
    }
    expect(page.url()).toContain('subject=kept');
    const match = {
      ...{ rcptTo: 'ada+1@', hasAttachments: true, code: false },
      link: { kind: 'reset', text: 'Reset' },
    };
    expect(await paste(page, JSON.stringify({ match, count: 2 }))).toBe(false);
    await page.getByRole('button', { name: 'rcptTo: ada+1@' }).waitFor();
    await page.getByRole('button', { name: 'link.kind: reset' }).waitFor();
    await expect.poll(() => bodies.at(-1)).toMatchObject({ match, count: 2 });
    // The form keeps conditions for which it has no field.
    await page.getByLabel('Subject').fill('hello');
    await page.getByRole('button', { name: 'Look again' }).click();
    await expect.poll(() => bodies.at(-1)).toMatchObject({ match: { ...match, subject: 'hello' }, count: 2 });
  });

  it.each([
    ['Refused.', BUTTONS],
    ['Refused: the reason is "No. Never".', BUTTONS_OF_REFUSALS],
  ])('the verdict "%s" has one button, by its code', async (heading, buttons) => {
    const inbox = await site.inboxWithSignUp();
    const { page, open } = await site.openConsole();
    let code = '';
    await page.route('**/wait', async (route) => {
      const response = await route.fetch();
      const json = await response.json();
      const text = 'Refused: the reason is "No. Never". This is what to do.';
      json.explanation.causes = [{ code, certainty: 'certain', text }];
      await route.fulfill({ response, json });
    });
    const verdict = page.locator('.verdict');
    for (const [button, codes] of Object.entries(buttons)) {
      for (code of codes) {
        await open(`/inboxes/${inbox.id}/why?subject=invoice`);
        const name =
          code === 'nothing_arrived' ? 'No mail came for this address, and none was refused.' : heading;
        await verdict.getByRole('heading', { name, exact: true }).waitFor();
        expect([code, await verdict.getByRole('button').allTextContents()]).toEqual([code, [button]]);
      }
      await expectAccessible(page, button);
    }
  });

  it('the verdict of an inbox that has expired says so, and what was sent to it', async () => {
    const inbox = await site.app.createInbox({ ttlMinutes: 1, labels: { run: 'late' } });
    ahead = 2 * MINUTE_MS;
    await site.app.send(signUpMail(inbox.address)).catch(() => undefined);
    const { page, open } = await site.show(`/inboxes/${inbox.id}/why?subject=confirm&label.run=late`);
    const verdict = page.locator('.verdict');
    await verdict.getByRole('heading', { name: /^This inbox has expired/ }).waitFor();
    await expectAccessible(page, 'why, of an expired inbox');
    await verdict.getByRole('button', { name: 'Create another inbox' }).click();
    await page.getByRole('dialog').waitFor();
    await open(`/why?address=${inbox.address}`);
    await page.getByRole('heading', { name: 'No inbox has this address' }).waitFor();
    await page.getByText('550 5.1.1').first().waitFor();
  });
}

describeConsole('after a failed test', {}, casesOf, { clock });
