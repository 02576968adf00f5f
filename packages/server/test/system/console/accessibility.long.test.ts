import { beforeAll, expect, it } from 'vitest';
import { inForm } from '../../support/form.ts';
import { describeConsole, expectAccessible, first, LOOKS, type Look } from './console.ts';

/** A phone, a tablet, a laptop, and the laptop at 200 % zoom, which halves its CSS pixels. */
const WIDTHS = (['light', 'dark'] as const).flatMap((colorScheme) =>
  [390, 768, 1440, 720].map((width) => ({ width, height: width === 720 ? 450 : 900, colorScheme })),
);
const looks: readonly Look[] = LOOKS;

describeConsole('every screen and state of the console', {}, (site) => {
  /** Path of each state, and words that are shown in it. */
  let states: Record<string, [path: string, words: string]>;
  beforeAll(async () => {
    const inbox = await site.inboxWithSignUp({ labels: { run: '4711' } });
    const empty = await site.app.createInbox();
    const ended = await site.app.createInbox();
    await site.app.api('POST', `/v1/inboxes/${ended.id}/expire`);
    const message = await site.newest(inbox.id);
    const html = '<div style="position: absolute; gap: 1px">Hello</div>';
    const id = await site.inject(inbox.id, `Subject: Modern\r\nContent-Type: text/html\r\n\r\n${html}\r\n`);
    const modern = `/inboxes/${inbox.id}/messages/${id}`;
    states = {
      inboxes: ['/inboxes', 'run=4711'],
      'inboxes, none matches': ['/inboxes?q=nothing', 'No inbox matches'],
      'new inbox': ['/inboxes?new=1', 'Lifetime'],
      inbox: [`/inboxes/${inbox.id}`, 'Please confirm your address'],
      'inbox, empty': [`/inboxes/${empty.id}`, 'Waiting for the first mail'],
      'inbox, expired': [`/inboxes/${ended.id}`, 'This inbox has expired'],
      'inbox, unknown': ['/inboxes/inb_00000000000000000000000000', 'There is nothing here'],
      html: [message, 'Dark client'],
      text: [`${message}?view=text`, 'Copy the text'],
      codes: [`${message}?view=codes`, 'Links'],
      headers: [`${message}?view=headers`, 'MIME-Version'],
      parts: [`${message}?view=parts`, 'terms.pdf'],
      source: [`${message}?view=source`, 'Wrap lines'],
      json: [`${message}?view=json`, '"inboxId"'],
      timeline: [`${message}?view=timeline`, 'Stored by Mayfly'],
      lint: [`${message}?view=lint`, 'Lint'],
      'lint, by mail client': [`${modern}?view=lint`, 'By mail client'],
      'replies and bounces': [`/inboxes/${inbox.id}/sent`, 'Nothing yet'],
      why: [`/inboxes/${inbox.id}/why?subject=invoice`, 'as of now'],
      'why, address': ['/why?address=nobody@mayfly.test', 'No inbox has this address'],
      live: ['/live', 'Pause'],
      connect: ['/connect?for=django', 'EMAIL_HOST'],
      'webhooks, empty': ['/webhooks', 'No webhooks yet'],
      'new webhook': ['/webhooks?new=1', 'Register'],
      keys: ['/keys', 'Begins with'],
      'new key': ['/keys?new=1', 'What it is for'],
      usage: ['/usage', 'Requests by day'],
      domains: ['/domains', 'MX'],
      'no such screen': ['/nothing', 'There is no such screen'],
    };
  });

  it.each(inForm(LOOKS.slice(0, 2), [...LOOKS, ...WIDTHS]))(
    'has no finding of axe and no sideways scrolling, $width px wide and $colorScheme',
    async (look) => {
      const { page, open, press } = await site.openConsole({ look });
      // The short form checks each state in one of the two looks.
      const isTried = (_: unknown, index: number) => inForm(index % 2 === looks.indexOf(look), true);
      for (const [state, [path, words]] of Object.entries(states).filter(isTried)) {
        await open(path, first(words));
        await expectAccessible(page, state);
      }
      await open('/inboxes', 'run=4711');
      await press('Control+k', () => page.locator('[role=combobox]:focus'));
      await expectAccessible(page, 'palette');
    },
    inForm(120_000, 240_000),
  );

  it.each(WIDTHS.filter(({ colorScheme, width }) => colorScheme === 'light' && width !== 1440))(
    'gives half of the height to the mail, $width x $height',
    async (look) => {
      const { page, open } = await site.openConsole({ look });
      const frame = page.locator('.preview-stage');
      await open(states.html?.[0] ?? '', () => frame);
      await expect
        .poll(async () => ((await frame.boundingBox())?.y ?? Number.POSITIVE_INFINITY) / look.height)
        .toBeLessThanOrEqual(0.5);
    },
  );

  it('says that the server does not respond', async () => {
    const { page, open } = await site.openConsole();
    await page.route('**/v1/domains', (route) => route.abort());
    await open('/domains', 'The server does not respond');
    await expectAccessible(page, 'no response');
  });
});
