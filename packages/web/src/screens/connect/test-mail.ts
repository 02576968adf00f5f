import { attempt, toast } from '../../lib/actions.ts';
import { mayfly } from '../../lib/session.ts';

const BOUNDARY = 'mayfly-test-mail';

/** A typical sign-up mail with a code and a link. */
function testMail(address: string): string {
  const code = String(100_000 + ((crypto.getRandomValues(new Uint32Array(1))[0] ?? 0) % 900_000));
  const link = `https://app.example/confirm?token=${crypto.randomUUID?.() ?? code}`;
  const html = `<!doctype html><html lang="en"><body style="margin:0;background:#f2f4f1;font-family:sans-serif">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0"><tr><td align="center" style="padding:32px 12px">
<table role="presentation" width="440" cellpadding="0" cellspacing="0" style="max-width:440px;background:#fff;border-radius:10px">
<tr><td style="padding:32px">
<h1 style="margin:0 0 12px;font-size:22px;color:#18211f">Confirm your e-mail address</h1>
<p style="margin:0 0 20px;line-height:1.5;color:#51605b">Your code is <b style="color:#18211f;letter-spacing:1px">${code}</b>. It is valid for 10 minutes.</p>
<p style="margin:0 0 24px"><a href="${link}" style="background:#1a6b5f;color:#fff;padding:11px 20px;border-radius:6px;text-decoration:none">Confirm the address</a></p>
<p style="margin:0;font-size:13px;color:#7a8883">This is a test mail, sent from the console of Mayfly.</p>
</td></tr></table></td></tr></table></body></html>`;
  return [
    'From: Example App <no-reply@app.example>',
    `To: ${address}`,
    'Subject: Confirm your e-mail address',
    `Date: ${new Date().toUTCString().replace('GMT', '+0000')}`,
    `Message-ID: <${crypto.randomUUID?.() ?? code}@app.example>`,
    'MIME-Version: 1.0',
    `Content-Type: multipart/alternative; boundary="${BOUNDARY}"`,
    '',
    `--${BOUNDARY}`,
    'Content-Type: text/plain; charset=utf-8',
    '',
    `Your code is ${code}. It is valid for 10 minutes.`,
    '',
    `Confirm the address: ${link}`,
    `--${BOUNDARY}`,
    'Content-Type: text/html; charset=utf-8',
    '',
    ...html.split('\n'),
    `--${BOUNDARY}--`,
    '',
  ].join('\r\n');
}

/** Adds a test mail to an inbox. @returns the id of the message; undefined after a failure, which is shown */
export async function sendTestMail(inboxId: string, address: string): Promise<string | undefined> {
  const message = await attempt(() =>
    mayfly.call('POST /v1/inboxes/{id}/messages', {
      path: { id: inboxId },
      query: { mailFrom: 'no-reply@app.example' },
      body: testMail(address),
    }),
  );
  if (message) toast('The test mail was received');
  return message?.id;
}
