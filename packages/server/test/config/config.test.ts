import { Resolver } from 'node:dns';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  ConfigError,
  describeConfig,
  hasDevKey,
  parseConfig,
  settingsTable,
  unusedVariables,
} from '../../src/config/config.ts';
import { DEV_DEFAULTS } from '../../src/config/settings.ts';
import { newCredential } from '../../src/ids.ts';
import { IN_FLIGHT_BYTES } from '../../src/inbound/incoming-mail.ts';
import { useFolder } from '../support/folder.ts';

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
  const folder = useFolder();

  it('works without any setting and listens on loopback only', () => {
    expect(parseConfig({ PATH: '/bin' })).toMatchObject({
      ...{ httpHost: '127.0.0.1', httpPort: 8025, smtpHost: '127.0.0.1', smtpPort: 2525 },
      ...{ domains: ['mayfly.test'], dataDir: './data', roles: ['http', 'smtp', 'worker'] },
      ...{ webhookAllow: [], publicUrl: null, apiKey: null },
    });
  });

  it('has the development key in "mayfly dev" on loopback only', () => {
    const dev = (env: Record<string, string>) => hasDevKey(parseConfig(env, DEV_DEFAULTS));
    for (const host of ['127.0.0.1', '127.8.8.8', '::1', 'localhost'])
      expect([host, dev({ MAYFLY_HTTP_HOST: host })]).toEqual([host, true]);
    for (const host of ['0.0.0.0', '::', '192.168.0.7', '127.evil.example', 'localhost.example'])
      expect([host, dev({ MAYFLY_HTTP_HOST: host })]).toEqual([host, false]);
    expect(dev({ MAYFLY_DEV_KEY: 'off' })).toBe(false);
    expect(hasDevKey(parseConfig({}))).toBe(false);
    const problem = 'MAYFLY_DEV_KEY is "on", and only "mayfly dev" has a development key. Remove it.';
    expect(problemsOf({ MAYFLY_DEV_KEY: 'on' })).toEqual([problem]);
  });

  it('reports all problems at once, each with the name, the value and what is allowed', () => {
    const problems = problemsOf({
      ...{ MAYFLY_HTTP_PORT: '80a', MAYFLY_SMTP_PORT: '65536', MAYFLY_DOMAINS: 'Mail Example' },
      ...{ MAYFLY_ROLES: 'http,queen', MAYFLY_LOG_LEVEL: 'loud' },
    });
    expect(problems).toHaveLength(5);
    expect(problems[0]).toBe(
      'MAYFLY_HTTP_PORT is "80a", which is not valid. Use a port number from 0 to 65535, where 0 selects a free port that the start-up message names.',
    );
    expect(problems.join()).toContain('Use trace, debug, info, warn, error, fatal or silent.');
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
  ])('rejects %s=%s', (name, value) => {
    expect(problemsOf({ [name]: value }).some((problem) => problem.startsWith(name))).toBe(true);
  });

  it('allows sign-up to a configured plan only, and reports another one among all problems', () => {
    const plans = JSON.stringify({ free: { maxLiveInboxes: 2 }, developer: { burst: 5 } });
    expect(parseConfig({ MAYFLY_SIGNUP_PLAN: '' }).signupPlan).toBe(null);
    expect(parseConfig({ MAYFLY_SIGNUP_PLAN: 'free', MAYFLY_PLANS: plans }).signupPlan).toBe('free');
    expect(problemsOf({ MAYFLY_SIGNUP_PLAN: 'Free', MAYFLY_HTTP_PORT: 'x' })).toEqual([
      expect.stringMatching(/^MAYFLY_HTTP_PORT is /),
      'MAYFLY_SIGNUP_PLAN is "Free", which is not the name of a plan. Use one of free, developer, unlimited, or nothing to switch sign-up off.',
    ]);
    // Plans that cannot be read are the one problem there is.
    const unreadable = expect.stringMatching(/^MAYFLY_PLANS is /);
    expect(problemsOf({ MAYFLY_SIGNUP_PLAN: 'mine', MAYFLY_PLANS: '{' })).toEqual([unreadable]);
  });

  it('accepts name servers of either family, with or without a port', () => {
    const servers = ['192.0.2.1', '192.0.2.1:5353', '2001:db8::1', '[2001:db8::1]', '[::1]:5353'];
    expect(parseConfig({ MAYFLY_DNS_SERVERS: servers.join(', ') }).dnsServers).toEqual(servers);
    expect(parseConfig({}).dnsServers).toBeNull();
    // What is allowed is what Node.js takes.
    expect(() => new Resolver().setServers(servers)).not.toThrow();
  });

  it('never shows a secret, neither in a problem nor in the effective settings', () => {
    expect(problemsOf({ MAYFLY_API_KEY: 'hunter2' }).join()).not.toContain('hunter2');
    const key = newCredential('mfk');
    const shown = describeConfig(parseConfig({ MAYFLY_API_KEY: key }));
    expect(shown).toContain('MAYFLY_API_KEY=(a secret)');
    expect(shown).not.toContain(key);
  });

  it('shows the effective settings as they can be set again', () => {
    const env = { MAYFLY_REPLY_SMTP: '[::1]:25', MAYFLY_WEBHOOK_ALLOW: '10.0.0.0/8,127.0.0.1/32' };
    const lines = describeConfig(parseConfig(env)).split('\n');
    expect(lines).toEqual(expect.arrayContaining(Object.entries(env).map((entry) => entry.join('='))));
  });

  it('ignores white space around a value, as in .env files', () => {
    expect(parseConfig({ MAYFLY_HTTP_PORT: ' 9000\r' }).httpPort).toBe(9000);
  });

  it('names the wrong part of a value', () => {
    expect(problemsOf({ MAYFLY_WEBHOOK_ALLOW: '10.0.0.1/8' })).toEqual([
      'MAYFLY_WEBHOOK_ALLOW is "10.0.0.1/8", which is not valid. "10.0.0.1/8" has bits set behind its prefix; the network is 10.0.0.0/8. Use networks in CIDR notation, separated by commas, or nothing.',
    ]);
    const problem =
      'MAYFLY_SMTP_TLS_KEY is set and MAYFLY_SMTP_TLS_CERT is not. Set both, or neither of them.';
    expect(problemsOf({ MAYFLY_SMTP_TLS_KEY: '-----BEGIN PRIVATE KEY-----' })).toEqual([problem]);
  });

  it.each([
    [{ maxInboxes: 2 }, '"maxInboxes" in the plan "free" is not a limit. Did you mean "maxLiveInboxes"?'],
    [{ maxTtlMinutes: null }, '"maxTtlMinutes" in the plan "free" must be a whole number from 1.'],
    [
      { maxMessageBytes: IN_FLIGHT_BYTES + 1 },
      '"maxMessageBytes" in the plan "free" must be a whole number from 1 to 67108864.',
    ],
  ])('names the wrong limit of a plan with %j', (free, problem) => {
    expect(problemsOf({ MAYFLY_PLANS: JSON.stringify({ free }) })[0]).toContain(problem);
  });

  it('takes a plan whose largest message fits the memory for messages', () => {
    const MAYFLY_PLANS = JSON.stringify({ free: { maxMessageBytes: IN_FLIGHT_BYTES } });
    expect(parseConfig({ MAYFLY_PLANS }).plans.free?.maxMessageBytes).toBe(IN_FLIGHT_BYTES);
  });

  it('reads a value from a file, and rejects both at once', () => {
    const MAYFLY_API_KEY_FILE = join(folder(), 'key');
    writeFileSync(MAYFLY_API_KEY_FILE, 'a_key_from_a_secret_file\n');
    expect(parseConfig({ MAYFLY_API_KEY_FILE }).apiKey).toBe('a_key_from_a_secret_file');
    expect(problemsOf({ MAYFLY_API_KEY_FILE, MAYFLY_API_KEY: 'a_key_given_besides_it' })).toHaveLength(1);
    expect(problemsOf({ MAYFLY_API_KEY_FILE: join(folder(), 'none') })[0]).toContain('cannot be read');
  });

  it('is documented in docs/configuration.md as `npx mayfly config --table` prints it', () => {
    const docs = readFileSync(join(import.meta.dirname, '../../../../docs/configuration.md'), 'utf8');
    const [shown] = /^\| setting \|.*(?:\n\|.*)*/m.exec(docs) ?? [];
    expect(shown).toBe(settingsTable());
  });
});

