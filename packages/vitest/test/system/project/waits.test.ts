import { createTransport } from 'nodemailer';
import { describe, expect, test } from '../../../src/index.ts';

/** A busy machine takes long for anything. */
const LONG = { timeout: 60_000 };
/** Those that fail wait until shortly before it. */
const SHORT = { timeout: 10_000 };

const transport = createTransport({ host: '127.0.0.1', port: Number(process.env.SMTP_PORT) });
const send = (to: string, subject: string, text: string) =>
  transport.sendMail({ from: 'Shop <no-reply@shop.example>', to, subject, text });

describe('those that pass', () => {
  for (const number of [1, 2, 3])
    test.concurrent(`gets an inbox of its own, ${number}`, LONG, async ({ inbox }) => {
      await send(inbox.address, 'Code', `Your code is 48291${number}.`);
      expect(await inbox.waitForCode()).toBe(`48291${number}`);
      expect(inbox.labels).toMatchObject({ test: `gets an inbox of its own, ${number}` });
      expect(await inbox.messages()).toHaveLength(1);
      await expect(inbox).toHaveReceivedExactly(1, { within: 100 });
      await inbox.expectSilence({ within: 100 });
    });

  test('gets more inboxes', LONG, async ({ mayfly, inbox, createInbox }) => {
    const admin = await createInbox({ ttlMinutes: 5, labels: { role: 'admin' } });
    expect(admin.address).not.toBe(inbox.address);
    expect((await mayfly.getInbox(admin.id)).labels.role).toBe('admin');
  });
});

test('a mail that is like its snapshot', LONG, async ({ inbox }) => {
  const words = process.env.MAIL_WORDS ?? 'Your code is';
  await send(
    inbox.address,
    'Hello Ada',
    `Hello Ada,\n\n${words} ${100_000 + Math.floor(Math.random() * 900_000)}.`,
  );
  const mail = await inbox.waitForMessage();
  await expect(mail).toMatchMail(process.env.MAIL_SNAPSHOT ?? 'hello', { mask: { first: 'Ada' } });
});

describe.concurrent('those that fail', () => {
  test('of a mail that does not come', SHORT, async ({ inbox }) => {
    await send(inbox.address, 'Welcome to Shop', 'Welcome!');
    await inbox.waitForLink({ subject: 'reset' });
  });

  test('of a silence that does not fit', SHORT, async ({ inbox }) => {
    await inbox.expectSilence({ within: 60_000 });
  });

  test('of a wait beside an application that hangs', SHORT, async ({ inbox }) => {
    await Promise.all([inbox.waitForCode(), new Promise((resolve) => setTimeout(resolve, 60_000))]);
  });
});
