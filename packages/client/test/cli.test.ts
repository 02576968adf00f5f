import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApp, TEST_KEY, type TestApp } from '../../server/test/support/start-app.ts';
import { run } from '../src/cli/run.ts';

let app: TestApp;
const folder = mkdtempSync(join(tmpdir(), 'mayfly-mf-'));
beforeAll(async () => {
  app = await startApp();
});
afterAll(async () => {
  await app.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** One call of `mf`, as the shell sees it. */
async function mf(args: string[], env: Record<string, string> = {}, signal = new AbortController().signal) {
  let out = '';
  let notes = '';
  const exitCode = await run(args, {
    env: { MAYFLY_URL: app.url, MAYFLY_API_KEY: TEST_KEY, ...env },
    out: (text) => {
      out += typeof text === 'string' ? text : new TextDecoder().decode(text);
    },
    note: (text) => {
      notes += text;
    },
    signal,
  });
  return { exitCode, out, notes };
}

/** The variables that `mf new --env` prints. */
async function newInbox(args: string[] = []) {
  const { out } = await mf(['new', '--env', ...args]);
  return Object.fromEntries(
    out
      .trim()
      .split('\n')
      .map((pair) => pair.split('=')),
  ) as Record<string, string>;
}

describe('mf', () => {
  it('report says that no inbox belongs to the run', async () => {
    expect(await mf(['report', '--run', 'mistyped'])).toMatchObject({
      exitCode: 0,
      notes: expect.stringContaining('check the name of the run'),
    });
  });

  it.each([
    [['--expect', 'none.json'], "no such file or directory, open 'none.json'"],
    [['--compare', 'none.json'], "no such file or directory, open 'none.json'"],
    [['--expect', 'plan.json', '--compare', 'main.json'], 'Call mf report --expect on its own'],
  ])('report %j is a usage error with its reason', async (args, reason) => {
    expect(await mf(['report', '--run', '1', ...args])).toMatchObject({
      exitCode: 1,
      notes: expect.stringContaining(reason),
    });
  });

  it('prints the value alone: the address, the code, the link, the id', async () => {
    const created = await mf(['new', '--ttl', '10', '--label', 'run=1']);
    expect(created).toMatchObject({ exitCode: 0, out: expect.stringMatching(/^\S+@mayfly\.test\n$/) });
    const env = await newInbox();
    await app.send({
      from: 'a@shop.example',
      to: env.INBOX_ADDRESS,
      subject: 'Code',
      text: 'Your code is 482913.',
    });
    await app.send({
      from: 'a@shop.example',
      to: env.INBOX_ADDRESS,
      subject: 'Hi',
      html: '<a href="https://a.example/confirm?t=1">Confirm</a>',
    });
    expect(await mf(['code'], env)).toEqual({ exitCode: 0, out: '482913\n', notes: '' });
    expect(await mf(['link', '--href', '/confirm'], env)).toMatchObject({
      exitCode: 0,
      out: 'https://a.example/confirm?t=1\n',
    });
    expect(await mf(['wait', '--subject', 'hi'], env)).toMatchObject({
      exitCode: 0,
      out: expect.stringMatching(/^msg_\w+\n$/),
    });
    expect(JSON.parse((await mf(['code', '--json'], env)).out)).toEqual({ code: '482913' });
    expect((await mf(['list'], env)).out.trim().split('\n')).toHaveLength(2);
    expect((await mf(['read', '--html'], env)).out).toContain('<a href');
    expect((await mf(['read', '--raw', '--inbox', env.INBOX_ADDRESS ?? ''])).out).toContain('Subject: Hi');
    expect((await mf(['save', join(folder, 'out.eml')], env)).exitCode).toBe(0);
    expect(readFileSync(join(folder, 'out.eml'), 'utf8')).toContain('Subject: Hi');
    expect((await mf(['open'], env)).out).toContain(`/console/inboxes/${env.INBOX_ID}`);
    expect((await mf(['rm'], env)).exitCode).toBe(0);
    expect((await mf(['rm', '--label', 'run=1'])).notes).toBe('Deleted 1 inbox.\n');
    const { out } = await mf(['report', '--label', 'run=1']);
    expect(out).toMatch(
      /^Inboxes: \d+, \d without mail\. Messages: \d, 0 refused\. Waits: \d+ succeeded, \d+ failed\.\n/,
    );
  });

  it('exports an inbox into a file, and imports the file as a new inbox', async () => {
    const env = await newInbox();
    const mail = { from: 'a@shop.example', to: env.INBOX_ADDRESS, subject: 'Kept', text: 'x' };
    await app.send(mail);
    const file = join(folder, 'signup.zip');
    expect(await mf(['export', file], env)).toEqual({ exitCode: 0, out: '', notes: `Saved ${file}.\n` });
    const imported = await mf(['import', file, '--ttl', '5']);
    expect(imported).toMatchObject({ exitCode: 0, out: expect.stringMatching(/^\S+@mayfly\.test\n$/) });
    expect((await mf(['list', '--inbox', imported.out.trim()])).out).toContain('"Kept"');
    expect(await mf(['import'])).toMatchObject({
      exitCode: 1,
      notes: 'Name the recording: mf import signup.zip\n',
    });
  });

  it('sets, shows and removes the fault rules of an inbox', async () => {
    const env = await newInbox();
    const { out } = await mf(['faults', '{"at": "rcpt", "reply": {"code": 451}, "times": 2}'], env);
    expect(JSON.parse(out)).toMatchObject({ at: 'rcpt', reply: { code: 451 }, times: 2, left: 2 });
    expect(await mf(['faults'], env)).toEqual({ exitCode: 0, out, notes: '' });
    expect(await mf(['faults', '[]'], env)).toEqual({ exitCode: 0, out: '', notes: '' });
    expect(await mf(['faults', 'rcpt'], env)).toMatchObject({
      exitCode: 1,
      notes: expect.stringContaining('This is not JSON: rcpt. Write: mf faults'),
    });
    expect(await mf(['faults', '{"at": "rctp"}'], env)).toMatchObject({
      exitCode: 1,
      notes: expect.stringContaining('Did you mean "rcpt"?'),
    });
  });

  it('tells when what happened to the newest message, and what is wrong with it', async () => {
    const env = await newInbox();
    await app.send({
      from: 'a@shop.example',
      to: env.INBOX_ADDRESS,
      subject: 'Code',
      html: '<img src="https://a.example/x.png"><script>1</script>',
    });
    const { out } = await mf(['timeline'], env);
    expect(out).toMatch(/^[\d:.]+ +connected .*\n[\d:.]+ +mail-from +\d+ ms /m);
    expect(JSON.parse((await mf(['timeline', '--json'], env)).out)).toContainEqual(
      expect.objectContaining({ event: 'committed', clock: 'mayfly' }),
    );
    const { exitCode, out: findings } = await mf(['lint'], env);
    expect(exitCode).toBe(0);
    expect(findings).toMatch(/^(error|warning|info) +[\w-]+.*: [A-Z]/);
    expect(JSON.parse((await mf(['lint', '--json'], env)).out).length).toBe(
      findings.trim().split('\n').length,
    );
  });

  it('prints its version, and takes times in seconds', async () => {
    expect(await mf(['--version'])).toEqual({
      exitCode: 0,
      out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
      notes: '',
    });
    const env = await newInbox();
    const { notes } = await mf(['wait', '--timeout', '0.2'], env);
    expect(notes).toContain('Waited 0.2 s for a mail to ');
  });

  it('prints the telephone number of an inbox for SMS', async () => {
    expect((await mf(['new', '--sms'])).out).toMatch(/^\+1\d{10}\n$/);
    const { INBOX_PHONE_NUMBER = '', INBOX_ADDRESS } = await newInbox(['--sms']);
    expect(`${INBOX_PHONE_NUMBER.slice(1)}@mayfly.test`).toBe(INBOX_ADDRESS);
  });

  it('reads with the token of the inbox alone', async () => {
    const { out } = await mf(['new', '--export']);
    expect(out).toMatch(/^export INBOX_ID=inb_\w+\nexport INBOX_ADDRESS=\S+\nexport INBOX_TOKEN=mft_\w+\n$/);
    const env = await newInbox();
    expect(
      await run(['list'], {
        env: { MAYFLY_URL: app.url, ...env },
        out: () => {},
        note: () => {},
        signal: new AbortController().signal,
      }),
    ).toBe(0);
  });

  it('needs no key on the machine of the server, also for what the token of an inbox may not do', async () => {
    const dev = await startApp({ MAYFLY_DEV_KEY: 'on' });
    let out = '';
    const own = (args: string[], env: Record<string, string> = {}) =>
      run(args, {
        env: { MAYFLY_URL: dev.url, ...env },
        out: (text) => {
          out += text;
        },
        note: () => {},
        signal: new AbortController().signal,
      });
    expect(await own(['new', '--env'])).toBe(0);
    const env = Object.fromEntries(
      out
        .trim()
        .split('\n')
        .map((pair) => pair.split('=')),
    );
    for (const args of [['list'], ['faults', '[]'], ['rm']])
      expect([args, await own(args, env)]).toEqual([args, 0]);
    await dev.stop();
  });

  it('exits with 3 and the explanation when nothing came, and with 4 when silence was broken', async () => {
    const env = await newInbox();
    await app.send({ from: 'a@shop.example', to: env.INBOX_ADDRESS, subject: 'Welcome', text: 'x' });
    const timedOut = await mf(['code', '--subject', 'reset', '--timeout', '0.1'], env);
    expect(timedOut).toMatchObject({ exitCode: 3, out: '' });
    expect(timedOut.notes).toContain('subject is "Welcome"');
    const broken = await mf(['silence', '--within', '100ms'], env);
    expect(broken).toMatchObject({ exitCode: 4, out: '', notes: expect.stringContaining('"Welcome"') });
  });

  it('exits with 1 for wrong usage and 2 for a refused key or an unreachable server', async () => {
    expect(await mf([])).toMatchObject({ exitCode: 1, notes: expect.stringContaining('Usage: mf') });
    expect(await mf(['cod'])).toMatchObject({
      exitCode: 1,
      notes: expect.stringContaining('"cod" is not a command'),
    });
    expect(await mf(['code', '--tiemout', '3'])).toMatchObject({
      exitCode: 1,
      notes: expect.stringContaining('--tiemout'),
    });
    expect(await mf(['code'])).toMatchObject({ exitCode: 1, notes: expect.stringContaining('--inbox') });
    expect(await mf(['code', '--timeout', 'soon'], await newInbox())).toMatchObject({ exitCode: 1 });
    expect(await mf(['list', '--all'], { MAYFLY_API_KEY: 'mfk_wrong' })).toMatchObject({ exitCode: 2 });
    expect(await mf(['list', '--all'], { MAYFLY_URL: 'http://127.0.0.1:9' })).toMatchObject({
      exitCode: 2,
      notes: expect.stringContaining('did not respond'),
    });
    expect(await mf(['wait-ready', '--timeout', '0'], { MAYFLY_URL: 'http://127.0.0.1:9' })).toMatchObject({
      exitCode: 2,
      notes: expect.stringContaining('is not ready'),
    });
  });

  it.each([
    [['code', 'confirm'], /"mf code" has no use for "confirm". Write --subject "confirm"/],
    [['list', 'inboxes'], /"mf list" has no use for "inboxes"\.$/],
    [
      ['code', '--href', '/x'],
      /"mf code" has no option --href. It takes --pattern, --subject, .*, --inbox and --json/,
    ],
    [['open', '--timeout', '1s'], /has no option --timeout. It takes none of its own, --inbox and --json/],
    [['code', '--pattern', '('], /--pattern is not a regular expression. Invalid regular expression/],
    [['new', '--ttl', '1h'], /"1h" is not a number of minutes. Write --ttl 15/],
  ])('refuses what it would ignore: mf %j', async (args, message) => {
    const env = args[0] === 'code' ? await newInbox() : {};
    const { exitCode, out, notes } = await mf(args, env);
    expect([exitCode, out, notes.trim()]).toEqual([1, '', expect.stringMatching(message)]);
  });

  it('waits for a link and for silence by a part of the text', async () => {
    const env = await newInbox();
    const text = 'Order 4711: https://shop.example/track';
    await app.send({ from: 'a@shop.example', to: env.INBOX_ADDRESS, subject: 'Order', text });
    const link = await mf(['link', '--body', '4711'], env);
    expect(link).toMatchObject({ exitCode: 0, out: 'https://shop.example/track\n' });
    expect(await mf(['link', '--body', '4712', '--timeout', '1ms'], env)).toMatchObject({ exitCode: 3 });
    expect(await mf(['silence', '--body', '4712', '--within', '1ms'], env)).toMatchObject({ exitCode: 0 });
    expect(await mf(['silence', '--body', '4711', '--within', '1ms'], env)).toMatchObject({ exitCode: 4 });
  });

  it('follows an inbox until it is interrupted', async () => {
    const env = await newInbox();
    await app.send({ from: 'a@shop.example', to: env.INBOX_ADDRESS, subject: 'First', text: 'x' });
    const controller = new AbortController();
    let printed = '';
    const tail = run(['tail'], {
      env: { MAYFLY_URL: app.url, ...env },
      out: (text) => {
        printed += text;
        controller.abort(new Error('interrupted'));
      },
      note: () => {},
      signal: controller.signal,
    });
    expect(await tail).toBe(130);
    expect(printed).toContain('"First"  from a@shop.example');
    expect((await mf(['wait-ready'])).exitCode).toBe(0);
  });

  it('makes any operation of the API with call, of the inbox in the environment too', async () => {
    expect(JSON.parse((await mf(['call', 'GET /v1/usage'])).out)).toHaveProperty('plan');
    const env = await newInbox();
    const source = join(folder, 'mail.eml');
    writeFileSync(source, 'Subject: By call\r\n\r\nYour code is 482913.');
    const mail = await mf(['call', 'POST /v1/inboxes/{id}/messages', `@${source}`], env);
    expect(JSON.parse(mail.out)).toMatchObject({ subject: 'By call' });
    expect(await mf(['call', 'PATCH /v1/inboxes/{id}', '{"ttlMinutes": 5}'], env)).toMatchObject({
      exitCode: 0,
    });
    expect(await mf(['call', 'DELETE /v1/inboxes/{id}'], env)).toMatchObject({ exitCode: 0, out: '' });
    expect(await mf(['call', 'usage'])).toMatchObject({
      exitCode: 1,
      notes: '"usage" is not an operation. Write: mf call \'GET /v1/usage\'\n',
    });
    expect(await mf(['call', 'GET /v1/inboxes/{id}'])).toMatchObject({ exitCode: 1 });
    expect(await mf(['call', 'POST /v1/keys', '{name: 1}'])).toMatchObject({ exitCode: 1 });
  });
});
