import { expect, it } from 'vitest';
import { inForm } from '../../support/form.ts';
import { TEST_KEY } from '../../support/start-app.ts';
import { describeConsole, LOOKS, signUpMail } from './console.ts';

describeConsole('the console in a browser', {}, (site) => {
  it.each(inForm(LOOKS.slice(0, 1), [...LOOKS]))(
    'from signing in to deleting a mail, $width px wide and $colorScheme',
    async (look) => {
      const { page } = await site.openConsole(look, null);
      // The linked page is shown after signing in.
      await page.goto(`${site.app.url}/console/inboxes?new=1`);
      await page.getByLabel('API key or read token').fill('mfk_wrong');
      await page.keyboard.press('Enter');
      await page.getByRole('alert').waitFor();
      await page.getByLabel('API key or read token').fill(TEST_KEY);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('button', { name: 'Create', exact: true }).click();
      await page.getByRole('button', { name: 'Open the inbox' }).click();
      const heading = page.getByRole('heading', { name: /@mayfly\.test/ });
      const address = /\S+@mayfly\.test/.exec((await heading.textContent()) ?? '')?.[0] ?? '';
      await page.getByText('Waiting for the first mail').waitFor();

      await site.app.send(signUpMail(address));
      const row = page.getByRole('link', { name: /Please confirm your address/ });
      await row.waitFor();
      await row.click();
      await page.getByRole('heading', { name: 'Please confirm your address' }).waitFor();
      await page.frameLocator('iframe').getByText('Welcome').waitFor();
      await page.getByRole('tab', { name: /Codes/ }).click();
      await page.getByText('https://shop.example/confirm?token=abc', { exact: true }).waitFor();
      await page
        .getByRole('tabpanel')
        .getByRole('button', { name: /code 482913/ })
        .click();
      await page.getByText('Copied code 482913').waitFor();
      await page.getByRole('tab', { name: 'Text' }).click();
      expect(page.url()).toContain('view=text');

      await page.getByRole('button', { name: 'Delete the message' }).click();
      await page.getByText('Waiting for the first mail').waitFor();
      await page.getByRole('button', { name: 'Undo' }).click();
      await row.waitFor();
    },
  );
});
