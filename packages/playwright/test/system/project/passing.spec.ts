import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createTransport } from 'nodemailer';
import type { Inbox, Message } from '../../../../client/src/index.ts';
import { expect, type TestInbox, test } from '../../../src/index.ts';

const transport = createTransport({ host: '127.0.0.1', port: Number(process.env.SMTP_PORT) });
const send = (to: string, subject: string, text: string, html?: string) =>
  transport.sendMail({ from: 'no-reply@shop.example', to, subject, text, ...(html && { html }) });

for (const number of [1, 2, 3, 4, 5, 6]) {
  test(`gives test ${number} an inbox of its own`, async ({ inbox }) => {
    const code = `48291${number}`;
    await send(inbox.address, 'Your code', `Your code is ${code}.`);
    expect(await inbox.waitForCode({ subject: 'code' })).toBe(code);
    expect(inbox.data.labels).toMatchObject({
      suite: 'fixtures',
      retry: '0',
      title: expect.stringContaining(`${number}`),
    });
    await expect(inbox).toHaveReceivedExactly(1, { within: 100 });
    await inbox.expectSilence({ within: 100 });
  });
}

test('compares a mail with its snapshot', async ({ inbox }) => {
  const code = String(100_000 + Math.floor(Math.random() * 900_000));
  await send(
    inbox.address,
    'Hello Ada',
    `Hello Ada,\n\nyour code is ${code}.`,
    `<p>Your code is <b>${code}</b>.</p>`,
  );
  await expect(await inbox.waitForMessage()).toMatchMail('hello', { mask: { first: 'Ada' } });
});

test('compares the picture of a mail, narrow and dark', async ({ page, inbox }) => {
  const style = '@media (prefers-color-scheme: dark) { body { background: #000; color: #fff } }';
  const html = (first: string, code: string) =>
    `<style>${style}</style><h1>Hello ${first}</h1><p>${code}</p>`;
  await send(inbox.address, 'Your code', 'Hello', html('{first}', 'Your code is <b>000000</b>.'));
  await send(inbox.address, 'Your code', 'Hello', html('Ada', 'Your code is <b>774411</b>.'));
  await send(inbox.address, 'Your code', 'Hello', html('Ada', 'Your code is 774411.'));
  const [masked, ada, other] = await inbox.waitForMessages(3);
  // Pictures depend on the fonts of the machine, so none is kept with this test.
  await page.setViewportSize({ width: 375, height: 800 });
  await page.emulateMedia({ colorScheme: 'dark' });
  await inbox.open(page, masked);
  await page.screenshot({ path: `${process.env.OUTPUT}/pictures/code.png`, fullPage: true });
  await page.setViewportSize({ width: 800, height: 600 });
  const look = { width: 375, dark: true, name: 'code', mask: { first: 'Ada' } };
  await expect(page).toMatchMailScreenshot(ada as Message, look);
  expect(page.viewportSize()?.width).toBe(375);
  await expect(page.locator('body')).toHaveCSS('background-color', 'rgb(0, 0, 0)');
  await expect(page).not.toMatchMailScreenshot(other as Message, { ...look, timeout: 2_000 });
  await expect(page).not.toMatchMailScreenshot(ada as Message, { ...look, dark: false, timeout: 2_000 });
});

test('makes more inboxes', async ({ inbox, createInbox }) => {
  expect(inbox.data.ttlMinutes).toBe(15);
  const other = await createInbox({ ttlMinutes: 5, labels: { role: 'admin' } });
  expect(other.address).not.toBe(inbox.address);
  expect(other.data.labels.role).toBe('admin');
});

test('opens a mail in the page, where its links lead on and its scripts do not run', async ({
  page,
  inbox,
}) => {
  const server = createServer((request, response) => {
    response.setHeader('content-type', 'text/html');
    response.end(
      `<h1>Welcome ${request.url}</h1><script>document.title = 'scripts of the application run'</script>`,
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const html = `<h1 style="color: rgb(255, 0, 0)">Confirm</h1><script>document.body.innerHTML = 'run'</script>
    <p><a href="${origin}/confirm?token=1" target="_blank">Confirm my address</a></p>`;
  await send(inbox.address, 'Confirm', 'x', html);
  const mail = await inbox.waitForMessage({ subject: 'Confirm', link: true });
  await inbox.open(page, mail);
  await expect(page.getByRole('heading', { name: 'Confirm' })).toHaveCSS('color', 'rgb(255, 0, 0)');
  await page.getByRole('link', { name: 'Confirm my address' }).click();
  await expect(page).toHaveURL(/confirm\?token=1/);
  await expect(page).toHaveTitle('scripts of the application run');
  server.close();
});

test('opens a mail without HTML, with its link', async ({ page, inbox }) => {
  await send(inbox.address, 'Plain', 'Confirm: http://127.0.0.1:9/confirm');
  await inbox.open(page, await inbox.waitForMessage({ subject: 'Plain' }));
  await expect(page.getByText('Confirm:')).toBeVisible();
  await expect(page.getByRole('link')).toHaveAttribute('href', 'http://127.0.0.1:9/confirm');
});

test('ends waits before the test, also those that ask for more time than there is', async ({ inbox }) => {
  test.setTimeout(4_000);
  await expect(inbox.expectSilence({ within: 60_000 })).rejects.toThrow(
    /A silence of 60 s cannot be awaited, only [\d.]+ s\. .* Call test\.setTimeout\(\) for more\./,
  );
  await expect(inbox.waitForMessage({ subject: 'never', timeout: 60_000 })).rejects.toThrow(
    /Waited [\d.]+ s for a mail with subject "never" to \S+\. The limit of the test cut it from 60 s, because the test had only [\d.]+ s left\. Call test\.setTimeout\(\) for more\./,
  );
});

test.describe('options of a describe block', () => {
  test.use({ mayflyTtlMinutes: 3, mayflyLabels: { area: 'block' } });
  test('hold for its tests', async ({ inbox }) => {
    expect(inbox.data.ttlMinutes).toBe(3);
    expect(inbox.labels.area).toBe('block');
  });
});

test.describe('an inbox of beforeAll', () => {
  let ended: TestInbox;
  let shared: Inbox;
  test.beforeAll(async ({ createInbox, mayfly }) => {
    ended = await createInbox();
    shared = await mayfly.createInbox({ ttlMinutes: 5 });
  });
  test.afterAll(() => shared.delete());

  test('is one of the client; one of the fixture says that it has ended', async () => {
    await send(shared.address, 'Shared', 'for all tests');
    expect((await shared.waitForMessage()).subject).toBe('Shared');
    await expect(ended.waitForMessage()).rejects.toThrow(
      /ended with the test or hook that created it. Create one for several tests with mayfly\.createInbox/,
    );
  });
});

test('a wait that lost a race does not fail the test', async ({ inbox }) => {
  expect(await Promise.race([inbox.waitForCode(), Promise.resolve('the page was faster')])).toBe(
    'the page was faster',
  );
});
