import { expect, test } from '@mayfly/playwright';

test('a new customer confirms the account with a code', async ({ page, inbox }) => {
  await page.goto('/signup');
  await page.getByLabel('E-mail').fill(inbox.address);
  await page.getByRole('button', { name: 'Sign up' }).click();
  await page.getByLabel('Code').fill(await inbox.waitForCode({ subject: 'confirm' }));
  await page.getByRole('button', { name: 'Continue' }).click();
  await expect(page.getByRole('heading', { name: 'Welcome' })).toBeVisible();
  const welcome = await inbox.waitForMessage({ subject: 'Welcome to Shop' });
  await expect(welcome).toMatchMail('welcome');
  await inbox.expectSilence({ within: 500 });
});

test('a customer signs in with the link, as it is shown in the mail', async ({ page, inbox }) => {
  await page.goto('/login');
  await page.getByLabel('E-mail').fill(inbox.address);
  await page.getByRole('button', { name: 'Send me a link' }).click();
  const mail = await inbox.waitForMessage({ subject: 'sign in' });
  await inbox.open(page, mail);
  await page.getByRole('link', { name: 'Sign in to Shop' }).click();
  await expect(page.getByText(`Hello ${inbox.address}`)).toBeVisible();
});

test('a customer resets the password', async ({ page, inbox }) => {
  await page.goto('/forgot');
  await page.getByLabel('E-mail').fill(inbox.address);
  await page.getByRole('button', { name: 'Send' }).click();
  await page.goto(await inbox.waitForLink({ kind: 'reset' }));
  await page.getByLabel('Password').fill('a new one');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByRole('heading', { name: 'Welcome back' })).toBeVisible();
});

test('the second code replaces the first', async ({ page, inbox }) => {
  const codes = [];
  for (let i = 0; i < 2; i++) {
    await page.goto('/signup');
    await page.getByLabel('E-mail').fill(inbox.address);
    await page.getByRole('button', { name: 'Sign up' }).click();
    codes.push(await inbox.waitForCode());
  }
  await page.getByLabel('Code').fill(codes[1]);
  await page.getByRole('button', { name: 'Continue' }).click();
  await expect(page.getByRole('heading', { name: 'Welcome' })).toBeVisible();
});
