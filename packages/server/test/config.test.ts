import { Resolver } from 'node:dns';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ConfigError, describeConfig, parseConfig, settingsTable } from '../src/config/config.ts';
import { newCredential } from '../src/ids.ts';

function problemsOf(env: Record<string, string>): string[] {
  try {
    parseConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

describe('the configuration', () => {
  it('needs nothing: everything listens on this machine only', () => {
    expect(parseConfig({ PATH: '/bin' })).toMatchObject({
      httpHost: '127.0.0.1',
      httpPort: 8025,
      smtpHost: '127.0.0.1',
      smtpPort: 2525,
      domains: ['mayfly.test'],
      dataDir: './data',
      roles: ['http', 'smtp', 'worker'],
      webhookAllow: [],
      publicUrl: null,
      apiKey: null,
    });
  });

  it('tells all problems at once, each with the name, what was given and what is allowed', () => {
    const problems = problemsOf({
      MAYFLY_HTTP_PORT: '80a',
      MAYFLY_SMTP_PORT: '65536',
      MAYFLY_DOMAINS: 'Mail Example',
      MAYFLY_ROLES: 'http,queen',
      MAYFLY_LOG_LEVEL: 'loud',
    });
    expect(problems).toHaveLength(5);
    expect(problems[0]).toBe(
      'MAYFLY_HTTP_PORT: given "80a"; allowed: a port from 0 to 65535; 0 takes a free one and prints it',
    );
    expect(problems.join()).toContain('allowed: trace, debug, info, warn, error, fatal, silent');
  });

  it('says so when a setting does not exist, for a mistyped one would be silence', () => {
    expect(problemsOf({ MAYFLY_HTP_PORT: '1' })).toEqual(['MAYFLY_HTP_PORT: no setting has this name']);
  });

  it.each([
    ['MAYFLY_API_KEY', 'too_short'],
    ['MAYFLY_API_KEY', 'has a blank in the middle of it'],
    ['MAYFLY_API_KEY', `${newCredential('mfk').slice(0, -1)}!`],
    ['MAYFLY_API_KEY', newCredential('mfk').slice(0, -1)],
    ['MAYFLY_API_KEY', newCredential('mft')],
    ['MAYFLY_WEBHOOK_ALLOW', '10.0.0.0/33'],
    ['MAYFLY_WEBHOOK_ALLOW', '10.0.0.0'],
    ['MAYFLY_PUBLIC_URL', 'ftp://mail.example.com'],
    ['MAYFLY_PUBLIC_URL', 'https://mail.example.com/?a=b'],
    ['MAYFLY_SMTP_TLS_CERT', 'not a certificate'],
    ['MAYFLY_DATA_DIR', ''],
    ['MAYFLY_SMTP_MAX_CONNECTIONS', '0'],
    ['MAYFLY_MAIL_AUTH', 'yes'],
    ['MAYFLY_DNS_SERVERS', 'dns.example.com'],
    ['MAYFLY_DNS_SERVERS', '192.0.2.1:0'],
    ['MAYFLY_DNS_SERVERS', '192.0.2.1:65536'],
    ['MAYFLY_DNS_SERVERS', '192.0.2'],
    ['MAYFLY_DNS_SERVERS', '2001:db8::1,[2001:db8::1'],
    ['MAYFLY_DNS_SERVERS', '[192.0.2.1]:53'],
  ])('refuses %s=%s', (name, value) => {
    expect(problemsOf({ [name]: value }).some((problem) => problem.startsWith(name))).toBe(true);
  });

  it('lets people sign up to a plan that is configured, and to no other, told among all problems', () => {
    const plans = JSON.stringify({ free: { maxLiveInboxes: 2 }, developer: { burst: 5 } });
    expect(parseConfig({ MAYFLY_SIGNUP_PLAN: '' }).signUpPlan).toBe(null);
    expect(parseConfig({ MAYFLY_SIGNUP_PLAN: 'free', MAYFLY_PLANS: plans }).signUpPlan).toBe('free');
    expect(problemsOf({ MAYFLY_SIGNUP_PLAN: 'Free', MAYFLY_HTTP_PORT: 'x' })).toEqual([
      expect.stringMatching(/^MAYFLY_HTTP_PORT: /),
      'MAYFLY_SIGNUP_PLAN: given "Free"; allowed: free, developer, unlimited, or nothing: nobody signs up',
    ]);
    // Plans that cannot be read are the one problem there is.
    expect(problemsOf({ MAYFLY_SIGNUP_PLAN: 'mine', MAYFLY_PLANS: '{' })).toEqual([
      expect.stringMatching(/^MAYFLY_PLANS: /),
    ]);
  });

  it('takes name servers of either family, with a port or without', () => {
    const servers = ['192.0.2.1', '192.0.2.1:5353', '2001:db8::1', '[2001:db8::1]', '[::1]:5353'];
    expect(parseConfig({ MAYFLY_DNS_SERVERS: servers.join(', ') }).dnsServers).toEqual(servers);
    expect(parseConfig({}).dnsServers).toBeNull();
    // What is allowed is what Node.js takes.
    expect(() => new Resolver().setServers(servers)).not.toThrow();
  });

  it('never shows a secret, neither in a problem nor in what is in force', () => {
    expect(problemsOf({ MAYFLY_API_KEY: 'hunter2' }).join()).not.toContain('hunter2');
    const key = newCredential('mfk');
    const shown = describeConfig(parseConfig({ MAYFLY_API_KEY: key }));
    expect(shown).toContain('MAYFLY_API_KEY=(a secret)');
    expect(shown).not.toContain(key);
  });

  it('takes a value from a file, and not from both', () => {
    const folder = mkdtempSync(join(tmpdir(), 'mayfly-config-'));
    try {
      const file = join(folder, 'key');
      writeFileSync(file, 'a_key_from_a_secret_file\n');
      expect(parseConfig({ MAYFLY_API_KEY_FILE: file }).apiKey).toBe('a_key_from_a_secret_file');
      expect(
        problemsOf({ MAYFLY_API_KEY_FILE: file, MAYFLY_API_KEY: 'a_key_given_besides_it' }),
      ).toHaveLength(1);
      expect(problemsOf({ MAYFLY_API_KEY_FILE: join(folder, 'none') })[0]).toContain('cannot be read');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('is documented as it is', () => {
    const docs = readFileSync(join(import.meta.dirname, '../../../docs/configuration.md'), 'utf8');
    expect(docs).toContain(settingsTable());
  });
});
