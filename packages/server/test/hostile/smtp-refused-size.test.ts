import { afterEach, describe, expect, it } from 'vitest';
import { type StartedSmtp, startSmtp } from '../smtp/start-smtp.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { playSmtp } from '../support/smtp-script.ts';
import { appOfTest } from '../support/start-app.ts';

const LIMIT = 1_000_000;
let smtp: StartedSmtp | undefined;
afterEach(async () => {
  await smtp?.stop();
  smtp = undefined;
});

describe('a message that MAIL declares too large', () => {
  it('is recorded with its sender, source, size and limit, though no recipient was named', async () => {
    const clock = new FakeClock();
    smtp = await startSmtp({ maxMessageBytes: LIMIT }, clock);
    await playSmtp(smtp.port, [
      '→ 220',
      'EHLO App.Example.org → 250',
      'MAIL FROM:<app@example.org> SIZE=1000001 → 552 5.3.4',
      'MAIL FROM:<app@example.org> SIZE=1000000 → 250',
    ]);
    expect(smtp.receiver.unaddressed).toEqual([
      {
        at: clock.now(),
        address: '',
        reply: '552 5.3.4 Message too large (declared: 1000001 bytes, limit: 1000000 bytes)',
        ...{ mailFrom: 'app@example.org', helo: 'app.example.org', remoteAddress: '127.0.0.1' },
      },
    ]);
    expect(smtp.metrics.codes).toEqual([552]);
  });

  it('is not recorded for a syntax error, which names no size', async () => {
    smtp = await startSmtp({ maxMessageBytes: LIMIT });
    await playSmtp(smtp.port, [
      '→ 220',
      'EHLO c → 250',
      'MAIL FROM:<app@example.org> SIZE=x → 501',
      'MAIL FROM:app → 501',
    ]);
    expect(smtp.receiver.unaddressed).toEqual([]);
  });

  it('shows in an explained wait with its size and the limit', async () => {
    const app = await appOfTest();
    const inbox = await app.createInbox();
    await playSmtp(app.smtp.port, [
      '→ 220',
      'EHLO app.example.org → 250',
      'MAIL FROM:<app@example.org> SIZE=99000000 → 552 5.3.4',
    ]);
    const body = { timeoutSeconds: 0 };
    const waited = await app.api('POST', `/v1/inboxes/${inbox.id}/wait`, { body });
    expect(waited.body.explanation.refused).toMatchObject([
      { mailFrom: 'app@example.org', reply: expect.stringContaining('declared: 99000000 bytes') },
    ]);
    expect(waited.body.explanation.failedHandshakes).toEqual([]);
  });
});
