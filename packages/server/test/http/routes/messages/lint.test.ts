import { afterAll, describe, expect, it } from 'vitest';
import { startApp } from '../../../support/start-app.ts';

const app = await startApp();
afterAll(() => app.stop());

describe('GET /v1/inboxes/{id}/messages/{messageId}/lint', () => {
  it('returns what is wrong with a mail that nodemailer sent, to the key and to the read token', async () => {
    const inbox = await app.createInbox();
    await app.send({
      from: 'app@shop.example',
      to: inbox.address,
      subject: 'Reset your password',
      html: '<img src="cid:logo"><a href="http://shop.example/reset?token=1">Reset</a>',
    });
    const path = `/v1/inboxes/${inbox.id}/messages`;
    const [message] = (await app.api('GET', path)).body.messages;
    const { status, body } = await app.api('GET', `${path}/${message.id}/lint`);
    expect(status).toBe(200);
    expect(body.findings.map(({ rule }: { rule: string }) => rule)).toEqual([
      'broken-cid',
      'missing-text-alternative',
      'image-without-alt',
      'insecure-link',
      'image-without-size',
      'html-lang',
      'html-dir',
    ]);
    const again = await app.api('GET', `${path}/${message.id}/lint`, { as: inbox.token });
    expect(again.body).toEqual(body);
  });
});
