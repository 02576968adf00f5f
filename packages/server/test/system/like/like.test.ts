import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { createTransport } from 'nodemailer';
import { afterEach, describe, expect, it } from 'vitest';
import { useFolderOfTest } from '../../support/folder.ts';
import { freePort } from '../../support/ports.ts';
import { type ServerProcess, startServer } from '../../support/server-process.ts';

const folder = useFolderOfTest();
let server: ServerProcess | undefined;
afterEach(() => server?.end('SIGTERM'));

/** Another address of this machine, as other containers use one; its loopback where it has no other. */
const OTHER =
  Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? '127.0.0.1';

/** As the image starts it, with the variables of a Compose file. */
async function start(program: 'mailpit' | 'mailhog', env: Record<string, string>) {
  server = await startServer({
    command: 'dev',
    commandArgs: ['--like', program],
    dataDir: join(folder(), program),
    env: { MAYFLY_HTTP_HOST: '0.0.0.0', MAYFLY_SMTP_HOST: '0.0.0.0', ...env },
  });
  const { greeting, smtpPort, url } = server;
  return { greeting, smtpPort, url: url.replace('0.0.0.0', OTHER) };
}

async function send(port: number, to: string): Promise<void> {
  const auth = { user: 'any', pass: 'thing' };
  const transport = createTransport({ host: OTHER, port, auth, ignoreTLS: true });
  await transport.sendMail({ from: 'app@example.com', to, subject: 'Welcome', text: 'Hello' });
  transport.close();
}

/** What modules and examples for Testcontainers, Compose files and libraries wait for. */
const READY = {
  mailpit: {
    lines: [/.*accessible via.*/, /.*accessible via.*/],
    paths: ['/', '/livez', '/readyz', '/api/v1/info', '/api/v1/messages'],
  },
  mailhog: {
    lines: [/Creating API v2 with WebPath:/, /.*Serving under.*/],
    paths: ['/', '/api/v1/messages', '/api/v2/messages'],
  },
};

async function expectReady(program: keyof typeof READY, greeting: string, url: string): Promise<void> {
  for (const line of READY[program].lines) expect(greeting).toMatch(line);
  for (const path of READY[program].paths)
    expect([path, (await fetch(url + path)).status]).toEqual([path, 200]);
}

describe('mayfly dev --like, as an image starts it', () => {
  it('is ready for what waits for Mailpit, takes mail with any password to anyone, and shows it to other machines', async () => {
    const port = await freePort();
    const { greeting, smtpPort, url } = await start('mailpit', {
      MAYFLY_SMTP_PORT: '0',
      MAYFLY_HTTP_PORT: String(port),
      MP_SMTP_AUTH_ACCEPT_ANY: '1',
      MP_SMTP_AUTH_ALLOW_INSECURE: '1',
      MP_DATABASE: '/data/mailpit.db',
    });
    expect(url).toBe(`http://${OTHER}:${port}`);
    await expectReady('mailpit', greeting, url);
    await send(smtpPort, 'someone@a-shop.example');
    const list = await fetch(`${url}/api/v1/messages`);
    expect(await list.json()).toMatchObject({ total: 1, messages: [{ Subject: 'Welcome' }] });
  });

  it('is ready for what waits for MailHog, and takes mail like it', async () => {
    const { greeting, smtpPort, url } = await start('mailhog', {});
    await expectReady('mailhog', greeting, url);
    await send(smtpPort, 'someone@a-shop.example');
    const found = await fetch(`${url}/api/v2/search?kind=to&query=a-shop.example`);
    expect(await found.json()).toMatchObject({ total: 1, items: [{ To: [{ Mailbox: 'someone' }] }] });
  });
});
