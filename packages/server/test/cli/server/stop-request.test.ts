import { describe, expect, it } from 'vitest';
import {
  exitCodeOf,
  isForegroundScript,
  type StopSignal,
  watchForStop,
} from '../../../src/cli/server/stop-request.ts';
import { FakeClock } from '../../support/fake-clock.ts';

function start(options: { isParentGone?: () => boolean } = {}) {
  const clock = new FakeClock();
  const listeners = new Map<string, () => void>();
  const terminal = { isGone: false };
  const called: string[] = [];
  const stop = watchForStop({
    onSignal: (signal, listener) => listeners.set(signal, listener),
    isTerminalGone: () => terminal.isGone,
    isParentGone: options.isParentGone ?? null,
    clock,
    onSecondSignal: (signal) => called.push(`second ${signal}`),
    onReload: () => called.push('reload'),
  });
  let reason: string | undefined;
  void stop.requested.then((why) => {
    reason = why;
  });
  return {
    clock,
    terminal,
    called,
    send: (signal: StopSignal | 'SIGHUP') => listeners.get(signal)?.(),
    async reason() {
      await clock.advance(0);
      return reason;
    },
    close: stop.close,
  };
}

describe('a request to stop', () => {
  it.each(['SIGINT', 'SIGTERM'] as const)('is the first %s', async (signal) => {
    const { send, reason } = start();
    expect(await reason()).toBeUndefined();
    send(signal);
    expect(await reason()).toBe(signal);
  });

  it('happens once for Ctrl+C under npm, which sends SIGINT twice', async () => {
    const { send, called, clock } = start();
    send('SIGINT');
    await clock.advance(900);
    send('SIGINT');
    expect(called).toEqual([]);
    await clock.advance(101);
    send('SIGINT');
    expect(called).toEqual(['second SIGINT']);
  });

  it('is not SIGHUP, which reloads, unless the terminal was closed', async () => {
    const { send, called, terminal, reason } = start();
    send('SIGHUP');
    expect([called, await reason()]).toEqual([['reload'], undefined]);
    terminal.isGone = true;
    send('SIGHUP');
    expect(await reason()).toBe('terminal closed');
  });

  it('is the end of npm', async () => {
    let isGone = false;
    const { clock, reason } = start({ isParentGone: () => isGone });
    await clock.advance(60_000);
    expect(await reason()).toBeUndefined();
    isGone = true;
    await clock.advance(500);
    expect(await reason()).toBe('parent exited');
  });

  it('is not the end of npm by the SIGHUP that also reached the server, as below nohup', async () => {
    let isGone = false;
    const { clock, send, reason } = start({ isParentGone: () => isGone });
    await clock.advance(1_000);
    send('SIGHUP');
    isGone = true;
    await clock.advance(60_000);
    expect(await reason()).toBeUndefined();
    send('SIGTERM');
    expect(await reason()).toBe('SIGTERM');
  });

  it('exits with the codes that shells use when it is repeated', () =>
    expect([exitCodeOf('SIGINT'), exitCodeOf('SIGTERM')]).toEqual([130, 143]));
});

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
