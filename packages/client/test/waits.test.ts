import { afterAll, beforeAll, expect, it } from 'vitest';
import { startApp, TEST_KEY, type TestApp } from '../../server/test/support/start-app.ts';
import { Mayfly } from '../src/index.ts';

let app: TestApp;
let mayfly: Mayfly;
const paths: string[] = [];
beforeAll(async () => {
  app = await startApp();
  mayfly = new Mayfly({ url: app.url, apiKey: TEST_KEY, onRequest: ({ path }) => paths.push(path) });
});
afterAll(() => app.stop());

it('returns a message that is too large for the result of a wait in full', async () => {
  const inbox = await mayfly.inboxes.create();
  const text = `Your code is 482913.\n${'a line of a long text\n'.repeat(150_000)}`;
  await app.send({ from: 'no-reply@shop.example', to: inbox.address, subject: 'Large', text });
  const plain = await inbox.waitForMessage({ subject: 'Large' });
  expect(plain.text?.length).toBeGreaterThan(3_000_000);
  expect(plain.truncated).toBeUndefined();
  // A condition that is checked here sees the whole text, too.
  const checked = await inbox.waitForMessage({ text: /a line of a long text\s*$/ }, { since: 'start' });
  expect(checked.id).toBe(plain.id);
});

it('holds one request for a wait of a part of a second', async () => {
  const inbox = await mayfly.inboxes.create();
  paths.length = 0;
  await inbox.expectSilence({}, { forMs: 300 });
  expect(paths).toEqual([`/v1/inboxes/${inbox.id}/wait`]);
});

it.each([['30s'], [Number.NaN], [-1], ['5000'], [null]])(
  'refuses %s as a time to wait',
  async (timeoutMs) => {
    const inbox = await mayfly.inboxes.create();
    await expect(inbox.waitForMessage({}, { timeoutMs: timeoutMs as number })).rejects.toThrow(
      /is not a time to wait. Write milliseconds, such as 30000./,
    );
  },
);
