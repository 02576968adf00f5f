import { expect, test } from '@playwright/test';
import { waitForMail } from './wait-for-mail.ts';

test('confirms the address of a new account', async ({ page, request }) => {
  test.setTimeout(60_000); // Longer than the wait inside, so that its explanation is shown.
  const created = await request.post(`${process.env.API}/v1/inboxes`, {
    headers: { authorization: `Bearer ${process.env.KEY}` },
    data: { ttlMinutes: 10 },
  });
  const inbox = await created.json();

  await page.goto('/sign-up');
  await page.getByLabel('E-mail').fill(inbox.address);
  await page.getByRole('button', { name: 'Sign up' }).click();

  const mail = await waitForMail(inbox, { link: { kind: 'verify' } });
  await page.goto(mail.links.find((link) => link.kind === 'verify').href);
  await expect(page.getByText('Your address is confirmed')).toBeVisible();
});
