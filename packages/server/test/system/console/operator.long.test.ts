import { expect, it } from 'vitest';
import { describeConsole, expectAccessible, LOOKS, SIGN_UP } from './console.ts';

/** More than one request of the API returns of each. */
const MANY = 205;
const AT_ONCE = 41;

const ENV = { ...SIGN_UP, MAYFLY_SINK: 'on', MAYFLY_WEBHOOK_ALLOW: '127.0.0.0/8' };

describeConsole('an account with much of everything', ENV, (site) => {
  /** Calls `work` so many times, some at once. */
  async function times<T>(count: number, work: (n: number) => Promise<T>): Promise<T[]> {
    const results: T[] = [];
    while (results.length < count) {
      const size = Math.min(AT_ONCE, count - results.length);
      results.push(...(await Promise.all(Array.from({ length: size }, (_, n) => work(results.length + n)))));
    }
    return results;
  }

  it('lists all webhooks, and older deliveries when asked to', async () => {
    const inbox = await site.app.createInbox();
    // Nothing listens there.
    const hook = (n: number) => ({ url: `http://127.0.0.1:8099/hook-${n}`, inboxId: inbox.id });
    const webhooks = await times(60, (n) => site.app.api('POST', '/v1/webhooks', { body: hook(n) }));
    const [first] = webhooks.map(({ body }) => body);
    const { page, open } = await site.openConsole();
    await open('/webhooks');
    await page.getByRole('link', { name: /hook-59$/ }).waitFor();
    expect(await page.getByRole('link', { name: /\/hook-\d+$/ }).count()).toBe(60);
    for (const { body } of webhooks.slice(1)) await site.app.api('DELETE', `/v1/webhooks/${body.id}`);
    await times(MANY, () => site.inject(inbox.id, 'x'));
    await open(`/webhooks/${first.id}`);
    const rows = page.locator('tbody tr');
    await page.getByRole('button', { name: 'Show older deliveries' }).click();
    await expect.poll(() => rows.count()).toBe(MANY);
    expect(await page.getByRole('button', { name: 'Show older deliveries' }).count()).toBe(0);

    // It cancels what is pending, which is not what one expects of a pause.
    await page.getByRole('button', { name: 'Pause', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Pause the webhook' });
    await dialog.getByText(/Pending deliveries are cancelled/).waitFor();
    expect((await site.app.api('GET', `/v1/webhooks/${first.id}`)).body.enabled).toBe(true);
    await dialog.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('paused', { exact: true }).waitFor();
  });

  it('says whose sink takes the mail that no inbox takes', async () => {
    const { body: other } = await site.app.api('POST', '/v1/accounts', {
      as: null,
      body: { name: 'other' },
    });
    const own = await site.openConsole();
    await own.open('/connect');
    await own.page.getByRole('link', { name: 'the sink of this account' }).click();
    await own.page.getByText('permanent').waitFor();
    const foreign = await site.openConsole(LOOKS[0], other.key.key ?? other.key);
    await foreign.open('/connect');
    await foreign.page.getByText('goes to the sink of another account').waitFor();
  });

  it('keeps room for the list at 400 % zoom', async () => {
    const inbox = await site.app.createInbox({ labels: { run: '1', branch: 'main' } });
    await site.app.send({ from: 'a@b.example', to: inbox.address, subject: 'Hello', text: 'x' });
    // 1280 by 1024 at 400 % (WCAG 2.2, 1.4.10).
    const low = { width: 320, height: 256, colorScheme: 'light' } as const;
    const { page, open } = await site.openConsole(low);
    for (const path of ['/inboxes', `/inboxes/${inbox.id}`, '/live']) {
      await open(path);
      await page.locator('.window li').first().waitFor();
      const heights = (await page.evaluate(
        "[document.querySelector('.window').clientHeight, document.querySelector('.window li').clientHeight]",
      )) as number[];
      expect([path, (heights[0] ?? 0) >= 2 * (heights[1] ?? 0)]).toEqual([path, true]);
      await expectAccessible(page, `${path}, low`);
    }
  });
});
