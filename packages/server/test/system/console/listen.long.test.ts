import { connect } from 'node:net';
import { expect, it } from 'vitest';
import { describeConsole, expectAccessible, LOOKS, signUpMail } from './console.ts';

describeConsole('the first screen and the search of everything', {}, (site) => {
  it('shows each attempt to send as it happens, until the first mail is there with its code', async () => {
    const { page, open } = await site.openConsole(LOOKS[1]);
    await open('/');
    await page.getByText('Listening').waitFor();
    // Host and port of this server, and code for a framework that is chosen.
    await page.getByText(`${site.app.smtp.host}:${site.app.smtp.port}`, { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Django' }).click();
    await page.getByText(`EMAIL_PORT = ${site.app.smtp.port}`).waitFor();
    await expectAccessible(page, 'listening');
    await page.getByRole('button', { name: 'A fresh inbox' }).click();
    // A client that leaves without a mail is told of too.
    const client = connect(site.app.smtp.port, site.app.smtp.host);
    client.once('data', () => client.end('EHLO site.app.example\r\nQUIT\r\n'));
    await page.getByText(/connected and left without naming a recipient/).waitFor();

    await site.app.send(signUpMail('nobody@mayfly.test')).catch(() => undefined);
    await page.getByText('550 5.1.1').waitFor();
    await page.getByRole('link', { name: 'nobody@mayfly.test' }).waitFor();
    await page.getByRole('button', { name: 'Send a test mail' }).click();
    const code = page.locator('.big-code').getByRole('button');
    await code.click();
    await page.getByText(/Copied code \d{6}/).waitFor();
    await expectAccessible(page, 'listening, with mail');
    await page.getByRole('button', { name: 'Show all mail' }).click();
    await page.getByRole('link', { name: /Confirm your e-mail address/ }).waitFor();
    // With mail, the same address shows the list at once.
    await open('/');
    await page.getByRole('link', { name: /Confirm your e-mail address/ }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/console/live');
  });

  it('one field finds mails, inboxes and runs as one types, opens them, and copies their codes', async () => {
    const inbox = await site.app.createInbox({ localPart: 'bright.lamp', labels: { run: 'r-99' } });
    await site.app.send({ ...signUpMail('bright.lamp+ada@mayfly.test', '515151'), subject: 'Welcome, Ada' });
    await site.app.send({ ...signUpMail(inbox.address, '626262'), subject: 'Welcome, Bob' });
    const { page, open } = await site.openConsole();
    await open('/usage');
    await page.getByRole('heading', { name: 'Usage' }).waitFor();
    const field = page.getByRole('combobox');
    const find = async (words: string) => {
      await page.keyboard.press('Control+k');
      await field.fill(words);
    };
    await find('welcome from:shop');
    await page.getByRole('option', { name: /Welcome, Bob/ }).waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('x');
    await page.getByText('Copied code 515151').waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Welcome, Ada' }).waitFor();
    // A code is a word as any other, and x is a letter until an arrow key was pressed.
    await find('626262');
    await page.getByRole('option', { name: /Welcome, Bob/ }).waitFor();
    await field.pressSequentially('x');
    await page.getByText('Nothing matches').waitFor();
    await field.fill('sender:nobody');
    await page.getByText('"sender:" in "q" is no search operator').waitFor();
    await field.fill('r-99');
    await page.getByRole('option', { name: 'run=r-99 test run' }).click();
    await page.getByText('All inboxes of the run').waitFor();
    await find('bright.lamp@');
    await page.getByRole('option', { name: /bright\.lamp@mayfly\.test inbox/ }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: /Welcome, Bob/ }).waitFor();
  });
});
