import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { startApp, TEST_KEY } from '../../support/start-app.ts';
import { describeConsole, expectAccessible, LOOKS, signUpMail } from './console.ts';

describeConsole('further ways through the console', { MAYFLY_WEBHOOK_ALLOW: '127.0.0.0/8' }, (site) => {
  it('by the keyboard alone', async () => {
    const inbox = await site.app.createInbox({ localPart: `keys-${Date.now()}` });
    for (const code of ['111111', '222222', '333333']) await site.app.send(signUpMail(inbox.address, code));
    const { page, open } = await site.openConsole();
    await open('/inboxes');
    await page.getByRole('link', { name: new RegExp(inbox.address) }).waitFor();
    const focused = () => page.locator(':focus');
    await page.keyboard.press('j');
    await expect.poll(() => focused().textContent()).toContain(inbox.address);
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: /333333/ }).waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await expect.poll(() => focused().textContent()).toContain('222222');
    await page.keyboard.press('Enter');
    await page.getByRole('tab', { name: 'HTML' }).waitFor();
    await page.keyboard.press('2');
    await page.getByText('Your code is 222222.').last().waitFor();
    expect(page.url()).toContain('view=text');
    // Back to the same row, not to the top.
    await page.keyboard.press('u');
    // The row has the focus already before the page has gone back.
    await page.waitForURL((url) => !url.pathname.includes('/messages/'));
    await expect.poll(() => focused().textContent()).toContain('222222');
    await page.keyboard.press('x');
    await page.getByText('Copied code 222222').waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('u');
    await page.getByRole('heading', { name: 'Usage' }).waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor({ state: 'hidden' });
    await page.keyboard.press('Control+k');
    await page.locator('[role=combobox]:focus').waitFor();
    await page.keyboard.type('webhooks');
    await page
      .getByRole('option', { name: /Webhooks/ })
      .first()
      .waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Webhooks' }).waitFor();
  });

  it('never loses the focus: after undoing, deleting the only row, filtering and going elsewhere', async () => {
    const inbox = await site.app.createInbox({ labels: { run: 'focus' } });
    await site.app.send(signUpMail(inbox.address));
    const { body: webhook } = await site.app.api('POST', '/v1/webhooks', {
      body: { url: 'http://127.0.0.1:8099/focus', inboxId: inbox.id },
    });
    await site.app.send(signUpMail(inbox.address, '555555'));
    const { page, open } = await site.openConsole();
    const focused = page.locator(':focus');
    await open(`/inboxes?label.run=focus`);
    await page.getByRole('link', { name: inbox.address }).waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('Delete');
    await page.getByText('No inbox matches').waitFor();
    await expect.poll(() => focused.textContent()).toContain('Inboxes');
    await page.getByRole('button', { name: 'Undo' }).press('Enter');
    await page.getByRole('link', { name: inbox.address }).waitFor();
    await expect.poll(() => focused.textContent()).toContain('Inboxes');
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: /555555/ }).waitFor();
    await expect.poll(() => focused.textContent()).toContain(inbox.address);
    await open('/runs?label.run=focus');
    await page.getByText('All inboxes of the run').waitFor();
    await page.getByRole('button', { name: 'run=focus' }).press('Enter');
    await expect.poll(() => focused.textContent()).toContain('Test runs');
    await open(`/webhooks/${webhook.id}`);
    const failed = page.getByRole('button', { name: 'failed', exact: true });
    await failed.press('Enter');
    await page.getByText('No delivery is in that state.').waitFor();
    await expect.poll(() => focused.textContent()).toBe('failed');
  });

  it('says of an address that no inbox has where its mail goes, and lists what was refused', async () => {
    await site.app.send(signUpMail('nobody.takes.it@mayfly.test')).catch(() => undefined);
    const { page, open } = await site.openConsole();
    await open('/why');
    const refusal = page.getByRole('link', { name: 'nobody.takes.it@mayfly.test' });
    await refusal.click();
    await page.getByText(/is refused with 550 5\.1\.1/).waitFor();
    expect(await page.getByLabel('Address', { exact: true }).inputValue()).toBe(
      'nobody.takes.it@mayfly.test',
    );

    const taking = await startApp({ MAYFLY_SINK: 'on' });
    await taking.send(signUpMail('nobody.takes.it@mayfly.test'));
    const other = await site.openConsole(LOOKS[0], TEST_KEY, taking);
    await other.open('/why?address=nobody.takes.it@mayfly.test');
    await other.page.getByText('No inbox has this address: the sink takes its mail').waitFor();
    await other.page.getByRole('link', { name: 'Show the mail for this address' }).click();
    await other.page.getByRole('link', { name: /Please confirm your address/ }).waitFor();
    // The search field says what the address of the page says, also when that changes.
    const search = other.page.getByLabel('Search messages');
    expect(await search.inputValue()).toBe('to:nobody.takes.it@mayfly.test');
    await search.fill('Subject:nothing');
    await other.page.keyboard.press('Enter');
    await other.page.getByText('No message matches').waitFor();
    await search.fill('sender:nobody');
    await other.page.keyboard.press('Enter');
    await other.page.getByText('"sender:" in "q" is no search operator').waitFor();
    await search.fill('-nobody confirm "your address" -confirm');
    await other.page.keyboard.press('Enter');
    await other.page.getByRole('button', { name: 'Show all messages' }).click();
    await other.page.getByRole('link', { name: /Please confirm your address/ }).waitFor();
    expect(await search.inputValue()).toBe('');
    await taking.stop();
  });

  it('keeps no key: nothing in storage, the address, or what scripts can read', async () => {
    const { context, page } = await site.openConsole(LOOKS[0], null);
    await page.goto(`${site.app.url}/console/sign-in`);
    await page.getByLabel('API key or read token').fill(TEST_KEY);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Live' }).waitFor();
    const readable = await page.evaluate(
      'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href])',
    );
    expect(readable).not.toContain(TEST_KEY);
    expect(readable).not.toContain('mfs_');
    const [cookie] = await context.cookies();
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict' });
  });

  it('a link with a read token opens its inbox and nothing else', async () => {
    const inbox = await site.app.createInbox();
    await site.app.send(signUpMail(inbox.address));
    const { page, open } = await site.openConsole(LOOKS[0], null);
    await open(`/open#${inbox.token}`);
    await page.getByRole('link', { name: /Please confirm/ }).waitFor();
    expect(page.url()).not.toContain('mft_');
    await open('/keys');
    await page.waitForURL(new RegExp(`/inboxes/${inbox.id}$`));
    // New mail arrives here too.
    await site.app.send({ ...signUpMail(inbox.address), subject: 'A second one' });
    await page.getByRole('link', { name: /A second one/ }).waitFor();
  });

  it('replays all deliveries that failed, and shows those of one state', async () => {
    let status = 410;
    const endpoint = createServer((_request, response) => {
      response.statusCode = status;
      response.end();
    });
    endpoint.listen(0, '127.0.0.1');
    await once(endpoint, 'listening');
    const { port } = endpoint.address() as AddressInfo;
    const body = { url: `http://127.0.0.1:${port}/mail` };
    const { body: webhook } = await site.app.api('POST', '/v1/webhooks', { body });
    const inbox = await site.app.createInbox();
    const states = async () =>
      (await site.app.api('GET', `/v1/webhooks/${webhook.id}/deliveries`)).body.deliveries.map(
        (one: { state: string }) => one.state,
      );
    // A 410 fails at once and disables the endpoint.
    await site.app.send(signUpMail(inbox.address));
    await expect.poll(states).toEqual(['failed']);
    status = 204;
    await site.app.api('PATCH', `/v1/webhooks/${webhook.id}`, { body: { enabled: true } });
    await site.app.send(signUpMail(inbox.address));
    await expect.poll(states).toEqual(['delivered', 'failed']);

    const { page, open } = await site.openConsole();
    await open(`/webhooks/${webhook.id}?state=failed`);
    const rows = page.locator('tbody tr');
    await expect.poll(() => rows.count()).toBe(1);
    await page.getByRole('button', { name: 'Replay…' }).click();
    await page.getByRole('button', { name: 'Replay', exact: true }).click();
    await page.getByText('1 delivery is attempted again').waitFor();
    await expect.poll(states).toEqual(['delivered', 'delivered']);
    await page.getByRole('button', { name: 'delivered' }).click();
    await expect.poll(() => rows.count()).toBe(2);
    await site.app.api('DELETE', `/v1/webhooks/${webhook.id}`);
    endpoint.close();
  });

  it('creates an inbox with a telephone number, and shows the SMS that it gets', async () => {
    const { page, open } = await site.openConsole(LOOKS[1]);
    await open('/inboxes');
    await page.getByRole('button', { name: 'New inbox' }).first().click();
    await page.getByLabel('Address').selectOption('Telephone number (SMS)');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByText('Telephone number', { exact: true }).waitFor();
    const { body } = await site.app.api('GET', '/v1/inboxes?limit=1');
    const [{ phoneNumber }] = body.inboxes;
    const sent = await fetch(`${site.app.url}/providers/twilio/2010-04-01/Accounts/AC1/Messages.json`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`AC1:${TEST_KEY}`)}` },
      body: new URLSearchParams({ From: '+15005550006', To: phoneNumber, Body: 'Your code is 482913' }),
    });
    expect(sent.status).toBe(201);
    await page.getByRole('button', { name: 'Open the inbox' }).click();
    await page.getByText(phoneNumber).first().waitFor();
    const row = page.getByRole('link', { name: /\+15005550006.*\(no subject\).*Your code is 482913/s });
    await row.waitFor();
    await expectAccessible(page, 'an inbox with a telephone number');
    await row.click();
    await page.getByRole('heading', { name: '(no subject)' }).waitFor();
    await page.getByText('Twilio').first().waitFor();
    await expectAccessible(page, 'an SMS');
  });

  it('replies to a mail, and lists what went back and what becomes of the next mails', async () => {
    const [inbox, shop] = [await site.app.createInbox(), await site.app.createInbox()];
    await site.app.send({ ...signUpMail(inbox.address), from: shop.address });
    const { page, open } = await site.openConsole();
    await open(`/inboxes/${inbox.id}`);
    await page.getByRole('link', { name: /Please confirm your address/ }).click();
    await page.getByRole('button', { name: 'Reply' }).click();
    await page.getByRole('textbox', { name: new RegExp(shop.address) }).fill('Thanks, that helped.');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText(`Thanks, that helped. · ${shop.address}`).waitFor();
    const { body: list } = await site.app.api('GET', `/v1/inboxes/${shop.id}/messages?wait=20`);
    expect(list.messages[0].subject).toBe('Re: Please confirm your address');
    await page.getByRole('button', { name: 'Add' }).click();
    await page.getByText('1 mail: bounces.').waitFor();
    const { body: outcomes } = await site.app.api('GET', `/v1/inboxes/${inbox.id}/outcomes`);
    expect(outcomes.rules).toMatchObject([{ outcome: 'bounce', left: 1 }]);
  });
});
