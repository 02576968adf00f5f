import { expect, it } from 'vitest';
import { describeConsole, expectAccessible } from './console.ts';

const HOUR_MS = 3_600_000;

describeConsole('odd mail and odd machines', {}, (site) => {
  it('shows characters that reverse a name, a subject or the name of a file, instead of obeying them', async () => {
    const inbox = await site.app.createInbox();
    const id = await site.inject(
      inbox.id,
      [
        'From: "Bank \u202Egro.knab@" <a@evil.example>',
        'Subject: Invoice \u202Efdp.exe',
        'Content-Type: multipart/mixed; boundary=b',
        '',
        '--b',
        '',
        'Hello',
        '--b',
        "Content-Disposition: attachment; filename*=utf-8''photo%E2%80%AEgpj.exe",
        '',
        'x',
        '--b--',
      ].join('\r\n'),
    );
    const { page, open } = await site.openConsole();
    await open(`/inboxes/${inbox.id}/messages/${id}?view=parts`);
    await page.getByRole('heading', { name: 'Invoice [U+202E]fdp.exe' }).waitFor();
    await page.getByRole('link', { name: 'Download photo[U+202E]gpj.exe' }).waitFor();
    expect(await page.locator('main').textContent()).not.toMatch(/\u202e/);
    expect(await page.title()).not.toMatch(/\u202e/);
  });

  it('lists the first hundred of 900 attachments, and all when asked to', async () => {
    const inbox = await site.app.createInbox();
    const parts = Array.from(
      { length: 900 },
      (_, n) => `--b\r\nContent-Disposition: attachment; filename="${n}.bin"\r\n\r\n${n}\r\n`,
    );
    const id = await site.inject(
      inbox.id,
      `Subject: many\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n${parts.join('')}--b--\r\n`,
    );
    const { page, open } = await site.openConsole();
    await open(`/inboxes/${inbox.id}/messages/${id}?view=parts`);
    const downloads = page.getByRole('link', { name: /^Download \d+\.bin/ });
    await page.getByRole('button', { name: /Show 80\d more parts/ }).waitFor();
    expect(await downloads.count()).toBe(100);
    await expectAccessible(page, 'parts, many');
    await page.getByRole('button', { name: /more parts/ }).click();
    await expect.poll(() => downloads.count()).toBe(900);
  });

  it.each([3, -3])(
    'goes by the clock of the server, where that of the browser is wrong by %i hours',
    async (hours) => {
      const inbox = await site.app.createInbox({ ttlMinutes: 90 });
      const before = (await site.app.api('GET', `/v1/inboxes/${inbox.id}`)).body.expiresAt;
      const { page, open } = await site.openConsole();
      await page.addInitScript(
        `const now = Date.now.bind(Date); Date.now = () => now() + ${hours * HOUR_MS};`,
      );
      await open(`/inboxes/${inbox.id}`);
      await page.getByText('Waiting for the first mail').waitFor();
      await page.getByText('1 h left').first().waitFor();
      await page.getByRole('button', { name: 'Extend by an hour' }).click();
      await page.getByText('Extended: 2 h left').waitFor();
      const { expiresAt } = (await site.app.api('GET', `/v1/inboxes/${inbox.id}`)).body;
      const added = Date.parse(expiresAt) - Date.parse(before);
      expect(added).toBeGreaterThan(0.9 * HOUR_MS);
      expect(added).toBeLessThan(1.1 * HOUR_MS);
    },
  );

  it('a link to a message shows where it is in the list', async () => {
    const inbox = await site.app.createInbox();
    const first = await site.inject(inbox.id, 'Subject: the oldest\r\n\r\nx\r\n');
    for (let n = 0; n < 40; n++) await site.inject(inbox.id, `Subject: number ${n}\r\n\r\nx\r\n`);
    const { page, open } = await site.openConsole();
    await open(`/inboxes/${inbox.id}/messages/${first}`);
    await page.getByRole('heading', { name: 'the oldest' }).waitFor();
    const row = page.locator('.pane-list a[aria-current=true]');
    await expect.poll(() => row.textContent()).toContain('the oldest');
    // In sight, not only in the page.
    const isInSight = `(() => {
      const row = document.querySelector('.pane-list a[aria-current=true]').getBoundingClientRect();
      return row.top >= 0 && row.bottom <= innerHeight;
    })()`;
    await expect.poll(() => page.evaluate(isInSight)).toBe(true);
  });
});
