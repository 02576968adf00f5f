import { expect, it } from 'vitest';
import { inForm } from '../../support/form.ts';
import { TEST_KEY } from '../../support/start-app.ts';
import { describeConsole, exact, heading, LOOKS, role, row, signUpMail } from './console.ts';

describeConsole('the console in a browser', {}, (site) => {
  it.each(inForm(LOOKS.slice(0, 1), [...LOOKS]))(
    'from signing in to deleting a mail, $width px wide and $colorScheme',
    async (look) => {
      const { page, open, find, click, press, fill, sees } = await site.openConsole({ look, as: null });
      // The linked page is shown after signing in.
      await open('/inboxes?new=1');
      await fill('API key or read token', 'mfk_wrong');
      await press('Enter', () => page.getByRole('alert'));
      await fill('API key or read token', TEST_KEY);
      await click('Sign in');
      await click(/^Create$/);
      await click('Open the inbox');
      const title = (await find(heading(/@mayfly\.test/)).textContent()) ?? '';
      await sees('Waiting for the first mail');

      await site.app.send(signUpMail(/\S+@mayfly\.test/.exec(title)?.[0] ?? ''));
      await click(row('Please confirm your address'), heading('Please confirm your address'));
      await sees(() => page.frameLocator('iframe').getByText('Welcome'));
      await click(role('tab', /Codes/), exact('https://shop.example/confirm?token=abc'));
      const code = () => page.getByRole('tabpanel').getByRole('button', { name: /code 482913/ });
      await click(code, 'Copied code 482913');
      await click(role('tab', 'Text'));
      expect(page.url()).toContain('view=text');

      await click('Delete the message', 'Waiting for the first mail');
      await click('Undo', row('Please confirm your address'));
    },
  );
});
