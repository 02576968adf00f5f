import { isDeepStrictEqual } from 'node:util';
import { expect, it } from 'vitest';
import { startApp, TEST_KEY } from '../support/start-app.ts';
import { type Answer, type Dialect, makeCalls, recordingOf } from './calls.ts';

type Differences = Readonly<Record<string, string>>;

/** Calls whose answers are meant to differ from the original, and how; docs/migrating.md says so. */
const OF_MAILPIT: Differences = {
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

const OF_MAILHOG: Differences = {
  'search from': 'senders of the envelope are not found',
  'search from, a page': 'senders of the envelope are not found',
  download: 'the source, with its last line end',
  'delete one again': 'what is gone is deleted',
};

/** Plain text is the same with and without its charset, and an empty answer has any type. */
const plain = (answer: Answer | undefined) => ({
  ...answer,
  type: answer?.body === '' ? '' : answer?.type.replace('; charset=utf-8', ''),
});

it.each<[Dialect, Differences]>([
  ['mailpit', OF_MAILPIT],
  ['mailhog', OF_MAILHOG],
])(
  'answers every call as %s does, in status, type and JSON, but for the differences that are documented',
  async (dialect, differences) => {
    const app = await startApp({ MAYFLY_DIALECT: dialect, MAYFLY_SINK: 'on' });
    const made = await makeCalls(dialect, app.url, app.smtp, { authorization: `Bearer ${TEST_KEY}` });
    await app.stop();
    const answers = { ...made.before, ...made.after };
    const differing: string[] = [];
    for (const [name, original] of Object.values(recordingOf(dialect)).flatMap(Object.entries)) {
      if (isDeepStrictEqual(plain(original), plain(answers[name]))) continue;
      differing.push(name);
      if (!(name in differences))
        expect.soft({ [name]: plain(answers[name]) }).toEqual({ [name]: plain(original) });
    }
    // A difference that is gone is taken out of the list.
    expect(differing).toEqual(Object.keys(differences));
  },
);
