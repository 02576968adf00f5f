import { Mayfly, type WaitTimeoutError } from '@mayfly/client';
import type { Page } from 'playwright-core';
import { beforeAll, expect, it } from 'vitest';
import { MINUTE_MS, systemClock } from '../../../src/clock.ts';
import { appOfTest, TEST_KEY } from '../../support/start-app.ts';
import { describeConsole, expectAccessible, first, heading, NARROW, role, signUpMail } from './console.ts';

/** The heading of the verdict for a cause; for a refusal it includes the reason. */
const CAUSE = 'Refused.';
const REFUSAL = 'Refused: the reason is "No. Never".';
/** Headings and buttons of verdicts, and the codes of their causes. */
const VERDICTS: [heading: string, button: string, ...codes: string[]][] = [
  [CAUSE, 'Compare the SMTP settings', 'nothing_connected', 'left_without_recipient', 'tls_failed'],
  ['No mail came for this address, and none was refused.', 'Compare the SMTP settings', 'nothing_arrived'],
  [CAUSE, 'Copy the right address', 'before_creation', 'captured_elsewhere'],
  [CAUSE, 'Copy the right address', 'other_recipient', 'similar_address'],
  [CAUSE, 'Open the mail', 'not_matching', 'too_few', 'unexpected_message'],
  [CAUSE, 'Open the inbox', 'deleted'],
  [CAUSE, 'Look without since', 'since_in_future', 'before_since'],
  [CAUSE, 'Change the conditions', 'impossible_condition'],
  [REFUSAL, 'Compare the SMTP settings', 'auth_failed'],
  [REFUSAL, 'Copy the right address', 'refused'],
  [REFUSAL, 'Open the inbox', 'inbox_full', 'too_large', 'malformed'],
  [REFUSAL, 'Open the inbox', 'too_many_recipients', 'fault_rule', 'sender_left'],
];
let ahead = 0;
const clock = { ...systemClock, now: () => systemClock.now() + ahead };

