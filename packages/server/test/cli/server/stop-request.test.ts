import { describe, expect, it } from 'vitest';
import { isForegroundScript, watchForStop } from '../../../src/cli/server/stop-request.ts';
import { FakeClock } from '../../support/fake-clock.ts';

describe('a foreground script of npm', () => {
  it.each([
    'mayfly',
    "'mayfly'",
    'mayfly dev',
    'exec mayfly dev',
    'MAYFLY_HTTP_PORT=9000 mayfly serve',
    'cross-env A=b mayfly dev',
    'node_modules/.bin/mayfly dev 2>&1 | tee mail.log',
    'mayfly dev && echo done',
  ])('is `%s`', (script) => expect(isForegroundScript({ npm_lifecycle_script: script })).toBe(true));

  it.each([
    undefined,
    '',
    'mayfly dev & wait-on http://127.0.0.1:8025/readyz',
    'node scripts/start-mayfly.js',
    'playwright test',
    'bash',
  ])('is not `%s`', (script) => expect(isForegroundScript({ npm_lifecycle_script: script })).toBe(false));
});

it('a second SIGINT ends at once, but for the copy that npm sends within a second of Ctrl+C', async () => {
  const clock = new FakeClock();
  const [listeners, seconds] = [new Map<string, () => void>(), [] as string[]];
  const { requested } = watchForStop({
    ...{ clock, isTerminalGone: () => false, isParentGone: null, onReload: () => undefined },
    onSignal: (signal, listener) => listeners.set(signal, listener),
    onSecondSignal: (signal) => seconds.push(signal),
  });
  listeners.get('SIGINT')?.();
  expect(await requested).toBe('SIGINT');
  await clock.advance(1_000);
  listeners.get('SIGINT')?.();
  expect(seconds).toEqual([]);
  await clock.advance(1);
  listeners.get('SIGINT')?.();
  expect(seconds).toEqual(['SIGINT']);
});