describe('unknown variables with the prefix of the settings', () => {
  it.each([
    ['MAYFLY_HTP_PORT', 'Did you mean MAYFLY_HTTP_PORT?'],
    ['MAYFLY_DOMAIN', 'Did you mean MAYFLY_DOMAINS?'],
    ['MAYFLY_LOGLEVEL', 'Did you mean MAYFLY_LOG_LEVEL?'],
    ['mayfly_http_port', 'Did you mean MAYFLY_HTTP_PORT?'],
    ['MAYFLY_APIKEY_FILE', 'Did you mean MAYFLY_API_KEY_FILE?'],
    // Kubernetes would not set it to a number.
    ['MAYFLY_PORT', 'Did you mean MAYFLY_HTTP_PORT?'],
    ['MAYFLY_QUEEN', '"mayfly config --table" lists all settings.'],
  ])('cause a warning with the nearest name: %s', (name, hint) => {
    const env = { [name]: '8080' };
    expect(unusedVariables(env)).toEqual([`${name} is not a setting and is ignored. ${hint}`]);
    expect(problemsOf(env)).toEqual([]);
  });

  it('cause none if clients read them', () => {
    for (const name of ['MAYFLY_URL', 'MAYFLY_TOKEN', 'MAYFLY_INBOX_ID', 'MAYFLY_INBOX_ADDRESS'])
      expect(unusedVariables({ [name]: 'http://127.0.0.1:8025' })).toEqual([]);
  });

  it('are ignored where Kubernetes sets them for a Service called mayfly', () => {
    const env = {
      MAYFLY_SERVICE_HOST: '10.96.14.2',
      MAYFLY_SERVICE_PORT: '8025',
      MAYFLY_SERVICE_PORT_HTTP: '8025',
      MAYFLY_SERVICE_PORT_SMTP_TLS: '465',
      MAYFLY_PORT: 'tcp://10.96.14.2:8025',
      MAYFLY_PORT_8025_TCP: 'tcp://10.96.14.2:8025',
      MAYFLY_PORT_8025_TCP_PROTO: 'tcp',
      MAYFLY_PORT_53_UDP_ADDR: '10.96.14.2',
    };
    expect(unusedVariables(env)).toEqual([]);
    expect(parseConfig(env)).toEqual(parseConfig({}));
  });

  it('are ignored for Services whose names begin with mayfly-, also where the name is that of a setting', () => {
    const env = {
      MAYFLY_SMTP_SERVICE_HOST: 'fd00::2',
      MAYFLY_SMTP_SERVICE_PORT: '25',
      MAYFLY_SMTP_PORT: 'tcp://[fd00::2]:25',
      MAYFLY_SMTP_PORT_25_TCP: 'tcp://[fd00::2]:25',
      MAYFLY_SMTP_PORT_25_TCP_ADDR: 'fd00::2',
      MAYFLY_WEB_CONSOLE_SERVICE_HOST: '10.96.14.3',
      MAYFLY_WEB_CONSOLE_PORT: 'tcp://10.96.14.3:80',
    };
    expect(parseConfig(env).smtpPort).toBe(2525);
    expect(unusedVariables(env)).toEqual([
      'MAYFLY_SMTP_PORT is "tcp://[fd00::2]:25", which Kubernetes sets for the Service "mayfly-smtp". It is ignored. To set the port, set MAYFLY_SMTP_PORT in the container, or rename the Service.',
    ]);
  });

  it('do not make such a value of a setting valid without Kubernetes', () => {
    expect(problemsOf({ MAYFLY_HTTP_PORT: 'tcp://0.0.0.0:8080' })).toHaveLength(1);
  });

  it('never show their values, which may be secret', () => {
    expect(unusedVariables({ MAYFLY_APIKEY: 'hunter2' }).join()).not.toContain('hunter2');
  });
});

it.each(Object.entries(DEV_DEFAULTS))(
  'every default of mayfly dev is one of a setting, allowed, and documented: %s=%s',
  (name, value) => {
    expect(() => parseConfig({ [name]: value }, DEV_DEFAULTS)).not.toThrow();
    expect(unusedVariables({ [name]: value })).toEqual([]);
    expect(settingsTable()).toContain(`in \`dev\` ${value === '' ? '–' : `\`${value}\``}`);
  },
);
