import { createTransport } from 'nodemailer';
import { test } from '../../../src/index.ts';

const transport = createTransport({ host: '127.0.0.1', port: Number(process.env.SMTP_PORT) });

test('a customer resets the password', async ({ inbox }) => {
  // The wait must end before this.
  test.setTimeout(10_000);
  await transport.sendMail({
    from: 'Shop <no-reply@shop.example>',
    to: inbox.address,
    subject: 'Welcome to Shop',
    text: 'Welcome!',
    html: '<h1 style="color: teal">Welcome!</h1><p>Your code is <b>482913</b>.</p><script>alert(1)</script>',
  });
  await inbox.waitForLink({ kind: 'reset', subject: 'password' });
});

test('a customer is forgotten by a wait without await', async ({ inbox }) => {
  void inbox.waitForCode();
});
