import { beforeAll, expect, it } from 'vitest';
import { MINUTE_MS, systemClock } from '../../../src/clock.ts';
import type { Body } from '../../support/api-client.ts';
import { describeConsole, expectAccessible, signUpMail } from './console.ts';

/** The button and the first sentence for each cause of a failed wait; texts as in test/waits/situations. */
const CASES: [button: string, code: string, sentence: string, rest?: string][] = [
  ['Compare the SMTP settings', 'nothing_connected', 'No client connected to the SMTP server', ': check it.'],
  ['Compare the SMTP settings', 'left_without_recipient', 'A client connected and left after EHLO.'],
  ['Compare the SMTP settings', 'tls_failed', 'A TLS handshake with 127.0.0.1 failed', ': the client did.'],
  [
    'Compare the SMTP settings',
    'auth_failed',
    'A sender was refused: a wrong password (535 5.7.8).',
    ' Try.',
  ],
  ['Copy the right address', 'before_creation', 'Mail was refused before this inbox was created', ': wait.'],
  ['Copy the right address', 'refused', 'Mail for a@mayfly.test was refused (550 5.1.1).'],
  ['Open the mail', 'not_matching', '1 message arrived; none has "a. B" in its subject.', ' Closest: "c".'],
  ['Open the mail', 'unexpected_message', 'A message matched, and none was expected: "Your invoice 7".'],
  ['Open the mail', 'too_few', '1 of 2 messages arrived.'],
  [
    'Change the conditions',
    'impossible_condition',
    'The subject looks like a regular expression.',
    ' Use text.',
  ],
  ['Open the inbox', 'inbox_full', 'Mail was refused: the inbox is full (452 4.2.2).', ' Delete messages.'],
  ['Open the inbox', 'too_large', 'A message was refused: it is larger than 64 KiB (552 5.3.4).'],
  [
    'Open the inbox',
    'malformed',
    'A message was refused: its lines end with LF alone (550 5.6.11).',
    ' Write CRLF.',
  ],
  [
    'Open the inbox',
    'too_many_recipients',
    'A message with more than 100 recipients left out a@mayfly.test.',
  ],
  [
    'Open the inbox',
    'fault_rule',
    'Fault rule 1 answered RCPT with "550 5.7.1 Sender rejected".',
    ' It did.',
  ],
  ['Open the inbox', 'sender_left', 'A sender named a@mayfly.test, and left without sending the message.'],
  ['Open the inbox', 'deleted', 'The only message that this inbox has received was deleted.'],
  ['Look without since', 'before_since', '"Confirm. Now" matches, but arrived before this wait\'s since.'],
  [
    'Look without since',
    'since_in_future',
    'No message arrived after since.',
    ' "Confirm" arrived before it.',
  ],
  ['Open the inbox that has it', 'captured_elsewhere', 'Mail for a@mayfly.test is in b@mayfly.test.'],
  ['Open the inbox that has it', 'other_recipient', 'The sink received mail for b@mayfly.test.'],
];

let ahead = 0;
const clock = { ...systemClock, now: () => systemClock.now() + ahead };

describeConsole(
  'a verdict',
  {},
  (site) => {
    let path: string;
    let failed: Body;
    beforeAll(async () => {
      const inbox = await site.inboxWithSignUp();
      path = `/inboxes/${inbox.id}`;
      const body = { match: { subject: 'invoice' }, timeoutSeconds: 0 };
      failed = (await site.app.api('POST', `/v1${path}/wait`, { body })).body;
      const at = new Date().toISOString();
      failed.explanation.otherMail = [
        { address: inbox.address, at, reason: 'meets-conditions', inboxId: inbox.id },
      ];
    });

    it.each(CASES)('says "%s" for %s, under one sentence', async (button, code, sentence, rest = '') => {
      const { page, open } = await site.openConsole();
      const causes = [{ code, certainty: 'likely', text: sentence + rest }];
      const otherMail = button.endsWith('has it') ? failed.explanation.otherMail : [];
      const explanation = { ...failed.explanation, causes, otherMail };
      await page.route('**/wait', (route) => route.fulfill({ json: { ...failed, explanation } }));
      await open(`${path}/why?subject=invoice`);
      const verdict = page.locator('.verdict');
      const heading = sentence.replace(/[^.]$/, '$&.');
      await verdict.getByRole('heading', { name: heading, exact: true }).waitFor();
      await verdict.getByRole('button', { name: button, exact: true }).waitFor();
      expect(await verdict.getByRole('button').count()).toBe(1);
      await expectAccessible(page, code);
      if (otherMail.length === 0) return;
      await page.getByText('meets all conditions, in another inbox').waitFor();
      await verdict.getByRole('button').click();
      await page.waitForURL(new RegExp(`${path}$`));
    });

    it('of an inbox that has expired says so, and what was sent to it', async () => {
      const inbox = await site.app.createInbox({ ttlMinutes: 1, labels: { run: 'late' } });
      ahead = 2 * MINUTE_MS;
      await site.app.send(signUpMail(inbox.address)).catch(() => undefined);
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
