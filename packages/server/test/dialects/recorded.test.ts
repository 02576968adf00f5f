import { isDeepStrictEqual } from 'node:util';
import { expect, it } from 'vitest';
import { startApp, TEST_KEY } from '../support/start-app.ts';
import { type Answer, makeCalls } from './calls.ts';
import recorded from './mailpit-recorded.json' with { type: 'json' };

/** Calls whose answers are meant to differ from the original, and how; docs/migrating.md says so. */
const DIFFERENT: Readonly<Record<string, string>> = {
  ready: 'the server has its own answer, with a body',
  'search 482913': 'the text part is found also where there is HTML',
  'search example.com/plain': 'the text part is found also where there is HTML',
  'search a.txt': 'file names are not found by free words',
  'search help@example.com': 'Reply-To is not found by free words',
  'search "your code"': 'the text part is found also where there is HTML',
  'search 127.0.0.1/confirm': 'targets of links are not found by free words',
  'small picture': 'a picture keeps its type and size',
  'HTML check': 'without the numbered notes',
  'link check': 'no link is opened',
  'no such call': 'the words of the server',
  'mark without JSON': 'the words of another JSON reader',
  'tag without JSON': 'the words of another JSON reader',
  'send without JSON': 'the words of another JSON reader',
  'send no base64': 'the words of another reader',
  release: 'the words of a server that relays nothing',
  'chaos without JSON': 'the words of another JSON reader',
  preflight: 'CORS is set up for the whole server',
  'another method': 'the words of the server',
};

/** Plain text without a charset is the same as with one. */
const plain = (answer: Answer | undefined) => ({
  ...answer,
  type: answer?.type.replace('; charset=utf-8', ''),
});

it('answers every call as Mailpit does, in status, type and JSON, but for the differences that are documented', async () => {
  const app = await startApp({ MAYFLY_DIALECT: 'mailpit', MAYFLY_SINK: 'on' });
  const answers = await makeCalls(app.url, app.smtp, { authorization: `Bearer ${TEST_KEY}` });
  await app.stop();
  expect(Object.keys(answers)).toEqual(Object.keys(recorded));
  const differing: string[] = [];
  for (const [name, original] of Object.entries(recorded as Record<string, Answer>)) {
    if (isDeepStrictEqual(plain(original), plain(answers[name]))) continue;
    differing.push(name);
    if (!(name in DIFFERENT))
      expect.soft({ [name]: plain(answers[name]) }).toEqual({ [name]: plain(original) });
  }
  // A difference that is gone is taken out of the list.
  expect(differing).toEqual(Object.keys(DIFFERENT));
});
