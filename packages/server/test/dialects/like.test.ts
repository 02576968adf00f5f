import { networkInterfaces } from 'node:os';
import { createTransport } from 'nodemailer';
import { describe, expect, it } from 'vitest';
import { settingsLike } from '../../src/config/like.ts';
import { appOfTest } from '../support/start-app.ts';

/** Another address of this machine, as other containers use one; its loopback where it has no other. */
const OTHER =
  Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? '127.0.0.1';

/** The app with the settings of `mayfly dev --like`, with the variables of a Compose file, and a mail in it. */
async function startLike(program: 'mailpit' | 'mailhog', given: Record<string, string>) {
  const { env, defaults } = settingsLike(program, given);
  const own = { MAYFLY_HTTP_PORT: '0', MAYFLY_SMTP_PORT: '0', MAYFLY_METRICS_PORT: '0' };
  const hosts = { MAYFLY_HTTP_HOST: '0.0.0.0', MAYFLY_SMTP_HOST: '0.0.0.0' };
  const app = await appOfTest({ ...defaults, ...env, ...own, ...hosts, MAYFLY_LOG_LEVEL: 'silent' });
  const auth = { user: 'any', pass: 'thing' };
  const transport = createTransport({ host: OTHER, port: app.smtp.port, auth, ignoreTLS: true });
  const to = 'someone@a-shop.example';
  await transport.sendMail({ from: 'app@example.com', to, subject: 'Welcome', text: 'Hello' });
  transport.close();
  return (path: string) => fetch(app.url.replace('0.0.0.0', OTHER) + path);
}

describe('a server like another program takes mail with any password to anyone, and shows it to other machines', () => {
  it('as Mailpit, whose paths answer when it is ready', async () => {
    const get = await startLike('mailpit', {
      MP_SMTP_AUTH_ACCEPT_ANY: '1',
      MP_SMTP_AUTH_ALLOW_INSECURE: '1',
    });
    for (const path of ['/', '/livez', '/readyz', '/api/v1/info', '/api/v1/messages'])
      expect([path, (await get(path)).status]).toEqual([path, 200]);
    const list = await (await get('/api/v1/messages')).json();
    expect(list).toMatchObject({ total: 1, messages: [{ Subject: 'Welcome' }] });
  });

  it('as MailHog, whose paths answer when it is ready', async () => {
    const get = await startLike('mailhog', {});
    for (const path of ['/', '/api/v1/messages', '/api/v2/messages'])
      expect([path, (await get(path)).status]).toEqual([path, 200]);
    const found = await (await get('/api/v2/search?kind=to&query=a-shop.example')).json();
    expect(found).toMatchObject({ total: 1, items: [{ To: [{ Mailbox: 'someone' }] }] });
  });
});
