import { describe, expect, it } from 'vitest';
import { parseConfig } from '../../src/config/config.ts';
import { settingsLike } from '../../src/config/like.ts';

function like(env: Record<string, string>, program: 'mailpit' | 'mailhog' = 'mailpit') {
  const settings = settingsLike(program, env);
  return { config: parseConfig(settings.env, settings.defaults), warning: settings.warning };
}

describe('mayfly dev --like', () => {
  it.each(['mailpit', 'mailhog'] as const)('has the ports of %s and is open to its clients', (program) => {
    const config = { dialect: program, smtpPort: 1025, httpPort: 8025, devKey: 'open', sink: 'on' };
    expect(like({}, program)).toMatchObject({ config, warning: undefined });
  });

  it.each([
    [{ MP_DATABASE: '/maildata/mailpit.db' }, { dataDir: '/maildata' }],
    [{ MP_DATA_FILE: '/maildata/mailpit.db' }, { dataDir: '/maildata' }],
    [{ MP_SMTP_BIND_ADDR: '0.0.0.0:2500' }, { smtpHost: '0.0.0.0', smtpPort: 2500 }],
    [{ MP_UI_BIND_ADDR: '[::]:9000' }, { httpHost: '::', httpPort: 9000 }],
    [{ MP_UI_BIND_ADDR: ':9000' }, { httpHost: '127.0.0.1', httpPort: 9000 }],
    [{ MH_API_BIND_ADDR: '0.0.0.0:9000' }, { httpHost: '0.0.0.0', httpPort: 9000 }],
    [{ MP_VERBOSE: 'true' }, { logLevel: 'debug' }],
    [{ MP_SMTP_AUTH_ACCEPT_ANY: '1', MP_SMTP_AUTH_ALLOW_INSECURE: 'true' }, { smtpAuth: 'any' }],
  ])('understands %j', (env, expected) => {
    const { config, warning } = like(env as Record<string, string>);
    expect(config).toMatchObject(expected);
    expect(warning).toBeUndefined();
  });

  it('names in one warning all it does without, and nothing that is switched off', () => {
    const { warning } = like({
      ...{ MP_MAX_MESSAGES: '5000', MP_SMTP_RELAY_CONFIG: '/relay.yaml', MP_UNHEARD_OF: 'secret' },
      ...{ MP_USE_MESSAGE_DATES: 'false', MP_WEBROOT: '', MPI_HOME: '/usr/lib/mpi' },
    });
    expect(warning).toMatch(/ MP_MAX_MESSAGES, MP_SMTP_RELAY_CONFIG, MP_UNHEARD_OF\. .*migrating\.md/);
  });

  it('follows its own settings before those of the other program', () => {
    const { config } = like({
      ...{ MP_SMTP_BIND_ADDR: '0.0.0.0:2500', MP_DATABASE: '/maildata/mailpit.db' },
      ...{ MAYFLY_SMTP_PORT: '2600', MAYFLY_DATA_DIR: '/data', MAYFLY_DEV_KEY: 'off' },
    });
    expect(config).toMatchObject({ smtpHost: '0.0.0.0', smtpPort: 2600, dataDir: '/data', devKey: 'off' });
  });

  it('asks for a password where the other program would', () => {
    const password = 'a_long_password_0123456789';
    const config = { devKey: 'off', apiKey: password };
    const read = like({ MP_UI_AUTH: `admin:${password} other:x` });
    expect(read).toMatchObject({ config, warning: undefined });
    const warning = expect.stringMatching(/AUTH.*Clients send an API key as the password/);
    const unread = { config: { devKey: 'off', apiKey: null }, warning };
    for (const [name, value] of [
      ['MP_UI_AUTH', 'admin:short'],
      ['MP_UI_AUTH_FILE', '/auth'],
      ['MH_AUTH_FILE', '/auth'],
    ] as const)
      expect(like({ [name]: value })).toMatchObject(unread);
  });
});
