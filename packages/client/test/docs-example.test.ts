import { expect, it } from 'vitest';
import { firstTest } from '../../../docs/examples/client.ts';
import { startApp, TEST_KEY } from '../../server/test/support/start-app.ts';
import { Mayfly } from '../src/index.ts';

it('the example of docs/client.md takes the code', async () => {
  const app = await startApp();
  const mayfly = new Mayfly({ url: app.url, apiKey: TEST_KEY });
  const send = (to: string) =>
    app.send({ from: 'a@shop.example', to, subject: 'Confirm', text: 'Your code is 482913.' });
  expect(await firstTest(mayfly, send)).toBe('482913');
  await app.stop();
});
