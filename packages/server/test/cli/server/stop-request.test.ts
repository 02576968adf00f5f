import { describe, expect, it } from 'vitest';
import { isForegroundScript } from '../../../src/cli/server/stop-request.ts';

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
