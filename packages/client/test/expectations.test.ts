import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect as base, beforeAll, describe, it } from 'vitest';
import { startApp, TEST_KEY, type TestApp } from '../../server/test/support/start-app.ts';
import { expect } from '../../vitest/src/index.ts';
import { run } from '../src/cli/run.ts';
import { type Inbox, Mayfly } from '../src/index.ts';

let app: TestApp;
let mayfly: Mayfly;
let folder: string;
beforeAll(async () => {
  app = await startApp();
  mayfly = new Mayfly({ url: app.url, apiKey: TEST_KEY });
  folder = mkdtempSync(join(tmpdir(), 'mayfly-plan-'));
});
afterAll(async () => {
  await app.stop();
  rmSync(folder, { recursive: true, force: true });
});

const send = (to: string, subject: string, text = 'Your code is 482913.', messageId?: string) =>
  app.send({ from: 'no-reply@shop.example', to, subject, text, ...(messageId && { messageId }) });
const SHORT = { within: 50, timeout: 50 };

describe('expect(inbox).toHaveReceivedExactly(n)', () => {
  it('passes for that number, and leaves the next wait where it was', async () => {
    const inbox = await mayfly.createInbox();
    await expect(inbox).toHaveReceivedExactly(0, { within: 50 });
    await send(inbox.address, 'One');
    await send(inbox.address, 'Two');
    await expect(inbox).toHaveReceivedExactly(2, { within: 50 });
    await expect(inbox).toHaveReceivedExactly(1, { ...SHORT, subject: 'two' });
    await expect(inbox).not.toHaveReceivedExactly(1, SHORT);
    base((await inbox.waitForMessage()).subject).toBe('One');
  });

  it('counts a mail that comes within the time', async () => {
    const inbox = await mayfly.createInbox();
    const exactly = expect(inbox).toHaveReceivedExactly(1, { within: 20_000 });
    const failure = base(exactly).rejects.toThrow(/More than 1 mail reached/);
    await send(inbox.address, 'One');
    await send(inbox.address, 'Two');
    await failure;
  });

  it('says for fewer why, and for more what came', async () => {
    const inbox = await mayfly.createInbox();
    await send(inbox.address, 'Receipt', 'Your code is 482913.', '<1@shop.example>');
    await base(expect(inbox).toHaveReceivedExactly(2, SHORT)).rejects.toThrow(
      /^1 of 2 messages arrived.*\n {2}Waited 50 ms for 2 mails to .*, and 1 came/,
    );
    await send(inbox.address, 'Receipt', 'Your code is 482913.', '<1@shop.example>');
    await base(expect(inbox).toHaveReceivedExactly(1, SHORT)).rejects.toThrow(
      /^More than 1 mail reached \S+@mayfly\.test\. The last one has the Message-ID of one before: it was delivered twice, such as by a retry of the sender\.\n( {2}\d\d:\d\d:\d\d {2}"Receipt" {2}from no-reply@shop\.example {2}code 482913\n?){2}$/,
    );
    await send(inbox.address, 'Receipt');
    await base(expect(inbox).toHaveReceivedExactly(2, SHORT)).rejects.toThrow(
      /says the same as one before, with another Message-ID: the application sent it twice\./,
    );
  });

  it('fails with wrong arguments also where it is negated', async () => {
    const inbox = await mayfly.createInbox();
    for (const count of [-1, 1.5, 51, Number.NaN])
      await base(expect(inbox).not.toHaveReceivedExactly(count)).rejects.toThrow(/whole number from 0 to 50/);
    const wrong = { subjekt: 'x' } as object;
    await base(expect(inbox).not.toHaveReceivedExactly(0, wrong)).rejects.toThrow(
      /"subjekt" is not a condition/,
    );
  });
});

it('expectSilence shows the mail that came', async () => {
  const inbox = await mayfly.createInbox();
  await send(inbox.address, 'Receipt');
  await base(inbox.expectSilence({ within: 50 })).rejects.toThrow(
    /^A mail reached \S+ within 50 ms, and none was expected\.\n {2}\d\d:\d\d:\d\d {2}"Receipt" {2}from no-reply@shop\.example {2}code 482913$/,
  );
});

