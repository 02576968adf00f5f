import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';
import { findProgramWith, reportAbsent } from '../support/find-program.ts';
import { useApp } from '../support/start-app.ts';

const LIBRARIES = ['action_mailbox/engine', 'sqlite3', 'rack/handler/webrick'];
const ruby = await findProgramWith(['ruby'], ['-W0', ...LIBRARIES.map((name) => `-r${name}`), '-e', '']);
if (!ruby)
  reportAbsent('Action Mailbox of Rails 6', 'ruby-actionmailbox ruby-railties ruby-sqlite3 ruby-webrick');

/** Starts the application. @returns its address, and the next mail that its mailbox gets */
async function startRails(ingress: string, env: Record<string, string>) {
  const folder = mkdtempSync(join(tmpdir(), 'mayfly-rails-'));
  const program = join(import.meta.dirname, 'rails/app.rb');
  const child = spawn(ruby ?? '', ['-W0', program, ingress, folder], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(async () => {
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
    rmSync(folder, { recursive: true, force: true });
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<string> => String((await lines.next()).value);
  return { url: `http://127.0.0.1:${await next()}`, mail: async () => JSON.parse(await next()) };
}

describe.skipIf(!ruby)('Action Mailbox of Rails', () => {
  const app = useApp({ MAYFLY_WEBHOOK_ALLOW: '127.0.0.1/32' });

  it.each([
    ['postmark', 'postmark/inbound_emails', 'password', 'RAILS_INBOUND_EMAIL_PASSWORD'],
    ['mailgun', 'mailgun/inbound_emails/mime', 'signingKey', 'MAILGUN_INGRESS_SIGNING_KEY'],
    ['sendgrid', 'sendgrid/inbound_emails?send_raw=true', 'password', 'RAILS_INBOUND_EMAIL_PASSWORD'],
  ])('takes a reply through its ingress for %s, with its authentication', async (name, path, secret, env) => {
    const settings = (body: object) => app.api('PUT', `/v1/providers/${name}`, { body });
    const { verification } = (await settings({})).body;
    const rails = await startRails(name, { [env]: verification[secret] });
    const inboundUrl = `${rails.url}/rails/action_mailbox/${path}`;
    await settings({ inboundUrl });
    const unsigned = { RawEmail: 'x', timestamp: '1', token: 'x', signature: 'x', email: 'x' };
    const refused = await fetch(inboundUrl, { method: 'POST', body: new URLSearchParams(unsigned) });
    expect(refused.status).toBe(401);

    const inbox = await app.createInbox();
    const ticket = { subject: 'Ticket', text: 'How?', messageId: '<t7@shop.example>' };
    await app.send({ from: 'help@shop.example', to: inbox.address, ...ticket });
    const [{ id }] = await app.messages(inbox, '?wait=10');
    const attachments = [{ filename: 'größe.txt', contentType: 'text/plain', content: 'Z3LDvG4=' }];
    await app.api('POST', `/v1/inboxes/${inbox.id}/messages/${id}/reply`, {
      body: { text: 'Grüße 👋', to: name, attachments },
    });
    expect(await rails.mail()).toEqual({
      from: [inbox.address],
      to: ['help@shop.example'],
      subject: 'Re: Ticket',
      text: expect.stringMatching(/^Grüße 👋[\s\S]*> How\?/),
      in_reply_to: 't7@shop.example',
      files: [['größe.txt', 'grün']],
    });
  });
});
