import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { createTransport } from 'nodemailer';
import { beforeEach, expect, it } from 'vitest';
import { findProgram, reportAbsent } from '../../support/find-program.ts';
import { rcpt as replyToRcpt } from '../../support/mail/smtp-mail.ts';
import { describeOnEngines, useServers } from '../../support/nodes.ts';
import { playSmtp } from '../../support/smtp-script.ts';
import type { TestApp } from '../../support/start-app.ts';

const run = promisify(execFile);
const LATER = { code: 451, text: '4.7.1 Greylisted, try again later' };

const python = findProgram('python3');
if (!python) reportAbsent('Python', 'python3');
const smtpSource = findProgram('smtp-source');
if (!smtpSource) reportAbsent('smtp-source', 'postfix');

/** Sends once and prints the exception of smtplib with its reply. */
const SMTPLIB = `
import smtplib, sys
from email.message import EmailMessage
mail = EmailMessage()
mail["From"], mail["To"], mail["Subject"] = "app@example.org", sys.argv[2], "Hello"
mail.set_content("Hello.")
try:
    with smtplib.SMTP("127.0.0.1", int(sys.argv[1])) as smtp:
        smtp.send_message(mail)
    print("sent")
except smtplib.SMTPRecipientsRefused as error:
    print("SMTPRecipientsRefused", *(code for code, text in error.recipients.values()))
except smtplib.SMTPResponseException as error:
    print(type(error).__name__, error.smtp_code, error.smtp_error.decode())
except (smtplib.SMTPException, OSError) as error:
    print(type(error).__name__)
`;

