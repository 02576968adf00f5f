import type { api } from '@mayfly/client';
import type { TestInfo } from '@playwright/test';
import type { TestInbox } from './inbox.ts';

/** Messages that are attached completely; the table lists all. */
const MAX_ATTACHED = 10;
/** Longest name of an attachment in the report. */
const MAX_NAME = 40;

/** Prevents the mail in the report from running scripts and loading anything. */
const POLICY = `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">`;

function table(inbox: TestInbox, messages: api.MessageSummary[]): string {
  const rows = messages.map(({ receivedAt, from, subject, codes }) => {
    const code = codes[0] ? `   code ${codes[0].value}` : '';
    return `${receivedAt.slice(11, 19)}  ${JSON.stringify(subject)}   from ${from?.address ?? 'no sender'}${code}`;
  });
  const head = `${inbox.address} has ${messages.length === 0 ? 'no mail' : messages.length === 1 ? '1 mail' : `${messages.length} mails`}${rows.length > 0 ? ', newest first, times in UTC' : ''}.`;
  return [head, ...rows, '', `Console: ${inbox.consoleUrl}`].join('\n');
}

/** Attaches the mails of a failed test to its report, and a link to the console. Never fails the test itself. */
export async function attachMails(inbox: TestInbox, testInfo: TestInfo): Promise<void> {
  testInfo.annotations.push({ type: 'mails', description: `${inbox.address}: ${inbox.consoleUrl}` });
  try {
    const messages = await inbox.messages();
    const name = inbox.address.split('@')[0];
    await testInfo.attach(`mail.txt of ${name}`, { body: table(inbox, messages), contentType: 'text/plain' });
    for (const summary of messages.slice(0, MAX_ATTACHED)) {
      const message = await summary.read();
      const title = message.subject.slice(0, MAX_NAME) || 'no subject';
      const body = message.html === null ? undefined : POLICY + message.html;
      if (body !== undefined) await testInfo.attach(`${title} (HTML)`, { body, contentType: 'text/html' });
      const raw = Buffer.from(await message.raw());
      await testInfo.attach(`${title}.eml`, { body: raw, contentType: 'message/rfc822' });
    }
  } catch (error) {
    const reason = `The mails of ${inbox.address} could not be attached: ${error}`;
    await testInfo.attach('mail.txt', { body: reason, contentType: 'text/plain' });
  }
}
