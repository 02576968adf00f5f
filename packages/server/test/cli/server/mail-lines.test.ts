import { stripVTControlCharacters } from 'node:util';
import { Mayfly } from '@mayfly/client';
import { beforeAll, describe, expect, it } from 'vitest';
import { printMails } from '../../../src/cli/server/mail-lines.ts';
import { systemClock } from '../../../src/clock.ts';
import { TEST_KEY, useApp } from '../../support/start-app.ts';

describe('the lines of `mayfly dev` at a terminal', () => {
  const app = useApp();
  const lines: string[] = [];
  beforeAll(() => {
    const ended = new AbortController();
    const printing = printMails({
      mayfly: new Mayfly({ url: app.url, apiKey: TEST_KEY }),
      // The pause between two looks for refused mail is no part of the behaviour.
      clock: { ...systemClock, sleep: (_, signal) => systemClock.sleep(10, signal) },
      signal: ended.signal,
      print: (line) => lines.push(stripVTControlCharacters(line)),
    });
    return () => {
      ended.abort();
      return printing;
    };
  });
  const linesOf = (text: string) => lines.filter((line) => line.includes(text));

  it('show the time, the recipient, the subject and the code of each mail, once', async () => {
    const { address } = await app.createInbox();
    await app.send({ to: address, subject: 'Please confirm', text: 'Your code is 482913.' });
    await app.send({ to: address, subject: 'The last one', text: 'Hello' });
    await expect.poll(() => linesOf('The last one')).toHaveLength(1);
    expect(linesOf(address)).toEqual([
      expect.stringMatching(/^\d\d:\d\d:\d\d {2}\S+@\S+ {2}Please confirm {2}482913$/),
      expect.stringMatching(/^\d\d:\d\d:\d\d {2}\S+@\S+ {2}The last one$/),
    ]);
  });

  it('show mail that was refused, once, with the reason', async () => {
    for (const localPart of ['nobody-a', 'nobody-b']) {
      const sending = app.send({ to: `${localPart}@mayfly.test`, subject: 'x', text: 'x' });
      await expect(sending).rejects.toThrow(/550/);
    }
    await expect.poll(() => linesOf('nobody-b')).toHaveLength(1);
    expect(linesOf('nobody-')).toEqual([
      expect.stringMatching(/^\S+ {2}nobody-a@mayfly\.test {2}refused: 550 5\.1\.1 /),
      expect.stringMatching(/^\S+ {2}nobody-b@mayfly\.test {2}refused: 550 5\.1\.1 /),
    ]);
  });

  it('print nothing that would move the cursor, change colours or turn the text around', async () => {
    const { address } = await app.createInbox();
    await app.send({ to: address, subject: 'red \u001b[31m and \u202eback\u0007 end', text: 'x' });
    await expect.poll(() => linesOf(address)).toHaveLength(1);
    expect(linesOf(address)[0]).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(linesOf(address)[0]).toMatch(/red .* and .*back.* end$/);
  });
});
