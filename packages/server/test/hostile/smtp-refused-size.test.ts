import { expect, it } from 'vitest';
import { playSmtp } from '../support/smtp-script.ts';
import { appOfTest } from '../support/start-app.ts';

it('a message that MAIL declares too large is in an explained wait, with its sender, size and limit; a syntax error is not', async () => {
  const app = await appOfTest();
  const inbox = await app.createInbox();
  await playSmtp(app.smtp.port, [
    '→ 220',
    'EHLO App.Example.org → 250',
    'MAIL FROM:<app@example.org> SIZE=x → 501',
    'MAIL FROM:app → 501',
    'MAIL FROM:<app@example.org> SIZE=99000000 → 552 5.3.4',
    'MAIL FROM:<app@example.org> SIZE=1000000 → 250',
  ]);
  const body = { timeoutSeconds: 0 };
  const { explanation } = (await app.api('POST', `/v1/inboxes/${inbox.id}/wait`, { body })).body;
  expect(explanation.refused).toMatchObject([
    {
      ...{ mailFrom: 'app@example.org', helo: 'app.example.org', remoteAddress: '127.0.0.1' },
      reply: '552 5.3.4 Message too large (declared: 99000000 bytes, limit: 52428800 bytes)',
    },
  ]);
  expect(explanation.failedHandshakes).toEqual([]);
});
