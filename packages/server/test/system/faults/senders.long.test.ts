import { beforeEach, expect, it } from 'vitest';
import { rcpt as replyToRcpt, sendTo } from '../../support/mail/smtp-mail.ts';
import { describeOnEngines, useServers } from '../../support/nodes.ts';
import { playSmtp } from '../../support/smtp-script.ts';
import type { TestApp } from '../../support/start-app.ts';

const LATER = { code: 451, text: '4.7.1 Greylisted, try again later' };

describeOnEngines('faults as senders meet them', (engine) => {
  const { first, last } = useServers(engine, { MAYFLY_SMTP_AUTH: 'inbox', MAYFLY_SINK: 'on' });
  let inbox: Awaited<ReturnType<TestApp['createInbox']>>;
  beforeEach(async () => {
    inbox = await first().createInbox();
  });

  const faults = (rules: object[], id = inbox.id) =>
    first().api('PUT', `/v1/inboxes/${id}/faults`, { body: { rules } });
  const explain = async (id = inbox.id) => {
    const body = { timeoutSeconds: 0, match: { subject: 'never' } };
    return (await first().api('POST', `/v1/inboxes/${id}/wait`, { body })).body.explanation;
  };

  /** Sends a mail twice. */
  const expectLaterThen250 = async (to: string) => {
    expect(await sendTo(last().smtp.port, to)).toBe('451 4.7.1 Greylisted, try again later');
    expect(await sendTo(last().smtp.port, to)).toMatch(/^250 /);
  };

  /** @returns the code of the reply to RCPT for the inbox */
  const rcpt = async ({ smtp }: TestApp) => (await replyToRcpt(smtp.port, inbox.address)).slice(0, 3);

  it('the refusals name the rule, and so does an explained wait', async () => {
    await faults([
      { at: 'rcpt', reply: LATER },
      { at: 'data', disconnect: true, delayMs: 10 },
      { at: 'end-of-data', delayMs: 20 },
    ]);
    for (const summary of [
      /Fault rule 1 answered RCPT with "451 4\.7\.1 Greylisted, try again later"\. Its sender has not tried again yet\.$/,
      /\. Fault rule 2 closed the connection at DATA after 10 ms\. Fault rule 1 answered RCPT with "451 .*"\.$/,
      /^1 message arrived; none has "never" in its subject\. Its subject is ".*"\. Fault rule 3 delayed the reply to the end of the message by 20 ms\. Fault rule 2 /,
    ]) {
      await sendTo(last().smtp.port, inbox.address);
      expect((await explain()).summary).toMatch(summary);
    }
    const { body } = await first().api('GET', `/v1/refusals?address=${encodeURIComponent(inbox.address)}`);
    expect(body.refusals).toMatchObject([
      { reply: '', fault: { rule: 3, at: 'end-of-data', delayMs: 20, disconnect: false } },
      { reply: '', fault: { rule: 2, at: 'data', delayMs: 10, disconnect: true } },
      { reply: '451 4.7.1 Greylisted, try again later', fault: { rule: 1, at: 'rcpt', delayMs: 0 } },
    ]);
  });

  it('rules are in force for the first RCPT after the response of any server, also where mail came just before', async () => {
    for (let n = 0; n < 5; n++) {
      expect(await rcpt(last())).toBe('250');
      await faults([{ at: 'rcpt', reply: LATER }]);
      expect(await rcpt(last())).toBe('451');
      expect(await rcpt(last())).toBe('250');
      await faults([{ at: 'rcpt', reply: LATER }]);
      await last().api('DELETE', `/v1/inboxes/${inbox.id}/faults`);
      expect(await rcpt(last())).toBe('250');
    }
  });

  it('reach a catch-all inbox, the sink, and sessions that authenticate for an inbox', async () => {
    const at = { at: 'rcpt', reply: LATER };
    const catchAll = await first().createInbox({ catchAll: true });
    const domain = catchAll.address.split('@')[1];
    await faults([at], catchAll.id);
    await expectLaterThen250(`anyone@${domain}`);
    const refused = [{ address: `anyone@${domain}`, fault: { rule: 1 } }];
    expect((await explain(catchAll.id)).refused).toMatchObject(refused);

    const { body } = await first().api('GET', '/v1/inboxes?label.mayfly=sink');
    const [sink] = body.inboxes;
    await faults([at], sink.id);
    await expectLaterThen250('customer@customers.example');
    expect((await explain(sink.id)).refused).toMatchObject([{ address: sink.address, fault: { rule: 1 } }]);

    await faults([at, { at: 'end-of-data', reply: LATER }]);
    const credentials = Buffer.from(`\0${inbox.id}\0${inbox.token}`).toString('base64');
    await playSmtp(last().smtp.port, [
      '→ 220',
      'EHLO app.example.org → 250',
      `AUTH PLAIN ${credentials} → 235`,
      'MAIL FROM:<a@b.test> → 250',
      'RCPT TO:<someone@elsewhere.example> → 451 4.7.1',
      'RCPT TO:<someone@elsewhere.example> → 250',
      'RCPT TO:<another@elsewhere.example> → 250',
      'DATA → 354',
      'Subject: x\r\n\r\nx\r\n. → 451 4.7.1',
      'QUIT → 221',
    ]);
    const { body: faulty } = await last().api('GET', `/v1/inboxes/${inbox.id}/faults`);
    expect(faulty.rules).toMatchObject([{ left: 0 }, { left: 0 }]);
  });
});
