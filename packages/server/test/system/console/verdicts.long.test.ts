import { connect } from 'node:net';
import { createTransport } from 'nodemailer';
import type Mail from 'nodemailer/lib/mailer/index.js';
import { expect, it } from 'vitest';
import { MINUTE_MS, systemClock } from '../../../src/clock.ts';
import type { TestApp } from '../../support/start-app.ts';
import { describeConsole, expectAccessible, signUpMail } from './console.ts';

type Inbox = Awaited<ReturnType<TestApp['createInbox']>>;
type Transport = NonNullable<Parameters<typeof createTransport>[0]> & object;

/** What went wrong: the inbox, and the wait that fails in it. */
interface Situation {
  inbox: Inbox;
  match?: Record<string, unknown>;
  count?: number;
}

const ENV = {
  MAYFLY_PLANS: JSON.stringify({ unlimited: { maxMessagesPerInbox: 2, maxMessageBytes: 100_000 } }),
  MAYFLY_SMTP_STARTTLS: 'self-signed',
};
let ahead = 0;
const clock = { ...systemClock, now: () => systemClock.now() + ahead };

describeConsole(
  'a verdict',
  ENV,
  (site) => {
    /** Sends without TLS; resolves when the mail was accepted or refused. */
    const send = (mail: Mail.Options, options: Transport = {}) => {
      const transport = createTransport({ ...site.app.smtp, ignoreTLS: true, ...options } as Transport);
      return transport.sendMail(mail).catch(() => undefined);
    };
    const withMail = async (mail: Mail.Options = {}): Promise<Inbox> => {
      const inbox = await site.app.createInbox();
      await send({ ...signUpMail(inbox.address), ...mail });
      return inbox;
    };

    // In this order: what did not name an inbox is a cause for any that has no other.
    const cases: [
      what: string,
      make: () => Promise<Situation>,
      code: string,
      heading: RegExp,
      button: string,
    ][] = [
      [
        'nothing ever connected',
        async () => ({ inbox: await site.app.createInbox() }),
        ...(['nothing_connected', /^No client connected to the SMTP server/] as const),
        'Compare the SMTP settings',
      ],
      [
        'a client that left without a recipient',
        async () => {
          const client = connect(site.app.smtp.port, site.app.smtp.host);
          client.once('data', () => client.end('EHLO site.app.example\r\nQUIT\r\n'));
          return { inbox: await site.app.createInbox() };
        },
        ...(['left_without_recipient', /connected and left without naming a recipient/] as const),
        'Compare the SMTP settings',
      ],
      [
        'a certificate that the application does not trust',
        async () => {
          const inbox = await site.app.createInbox();
          await site.app.send(signUpMail(inbox.address)).catch(() => undefined);
          return { inbox };
        },
        ...(['tls_failed', /^A TLS handshake with \S+ failed/] as const),
        'Compare the SMTP settings',
      ],
      [
        'mail before the inbox was created, refused with 550',
        async () => {
          await send(signUpMail('too.early@mayfly.test'));
          return { inbox: await site.app.createInbox({ localPart: 'too.early' }) };
        },
        ...(['before_creation', /was refused, .+ before this inbox was created/] as const),
        'Copy the right address',
      ],
      [
        'a wrong subject',
        async () => ({ inbox: await withMail(), match: { subject: 'invoice' } }),
        ...(['not_matching', /^1 message arrived; none has "invoice" in its subject\.$/] as const),
        'Open the mail',
      ],
      [
        'one mail of two',
        async () => ({ inbox: await withMail(), match: { subject: 'confirm' }, count: 2 }),
        ...(['too_few', /^1 of 2 messages arrived\.$/] as const),
        'Open the inbox',
      ],
      [
        'a pattern where text is compared',
        async () => ({ inbox: await site.app.createInbox(), match: { subject: '/confirm.*/i' } }),
        ...(['impossible_condition', /looks like a regular expression/] as const),
        'Change the conditions',
      ],
      [
        'a quota that is used up',
        async () => {
          const inbox = await withMail();
          for (const subject of ['second', 'third']) await send({ ...signUpMail(inbox.address), subject });
          return { inbox, match: { subject: 'third' } };
        },
        ...(['inbox_full', /was refused.*: the inbox is full/] as const),
        'Open the inbox',
      ],
      [
        'a mail that is too large',
        async () => ({ inbox: await withMail({ text: 'many words '.repeat(20_000) }) }),
        ...(['too_large', /was refused.*: the message is too large/] as const),
        'Open the inbox',
      ],
      [
        'a sender with a wrong password',
        async () => {
          const inbox = await site.app.createInbox();
          await send(signUpMail(inbox.address), { auth: { user: inbox.id, pass: 'wrong' } } as Transport);
          return { inbox };
        },
        ...(['auth_failed', /failed to authenticate/] as const),
        'Compare the SMTP settings',
      ],
      [
        'a sender that is rejected',
        async () => {
          const inbox = await site.app.createInbox();
          const reply = { code: 550, text: '5.7.1 Sender rejected' };
          await site.app.api('PUT', `/v1/inboxes/${inbox.id}/faults`, {
            body: { rules: [{ at: 'rcpt', reply }] },
          });
          await send(signUpMail(inbox.address));
          return { inbox };
        },
        ...(['fault_rule', /^Fault rule \d answered RCPT with "550 5\.7\.1 Sender rejected"/] as const),
        'Open the inbox',
      ],
      [
        'a mail that was deleted',
        async () => {
          const inbox = await withMail();
          await site.app.api('DELETE', `/v1/inboxes/${inbox.id}/messages`);
          return { inbox };
        },
        ...(['deleted', /^The only message that this inbox has received was deleted\.$/] as const),
        'Open the inbox',
      ],
    ];

    it.each(cases)('of %s is one sentence with one button', async (_what, make, code, heading, button) => {
      const { inbox, match = { subject: 'confirm' }, count = 1 } = await make();
      const body = { match, count, timeoutSeconds: 0 };
      const explained = async () => {
        const { body: result } = await site.app.api('POST', `/v1/inboxes/${inbox.id}/wait`, { body });
        return result.explanation.causes[0].code;
      };
      // What became of a connection is stored after its reply.
      await expect.poll(explained, { timeout: 20_000 }).toBe(code);
      const { page, open } = await site.openConsole();
      const params = new URLSearchParams(
        Object.fromEntries(Object.entries(match).map(([name, value]) => [name, String(value)])),
      );
      if (count > 1) params.set('count', String(count));
      await open(`/inboxes/${inbox.id}/why?${params}`);
      const verdict = page.locator('.verdict');
      await verdict.getByRole('heading', { name: heading }).waitFor();
      await verdict.getByRole('button', { name: button, exact: true }).waitFor();
      expect(await verdict.getByRole('button').count()).toBe(1);
      await expectAccessible(page, code);
    });

    it('of an inbox that has expired says so, and what was sent to it', async () => {
      const inbox = await site.app.createInbox({ ttlMinutes: 1, labels: { run: 'late' } });
      ahead = 2 * MINUTE_MS;
      await send(signUpMail(inbox.address));
      const { page, open } = await site.show(`/inboxes/${inbox.id}/why?subject=confirm&label.run=late`);
      const verdict = page.locator('.verdict');
      await verdict.getByRole('heading', { name: /^This inbox has expired/ }).waitFor();
      await expectAccessible(page, 'why, of an expired inbox');
      await verdict.getByRole('button', { name: 'Create another inbox' }).click();
      await page.getByRole('dialog').waitFor();
      await open(`/why?address=${inbox.address}`);
      await page.getByRole('heading', { name: 'No inbox has this address' }).waitFor();
      await page.getByText('550 5.1.1').first().waitFor();
    });
  },
  { clock },
);
