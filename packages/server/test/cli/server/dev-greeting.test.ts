import { describe, expect, it } from 'vitest';
import { createDevAnnouncer } from '../../../src/cli/server/dev-announcer.ts';
import { parseConfig } from '../../../src/config/config.ts';
import { settingsLike } from '../../../src/config/like.ts';

/** What `mayfly dev` prints when it is ready. */
function greeting(env: Record<string, string>, defaults: Readonly<Record<string, string>> = {}): string {
  const lines: string[] = [];
  const print = (text: string) => lines.push(text);
  const announcer = createDevAnnouncer(parseConfig(env, defaults), print, () => undefined);
  const account = { id: 'acc_1', name: 'default', plan: 'unlimited', createdAt: 0 };
  announcer.firstKey('mfk_example');
  announcer.started({
    http: { url: 'http://127.0.0.1:8025', consoleUrl: 'http://127.0.0.1:8025/' },
    makeSignInCode: () => 'mfs_code',
    smtp: { host: '127.0.0.1', port: 2525, tlsPort: null },
    pop3: null,
    metrics: null,
    firstStart: { key: 'mfk_example', account },
  });
  return lines.join('\n');
}

describe('the greeting of mayfly dev', () => {
  it('names the sink where the sink accepts mail for other addresses', () => {
    const sink = /Sink +takes all mail that no inbox takes.*GET \/v1\/messages/;
    expect(greeting({ MAYFLY_SINK: 'on' })).toMatch(sink);
    expect(greeting({ MAYFLY_SINK: 'off' })).not.toContain('Sink');
  });

  it.each([
    ['mailpit', [/.*accessible via.*/]],
    ['mailhog', [/Creating API v2 with WebPath:/, /.*Serving under.*/]],
  ] as const)('has the lines that programs wait for in the output of %s', (program, lines) => {
    const { env, defaults } = settingsLike(program, {});
    for (const line of lines) expect(greeting(env as Record<string, string>, defaults)).toMatch(line);
  });

  it('shows a command for the first inbox and one for the first message', () => {
    const curl = 'curl -X POST http://127.0.0.1:8025/v1/inboxes -H "Authorization: Bearer mfk_example"';
    expect(greeting({})).toContain(curl);
    expect(greeting({})).toMatch(/npx mayfly mail ADDRESS$/m);
  });

  it('shows a link that signs in to the console, on loopback only', () => {
    const link = 'http://127.0.0.1:8025/console/open#mfs_code   (signs in; expires 60 s after its first use)';
    expect(greeting({})).toContain(`Console  ${link}`);
    for (const [name, value] of [
      ['MAYFLY_HTTP_HOST', '0.0.0.0'],
      ['MAYFLY_PUBLIC_URL', 'https://mail.example.com'],
    ] as const)
      expect(greeting({ [name]: value })).toMatch(/^ {2}Console {2}http:\/\/127\.0\.0\.1:8025\/$/m);
  });

  it('says where the data is, without the password of a database', () => {
    expect(greeting({ MAYFLY_DATA_DIR: '/tmp/mail' })).toMatch(/^ +Data +\/tmp\/mail$/m);
    const onPostgres = greeting({ MAYFLY_DATABASE_URL: 'postgres://u:secret@db.example/mail' });
    expect(onPostgres).toMatch(/^ +Data +in PostgreSQL, by MAYFLY_DATABASE_URL$/m);
    expect(onPostgres).not.toContain('secret');
  });

  it('does not print a key that was given as a setting', () => {
    const given = 'ci_0123456789abcdefghij';
    expect(greeting({ MAYFLY_API_KEY: given })).not.toContain(given);
  });
});
