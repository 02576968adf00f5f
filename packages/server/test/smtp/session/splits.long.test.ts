import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runs, timeLimit } from '../../support/form.ts';
import { dialogue, SMALL_LIMITS, SMALL_MESSAGE_BYTES } from './dialogues.ts';
import { cut, play, traces } from './drive.ts';

const latin1 = (text: string) => Buffer.from(text, 'latin1');
const everywhere = (bytes: Buffer) => cut(bytes, [...bytes.keys()]);

describe('replies, and what the application is asked, do not depend on how TCP cut a dialogue', () => {
  const mail = 'MAIL FROM:<s@example.com>\r\nRCPT TO:<a@mayfly.test>\r\nDATA\r\n';
  const ordinary = `EHLO c\r\n${mail}..\r\n.x\r\n\r\nQUIT\r\n...\r\n.\r\nNOOP\r\n${mail}.\r\nRSET\r\nQUIT\r\n`;

  it('at each single place', async () => {
    const whole = traces(await play([latin1(ordinary)]));
    expect(whole.mails).toEqual(['.\r\nx\r\n\r\nQUIT\r\n..\r\n', '']);
    for (let at = 1; at < ordinary.length; at++)
      expect(traces(await play(cut(latin1(ordinary), [at])))).toEqual(whole);
  });

  it('at each pair of places', async () => {
    const short = `EHLO c\r\n${mail}..\r\n.\r\nQUIT\r\n`;
    const whole = traces(await play([latin1(short)]));
    for (let one = 1; one < short.length; one++) {
      for (let other = one + 1; other < short.length; other++)
        expect(traces(await play(cut(latin1(short), [one, other])))).toEqual(whole);
    }
  });

  it.each(['refuse', 'normalise'] as const)(
    'for any dialogue and any cuts (bare line endings: %s)',
    async (bareLineEndings) => {
      const options = { limits: SMALL_LIMITS, inboxBytes: SMALL_MESSAGE_BYTES, bareLineEndings };
      await fc.assert(
        fc.asyncProperty(dialogue, fc.array(fc.nat(5000), { maxLength: 30 }), async (text, cuts) => {
          const bytes = latin1(text);
          const whole = traces(await play([bytes], options));
          expect(traces(await play(cut(bytes, cuts), options))).toEqual(whole);
          expect(traces(await play(everywhere(bytes), options))).toEqual(whole);
          expect(whole.defects).toEqual([]);
        }),
        runs(500, 50_000),
      );
    },
    timeLimit(1_200_000),
  );
});
