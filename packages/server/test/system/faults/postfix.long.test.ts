import { createTransport } from 'nodemailer';
import { describe, expect, it } from 'vitest';
import { useApp } from '../../support/start-app.ts';
import { startedOnce } from '../../support/started.ts';
import { HAS_POSTFIX, startPostfix } from './postfix.ts';

describe.skipIf(!HAS_POSTFIX)('the queue of Postfix, in front of an inbox with faults', () => {
  const app = useApp();
  const postfix = startedOnce(() => startPostfix(app.smtp.port));

  /** Hands a mail to Postfix, which takes it into its queue. */
  async function queue(to: string, subject: string, from = 'app@example.org'): Promise<void> {
    const transport = createTransport({ host: '127.0.0.1', port: postfix.port });
    await transport.sendMail({ from, to, subject, text: 'Hello.' });
    transport.close();
  }
  /** Resolves when the mail arrived; its failure tells what Postfix did. */
  async function arrived(id: string, subject: string) {
    const body = { match: { subject }, timeoutSeconds: 4 };
    for (let round = 1; round <= 10; round++) {
      const { matched, messages } = (await app.api('POST', `/v1/inboxes/${id}/wait`, { body })).body;
      if (matched) return messages[0];
      // A mail that is found in the queue while its last attempt ends is put aside for five minutes.
      await postfix.flush();
    }
    throw new Error(`The mail did not arrive. ${await postfix.log()}`);
  }
  const left = async (id: string): Promise<number[]> =>
    (await app.api('GET', `/v1/inboxes/${id}/faults`)).body.rules.map((rule: { left: number }) => rule.left);

  const faults = (id: string, ...rules: object[]) =>
    app.api('PUT', `/v1/inboxes/${id}/faults`, { body: { rules } });

  it.each(
    ['rcpt', 'data', 'end-of-data'].flatMap((at) => [
      { at, reply: { code: 451, text: '4.7.1 Greylisted' }, times: 2 },
      { at, disconnect: true },
    ]),
  )('retries after %j, then delivers once', async (rule) => {
    const inbox = await app.createInbox();
    await faults(inbox.id, rule);
    await queue(inbox.address, 'after a fault');
    await arrived(inbox.id, 'after a fault');
    expect(await postfix.log()).toMatch(RegExp(`to=<${inbox.address}>.*status=deferred`));
    expect(await left(inbox.id)).toEqual([0]);
    const { body } = await app.api('GET', `/v1/inboxes/${inbox.id}/messages`);
    expect(body.messages).toHaveLength(1);
  });

  it('waits for a delayed reply, and sends a bounce after 554', async () => {
    const [sender, inbox] = [await app.createInbox(), await app.createInbox()];
    const refusal = { at: 'rcpt', reply: { code: 554, text: '5.7.1 Not today' } };
    await faults(inbox.id, { at: 'end-of-data', delayMs: 1500 }, refusal);
    await queue(inbox.address, 'delayed');
    await arrived(inbox.id, 'delayed');
    await expect.poll(() => left(inbox.id)).toEqual([0, 1]);
    await queue(inbox.address, 'bounced', sender.address);
    const bounce = await arrived(sender.id, 'Undelivered Mail Returned to Sender');
    const text = bounce.text.replaceAll(/\s+/g, ' ');
    expect(text).toContain('said: 554 5.7.1 Not today (in reply to RCPT TO command)');
  });
});