describeConsole('after a failed test', { clock }, (site) => {
  let mayfly: Mayfly;
  beforeAll(() => {
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
    const invoice = first('1 message arrived; none has "invoice" in its subject');
    const { page, open, find, click, sees } = await site.show(pathOf(error), invoice);
    // Of the two conditions of the wait, one is met.
    await sees('expected invoice');
    expect(await find(/expected a code/).count()).toBe(0);
    await expectAccessible(page, 'why, from a link');
    // Later mail does not change what the link shows.
    await site.app.send({ ...signUpMail(inbox.address), subject: 'Your invoice' });
    await page.reload();
    await sees(invoice, /when the wait failed/);
    await find('What the test waits for').click();
    await click('Look again', 'It is here');
    expect(new URL(page.url()).searchParams.has('wait')).toBe(false);

    await inbox.delete();
    await open(pathOf(error), /This inbox was deleted/);
    await sees(first('1 message arrived; none has "invoice" in its subject.'));
    await expectAccessible(page, 'why, of a deleted inbox');
    await click(role('link', 'Report of the test run'), heading('1 wait failed, in 1 inbox.'));
    expect(new URL(page.url()).searchParams.get('label.run')).toBe('4711');
    await expectAccessible(page, 'run');
  });

  it('without conditions shows those of the last wait that failed; looking is no wait of the run', async () => {
    const inbox = await mayfly.createInbox({ labels: { run: '4712' } });
    await site.app.send(signUpMail(inbox.address));
    for (const subject of ['first', 'second']) {
      await inbox.waitForMessage({ subject, timeout: 1 }).catch(() => undefined);
    }
    const second = first('none has "second" in its subject');
    const path = `/inboxes/${inbox.id}/why`;
    const { page, open, find, click, fill } = await site.show(path, second, { look: NARROW });
    expect(page.url()).toMatch(/why\?subject=second/);
    // The form is closed, so that the answer is visible on a phone.
    expect(await page.getByLabel('Subject').isVisible()).toBe(false);
    await find('What the test waits for').click();
    await fill('Subject', 'confirm');
    await click('Look again', 'It is here', 'It came before the last wait of the test failed');
    const { totals } = await mayfly.report({ run: '4712' });
    expect(totals.waitsFailed).toBe(2);

    await open('/runs');
    await click(role('link', 'run=4712'), heading('2 waits failed, in 1 inbox.'));
    await expectAccessible(page, 'run, narrow');
    await click(first(role('link', 'Explain with the messages')), first('none has "first" in its subject'));
  });

  it('gives a verdict and one button for what went wrong, and a time axis of it', async () => {
    const inbox = await mayfly.createInbox({ localPart: 'new.points' });
    const waiting = inbox.waitForMessage({ subject: 'confirm', timeout: 1500 }).catch(pathOf);
    for (const address of ['nwe.points', 'newpoints', 'new.point', 'n.points'])
      await site.app.send(signUpMail(`${address}@mayfly.test`)).catch(() => undefined);
    // The most similar address is shown; less similar ones are folded.
    const verdict = heading('Sent to new.point@mayfly.test, and refused.');
    const { page, open, find, click } = await site.show(String(await waiting), verdict, { look: NARROW });
    expect(await page.locator('.time-axis .axis-line li').count()).toBe(4);
    await find('1 less similar').click();
    await click('Copy the right address', 'Copied the address');
    await expectAccessible(page, 'verdict, similar address');

    // The mail arrived before `since`.
    const second = await mayfly.createInbox();
    await site.app.send(signUpMail(second.address));
    const since = new Date(Date.now() + 50).toISOString();
    const early = second.waitForMessage({ subject: 'confirm', since, timeout: 1000 }).catch(pathOf);
    await open(String(await early), heading(/"Please confirm your address" matches, but arrived/));
    await click('Look without since', 'It is here');
  });

  it('lists the runs that have live inboxes, with all of these, however many inboxes are newer', async () => {
    const app = await appOfTest();
    await app.createInbox({ labels: { run: 'older', test: 'first' } });
    for (let n = 0; n < 210; n++) await app.createInbox({ labels: { run: 'newer', test: `${n}` } });
    const { sees } = await site.show('/runs', role('link', 'run=older'), { app });
    await sees('210 inboxes');
  });

  it('an inbox without conditions and with mail is not said to have what the test waits for', async () => {
    const inbox = await site.inboxWithSignUp();
    // With an address instead of an id, the same page is shown.
    const { page, find } = await site.show(`/why?address=${inbox.address}`, 'No conditions were given');
    expect(page.url()).toContain(`/inboxes/${inbox.id}/why`);
    expect(await find('It is here').count()).toBe(0);
  });

  it('takes a pasted wait with all its conditions, and leaves other texts to the field', async () => {
    const inbox = await site.app.createInbox();
    const { page, open, find, click, fill, sees } = await site.openConsole();
    const bodies: unknown[] = [];
    page.on('request', (request) => {
      if (request.url().endsWith('/wait')) bodies.push(request.postDataJSON());
    });
    await open(`/inboxes/${inbox.id}/why?subject=kept`, 'as of now');
    await find('What the test waits for').click();
    // These are JSON, but not requests of a wait.
    for (const text of ['482913', '"confirm"', '[1]', 'null']) {
      expect(await paste(page, text), text).toBe(true);
    }
    expect(page.url()).toContain('subject=kept');
    const link = { kind: 'reset', text: 'Reset' };
    const match = { rcptTo: 'ada+1@', hasAttachments: true, code: false, link };
    expect(await paste(page, JSON.stringify({ match, count: 2 }))).toBe(false);
    await sees(role('button', 'rcptTo: ada+1@'), role('button', 'link.kind: reset'));
    await expect.poll(() => bodies.at(-1)).toMatchObject({ match, count: 2 });
    // The form keeps conditions for which it has no field.
    await fill('Subject', 'hello');
    await click('Look again');
    await expect.poll(() => bodies.at(-1)).toMatchObject({ match: { ...match, subject: 'hello' }, count: 2 });
  });

  it('each verdict has its heading and one button, by its code', async () => {
    const inbox = await site.inboxWithSignUp();
    const { page, open } = await site.openConsole();
    let code = '';
    await page.route('**/wait', async (route) => {
      const response = await route.fetch();
      const json = await response.json();
      const text = `${REFUSAL} This is what to do.`;
      json.explanation.causes = [{ code, certainty: 'certain', text }];
      await route.fulfill({ response, json });
    });
    const verdict = page.locator('.verdict');
    for (const [name, button, ...codes] of VERDICTS) {
      for (code of codes) {
        await open(`/inboxes/${inbox.id}/why?subject=invoice`);
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
    const path = `/inboxes/${inbox.id}/why?subject=confirm&label.run=late`;
    const { page, open, click } = await site.show(path);
    const verdict = page.locator('.verdict');
    await verdict.getByRole('heading', { name: /^This inbox has expired/ }).waitFor();
    await expectAccessible(page, 'why, of an expired inbox');
    await click(() => verdict.getByRole('button', { name: 'Create another inbox' }));
    await page.getByRole('dialog').waitFor();
    await open(`/why?address=${inbox.address}`, heading('No inbox has this address'), first('550 5.1.1'));
  });
});
