import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { firstTest } from '../../../docs/examples/client.ts';
import { startApp, TEST_KEY } from '../../server/test/support/start-app.ts';
import { Mayfly } from '../src/index.ts';

it('the example of docs/client.md takes the code and the link of one mail', async () => {
  const app = await startApp();
  const mayfly = new Mayfly({ url: app.url, apiKey: TEST_KEY });
  const send = (to: string) =>
    app.send({
      from: 'a@shop.example',
      to,
      subject: 'Confirm',
      html: '<p>Your code is 482913.</p><a href="https://a.example/verify?t=1">Confirm</a>',
    });
  expect(await firstTest(mayfly, send)).toEqual({ code: '482913', link: 'https://a.example/verify?t=1' });
  await app.stop();
});

it('docs/migrating.md counts the lines of its snippets rightly', () => {
  const page = readFileSync(new URL('../../../docs/migrating.md', import.meta.url), 'utf8');
  const lines = (code = '') => code.split('\n').filter((line) => line.trim() !== '').length;
  const pairs = page.split(/^### .*: /m).slice(1);
  expect(pairs).toHaveLength(5);
  for (const pair of pairs) {
    const [before, after] = [...pair.matchAll(/^```js\n([\s\S]*?)^```$/gm)].map(([, code]) => lines(code));
    expect(pair).toMatch(new RegExp(`^${before} lines? before, ${after} lines? after`));
  }
});
