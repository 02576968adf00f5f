import { expect, test } from '@mayfly/playwright';
import { sendWithRetries } from './mailer.js';

const smtp = { port: Number(process.env.SMTP_PORT ?? 2525) };
const mailTo = ({ address }) => ({ from: 'app@shop.example', to: address, subject: 'Your order', text: '…' });

test('a greylisting server delays the mail, and it arrives once', async ({ inbox }) => {
  await inbox.setFaults([{ at: 'rcpt', reply: { code: 451, text: '4.7.1 Greylisted' }, times: 2 }]);
  await sendWithRetries(mailTo(inbox), smtp);

  await inbox.waitForMessage({ subject: 'Your order' });
  await inbox.expectSilence({ subject: 'Your order', within: 500 });
  expect(await inbox.faults()).toMatchObject([{ left: 0 }]);
});

test('a connection that is lost after the mail was sent costs no mail', async ({ inbox }) => {
  await inbox.setFaults([{ at: 'end-of-data', disconnect: true }]);
  await sendWithRetries(mailTo(inbox), smtp);
  await inbox.waitForMessage({ subject: 'Your order' });
});

test('an address that is refused for good is tried once', async ({ inbox }) => {
  await inbox.setFaults([{ at: 'rcpt', reply: { code: 550, text: '5.1.1 No such user' }, times: 5 }]);
  await expect(sendWithRetries(mailTo(inbox), smtp)).rejects.toMatchObject({ responseCode: 550 });
  expect(await inbox.faults()).toMatchObject([{ left: 4 }]);
});