describe('mf report --run R --expect plan.json', () => {
  async function report(plan: unknown, args = ['--run', 'plan']) {
    const file = join(folder, 'plan.json');
    writeFileSync(file, typeof plan === 'string' ? plan : JSON.stringify(plan));
    let out = '';
    let notes = '';
    const exitCode = await run(['report', ...args, '--expect', file], {
      env: { MAYFLY_URL: app.url, MAYFLY_API_KEY: TEST_KEY },
      out: (text) => {
        out += text;
      },
      note: (text) => {
        notes += text;
      },
      signal: new AbortController().signal,
    });
    return { exitCode, lines: out.trim().split('\n'), notes };
  }
  const MAILS = {
    welcome: { subject: 'Welcome, {first}', text: ['Hello {first} {last}', 'number {number}'] },
    receipt: { subject: 'Your receipt', link: '/receipts/{number}' },
  };
  const padding = 'These are the terms of our shop. '.repeat(10);
  const welcome = (inbox: Inbox, first: string, last: string, number: string) =>
    send(
      inbox.address,
      `Welcome, ${first}`,
      `${padding}\nHello ${first}\n${last}, yours is number ${number}.`,
    );
  const receipt = (inbox: Inbox, number: string) =>
    send(inbox.address, 'Your receipt', `See https://shop.example/receipts/${number}`);

  it('is met by exactly the mails of the plan, and names each difference', async () => {
    const labels = { run: 'plan' };
    const [ada, bob, eve] = await Promise.all([1, 2, 3].map(() => mayfly.createInbox({ labels })));
    if (!ada || !bob || !eve) throw new Error('no inboxes');
    const plan = {
      mails: MAILS,
      recipients: [
        { to: ada.address.toUpperCase(), first: 'Ada', last: 'Lovelace', number: 1001 },
        { to: bob.address, first: 'Bob', last: 'Hope', number: '1002' },
        { to: eve.address, mails: [] },
      ],
    };
    await welcome(ada, 'Ada', 'Lovelace', '1001');
    await receipt(ada, '1001');
    await welcome(bob, 'Bob', 'Hope', '1002');
    expect(await report(plan)).toMatchObject({
      exitCode: 5,
      lines: ['Mails: 3. Recipients: 3. Differences: 1.', `- ${bob.address}: "Your receipt" did not come.`],
    });
    await receipt(bob, '1002');
    expect(await report(plan)).toEqual({
      exitCode: 0,
      lines: ['Mails: 4. Recipients: 3. Differences: 0.'],
      notes: '',
    });
    await receipt(bob, '1001');
    await send(eve.address, 'Welcome, Ada');
    await send(eve.address, 'Hello');
    await welcome(bob, 'Ada', 'Lovelace', '1001');
    const { lines, notes } = await report(plan);
    expect(lines.sort()).toEqual(
      [
        `- ${bob.address}: "Your receipt" lacks a link with /receipts/1002. It has https://shop.example/receipts/1001.`,
        `- ${bob.address}: "Your receipt" came 2 times.`,
        `- ${eve.address}: "Welcome, Ada" came, which the plan has for ${ada.address.toUpperCase()}.`,
        `- ${eve.address}: "Hello" is not in the plan.`,
        `- ${bob.address}: "Welcome, Ada" came, which the plan has for ${ada.address.toUpperCase()}.`,
        'Mails: 8. Recipients: 3. Differences: 5.',
      ].sort(),
    );
    expect(notes).toBe(`The mails of the run differ from ${join(folder, 'plan.json')}.\n`);
  });

  it('names the field of another recipient, an address beyond the plan, and inboxes that have ended', async () => {
    const inbox = await mayfly.createInbox({ labels: { run: 'swapped' }, catchAll: true });
    const other = await mayfly.createInbox({ labels: { run: 'swapped' } });
    const gone = await mayfly.createInbox({ labels: { run: 'swapped' } });
    await gone.delete();
    const plan = {
      mails: { welcome: MAILS.welcome },
      recipients: [{ to: inbox.address, first: 'Ada', last: 'Lovelace', number: '1001' }],
    };
    await welcome(inbox, 'Bob', 'Lovelace', '1002');
    await send(other.address, 'Hello');
    const { lines } = await report(plan, ['--label', 'run=swapped']);
    expect(lines.slice(1).sort()).toEqual(
      [
        '- 1 of 3 inboxes have ended with their mails. Compare before they are deleted.',
        `- ${inbox.address}: the subject is "Welcome, Bob", not "Welcome, Ada".`,
        `- ${inbox.address}: "Welcome, Ada" lacks "Hello Ada Lovelace". It has "Hello Bob Lovelace,".`,
        `- ${inbox.address}: "Welcome, Ada" lacks "number 1001". It has "number 1002.".`,
        `- ${other.address}: "Hello" came, and the plan does not have the address.`,
      ].sort(),
    );
  });

  it.each([
    ['not JSON', '{', /This is not JSON/],
    ['no mails', { recipients: [] }, /The plan needs "mails"/],
    [
      'an unknown field',
      { mails: { a: { subject: 'x', body: 'y' } }, recipients: [] },
      /"body" is not a field of the mail "a"/,
    ],
    [
      'a text that is a number',
      { mails: { a: { subject: 'x', text: 5 } }, recipients: [] },
      /must be strings/,
    ],
    ['no recipients', { mails: MAILS }, /The plan needs "recipients"/],
    [
      'a recipient without an address',
      { mails: MAILS, recipients: [{ first: 'Ada' }] },
      /needs its address as "to"/,
    ],
    ['a recipient twice', { mails: MAILS, recipients: [{ to: 'A@x' }, { to: 'a@x' }] }, /more than once/],
    ['a field that is missing', { mails: MAILS, recipients: [{ to: 'a@x', first: 'A' }] }, /no field "last"/],
    [
      'a mail that is missing',
      { mails: MAILS, recipients: [{ to: 'a@x', mails: ['constructor'] }] },
      /no mail "constructor"/,
    ],
    [
      'two mails of one subject',
      { mails: { a: { subject: 'x' }, b: { subject: 'x' } }, recipients: [{ to: 'a@x' }] },
      /cannot be told apart/,
    ],
  ])('rejects %s', async (_, plan, message) => {
    expect(await report(plan)).toMatchObject({ exitCode: 1, notes: expect.stringMatching(message) });
  });

  it('rejects a plan without a run, and a file that does not exist', async () => {
    expect(await report({ mails: MAILS, recipients: [] }, [])).toMatchObject({
      exitCode: 1,
      notes: expect.stringContaining('Name the run'),
    });
  });
});