describeOnEngines('faults as senders meet them', (engine) => {
  const { first, last } = useServers(engine, { MAYFLY_SMTP_AUTH: 'inbox', MAYFLY_SINK: 'on' });
  let inbox: Awaited<ReturnType<TestApp['createInbox']>>;
  beforeEach(async () => {
    inbox = await first().createInbox();
  });

  const faults = (rules: object[], id = inbox.id) =>
    first().api('PUT', `/v1/inboxes/${id}/faults`, { body: { rules } });
  const left = async (id = inbox.id): Promise<number[]> =>
    (await last().api('GET', `/v1/inboxes/${id}/faults`)).body.rules.map(
      (rule: { left: number }) => rule.left,
    );
  const subjects = async (): Promise<string[]> =>
    (await first().api('GET', `/v1/inboxes/${inbox.id}/messages`)).body.messages.map(
      ({ subject }: { subject: string }) => subject,
    );
  const explain = async (id = inbox.id) =>
    (
      await first().api('POST', `/v1/inboxes/${id}/wait`, {
        body: { timeoutSeconds: 0, match: { subject: 'never' } },
      })
    ).body.explanation;

  /** Makes up to three attempts, as an application does. */
  async function sendWithRetries(to: string, attempts = 3): Promise<{ accepted: number; codes: number[] }> {
    const { smtp } = last();
    const pool = createTransport({ pool: true, host: smtp.host, port: smtp.port });
    const codes: number[] = [];
    try {
      for (let attempt = 1; attempt <= attempts; attempt++) {
        try {
          await pool.sendMail({ from: 'app@example.org', to, subject: `attempt ${attempt}`, text: 'Hello.' });
          return { accepted: attempt, codes };
        } catch (error) {
          codes.push((error as { responseCode?: number }).responseCode ?? 0);
        }
      }
      return { accepted: 0, codes };
    } finally {
      pool.close();
    }
  }

  /** @returns the code of the reply to RCPT for the inbox */
  const rcpt = async ({ smtp }: TestApp) => (await replyToRcpt(smtp.port, inbox.address)).slice(0, 3);

  it.each(['rcpt', 'data', 'end-of-data'])(
    'the pool of nodemailer gets 451 twice at %s, and its third attempt arrives, once',
    async (at) => {
      await faults([{ at, reply: LATER, times: 2 }]);
      expect(await sendWithRetries(inbox.address)).toEqual({ accepted: 3, codes: [451, 451] });
      expect(await subjects()).toEqual(['attempt 3']);
      expect(await left()).toEqual([0]);
    },
  );

  it.each(['rcpt', 'data', 'end-of-data'])(
    'the pool of nodemailer loses its connection at %s, and sends again',
    async (at) => {
      await faults([{ at, disconnect: true }]);
      const { accepted, codes } = await sendWithRetries(inbox.address);
      expect(codes).toEqual([0].slice(0, accepted - 1));
      expect(await subjects()).toEqual([`attempt ${accepted}`]);
      expect(await left()).toEqual([0]);
    },
  );

  it('the refusals name the rule, and so does an explained wait', async () => {
    await faults([
      { at: 'rcpt', reply: LATER },
      { at: 'data', disconnect: true, delayMs: 10 },
      { at: 'end-of-data', delayMs: 20 },
    ]);
    const replies: string[] = [];
    for (let n = 0; n < 3; n++) {
      await sendWithRetries(inbox.address, 1);
      replies.push((await explain()).summary);
    }
    expect(replies).toEqual([
      expect.stringMatching(
        /Fault rule 1 answered RCPT with "451 4\.7\.1 Greylisted, try again later"\. Its sender has not tried again yet\.$/,
      ),
      expect.stringMatching(
        /\. Fault rule 2 closed the connection at DATA after 10 ms\. Fault rule 1 answered RCPT with "451 .*"\.$/,
      ),
      expect.stringMatching(
        /^1 message arrived; none has "never" in its subject\. Its subject is ".*"\. Fault rule 3 delayed the reply to the end of the message by 20 ms\. Fault rule 2 /,
      ),
    ]);
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
    expect(await sendWithRetries(`anyone@${domain}`)).toEqual({ accepted: 2, codes: [451] });
    expect((await explain(catchAll.id)).refused).toMatchObject([
      { address: `anyone@${domain}`, fault: { rule: 1 } },
    ]);

    const { body } = await first().api('GET', '/v1/inboxes?label.mayfly=sink');
    const [sink] = body.inboxes;
    await faults([at], sink.id);
    expect(await sendWithRetries('customer@customers.example')).toEqual({ accepted: 2, codes: [451] });
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
    expect(await left()).toEqual([0, 0]);
  });

  it.skipIf(!python)("Python's smtplib raises what its documentation says", async () => {
    const attempt = async (rule: object): Promise<string> => {
      await faults([rule]);
      const args = ['-c', SMTPLIB, String(last().smtp.port), inbox.address];
      const { stdout } = await run(python as string, args);
      return stdout.trim();
    };
    expect(await attempt({ at: 'rcpt', reply: LATER })).toBe('SMTPRecipientsRefused 451');
    expect(await attempt({ at: 'data', reply: LATER })).toBe(`SMTPDataError 451 ${LATER.text}`);
    expect(await attempt({ at: 'end-of-data', reply: { code: 554, text: 'no' } })).toBe(
      'SMTPDataError 554 no',
    );
    for (const at of ['rcpt', 'data', 'end-of-data']) {
      expect(await attempt({ at, disconnect: true })).toBe('SMTPServerDisconnected');
    }
    expect(await subjects()).toEqual([]);
    expect(await attempt({ at: 'data', delayMs: 100 })).toBe('sent');
    expect(await subjects()).toEqual(['Hello']);
  });

  it.skipIf(!smtpSource)('smtp-source of Postfix goes on after 4yz and 5yz replies', async () => {
    await faults([
      { at: 'rcpt', reply: LATER, times: 3 },
      { at: 'data', reply: { code: 554, text: 'no' }, times: 2 },
      { at: 'end-of-data', reply: LATER },
    ]);
    const target = `127.0.0.1:${last().smtp.port}`;
    const args = ['-A', '-m', '10', '-s', '2', '-f', 'app@example.org', '-t', inbox.address, target];
    // `-A`: rejections are not errors.
    await run(smtpSource as string, args);
    expect(await left()).toEqual([0, 0, 0]);
    expect(await subjects()).toHaveLength(4);
  });
});
