import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { addMailCommand, compose } from '../../src/cli/mail.ts';
import { parseConfig } from '../../src/config/config.ts';
import { useApp } from '../support/start-app.ts';
import { startTcp } from '../webhooks/receivers.ts';

const NOW = Date.UTC(2026, 10, 21, 12);

const app = useApp();

/** Runs `mayfly mail`. @returns what it printed */
async function mail(args: string[], env: Record<string, string> = {}): Promise<string> {
  const program = new Command().exitOverride();
  const printed: string[] = [];
  const readConfig = () => parseConfig({ MAYFLY_SMTP_PORT: String(app.smtp.port), ...env });
  addMailCommand(program, { print: (text) => printed.push(text), now: () => NOW }, readConfig);
  await program.parseAsync(['mail', ...args], { from: 'user' });
  return printed.join('');
}

async function received(inbox: { id: string }) {
  const [first] = await app.messages(inbox);
  return (await app.api('GET', `/v1/inboxes/${inbox.id}/messages/${first.id}`)).body;
}

describe('mayfly mail', () => {
  it('sends a message with a code to the server of the settings, without any option', async () => {
    const inbox = await app.createInbox();
    const sent = `Sent to ${inbox.address} by 127.0.0.1:${app.smtp.port}: 250 2.0.0 `;
    expect((await mail([inbox.address])).slice(0, sent.length)).toBe(sent);
    expect(await received(inbox)).toMatchObject({
      from: { address: 'sender@example.com' },
      to: [{ address: inbox.address }],
      subject: 'Your code',
      codes: [{ value: '482910' }],
      date: '2026-11-21T12:00:00.000Z',
      parseError: null,
    });
  });

  it.each<[string, { subject?: string; body?: string }]>([
    ['lines that begin with a dot', { body: '.\n..\n.x\nend' }],
    ['words beyond ASCII', { subject: `Grüße 🐞 ${'ä'.repeat(80)}`, body: `Ünï\n${'€'.repeat(500)}` }],
    ['a very long line', { body: 'x'.repeat(5_000) }],
    ['nothing', { subject: '', body: '' }],
    ['a line break in the subject', { subject: 'one\r\nBcc: two@example.com' }],
  ])('sends %s as they are', async (_what, { subject = 'x', body = 'y' }) => {
    const inbox = await app.createInbox();
    await mail([inbox.address, '--subject', subject, '--body', body]);
    const message = await received(inbox);
    expect(message.subject).toBe(subject.replaceAll(/[\r\n]+/g, ' '));
    expect((message.text ?? '').replaceAll('\r\n', '\n').trimEnd()).toBe(body);
    expect(message.headers.map(({ name }: { name: string }) => name)).not.toContain('Bcc');
  });

  it('sends to several recipients, by the server and from the sender that are named', async () => {
    const [one, two] = [await app.createInbox(), await app.createInbox()];
    const server = `localhost:${app.smtp.port}`;
    const options = ['--server', server, '--from', 'shop@shop.example'];
    await mail([one.address, two.address, ...options], { MAYFLY_SMTP_PORT: '1' });
    for (const inbox of [one, two]) expect((await received(inbox)).from.address).toBe('shop@shop.example');
  });

  it.each([
    ['no address', ['otter'], /^"otter" is not an email address\. Use one such as name@mayfly\.test\.$/],
    ['the id of an inbox', ['inb_01kk'], /^"inb_01kk" is the id of an inbox\. Use its address/],
    ['no server', ['a@b.example', '--server', 'a:b:c'], /^"a:b:c" is not a server\. Use HOST:PORT/],
    [
      'an address that no inbox has',
      ['nobody@mayfly.test'],
      /rejected the recipient nobody@mayfly\.test: 550 5\.1\.1 .*\nCreate an inbox first/,
    ],
    [
      'a server that is not there',
      ['a@b.example', '--server', '127.0.0.1:1'],
      /^No SMTP server can be reached at 127\.0\.0\.1:1 \(ECONNREFUSED\)\. Start Mayfly with "npm start"/,
    ],
  ])('says what to do for %s', async (_what, args, message) => {
    await expect(mail(args)).rejects.toThrow(message);
  });

  it('says that a server closed the connection', async () => {
    const { port, close } = await startTcp((socket) => socket.end('220 hello\r\n'));
    await expect(mail(['a@b.example', '--server', `127.0.0.1:${port}`])).rejects.toThrow(/server closed/);
    await close();
  });

  it('is `npm run mail` in the checkout', async () => {
    const inbox = await app.createInbox();
    const options = ['--subject', 'two words', '--server', `127.0.0.1:${app.smtp.port}`];
    const { stdout } = await promisify(execFile)('npm', ['run', 'mail', '--', inbox.address, ...options], {
      cwd: join(import.meta.dirname, '../../../..'),
    });
    expect(stdout).toContain(`Sent to ${inbox.address}`);
    expect((await received(inbox)).subject).toBe('two words');
  });
});

describe('a message that mayfly mail sends', () => {
  it('is ASCII in lines of at most 76 characters, whatever it says', () => {
    const said = { subject: 'ü'.repeat(300), body: 'ä'.repeat(3_000) };
    const text = compose({ from: 'a@b.example', to: ['c@d.example'], ...said }, NOW);
    expect(text).toMatch(/^[\x20-\x7e\r\n]*$/);
    for (const line of text.split('\r\n')) expect(line.length).toBeLessThanOrEqual(76);
  });
});
