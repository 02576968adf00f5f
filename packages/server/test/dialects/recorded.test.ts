import { isDeepStrictEqual } from 'node:util';
import { expect, it } from 'vitest';
import { startApp, TEST_KEY } from '../support/start-app.ts';
import { type Answer, type Dialect, makeCalls, recordingOf } from './calls.ts';
import DIFFERENCES from './differences.json' with { type: 'json' };

/** Plain text is the same with and without its charset, and an empty answer has any type. */
const plain = (answer: Answer | undefined) => ({
  ...answer,
  type: answer?.body === '' ? '' : answer?.type.replace('; charset=utf-8', ''),
});

it.each<Dialect>(['mailpit', 'mailhog'])(
  'answers every call as %s does, in status, type and JSON, but for the differences that are documented',
  async (dialect) => {
    // Calls whose answers are meant to differ from the original, and how; docs/migrating.md says so.
    const differences: Record<string, string> = DIFFERENCES[dialect];
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
