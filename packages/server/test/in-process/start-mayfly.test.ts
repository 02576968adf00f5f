import { execFile } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Mayfly } from '@mayfly/client';
import { createTransport } from 'nodemailer';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { type RunningMayfly, type StartOptions, startMayfly } from '../../src/start-mayfly.ts';
import { useFolder, useFolderOfTest } from '../support/folder.ts';

const programs = useFolder();
/** Temporary folders of the test are made in this one. */
const folder = useFolderOfTest();
beforeEach(() => {
  vi.stubEnv('TMPDIR', folder());
  return () => void vi.unstubAllEnvs();
});

const start = async (options?: StartOptions): Promise<RunningMayfly> => {
  const server = await startMayfly(options);
  onTestFinished(() => server.stop());
  return server;
};
const send = async ({ host, port }: RunningMayfly['smtp'], to: string, code: string): Promise<void> => {
  const transport = createTransport({ host, port });
  const mail = { from: 'app@example.org', to, subject: 'Code', text: `Your code is ${code}.` };
  await transport.sendMail(mail).finally(() => transport.close());
};

describe('a server in the process of a test', () => {
  it('takes a mail of nodemailer, and leaves no file behind its stop', async () => {
    const { url, apiKey, smtp, stop } = await start();
    expect(readdirSync(folder())).toHaveLength(1);
    const inbox = await new Mayfly({ url, apiKey }).createInbox();
    await send(smtp, inbox.address, '482913');
    expect(await inbox.waitForCode()).toBe('482913');
    await Promise.all([stop(), stop()]);
    expect(readdirSync(folder())).toEqual([]);
    await expect(fetch(url)).rejects.toThrow();
  });

  it('runs ten times at once, each with its own mail, on one pool of workers', async () => {
    let threads = 0;
    const count = () => {
      threads += 1;
    };
    process.on('worker', count);
    onTestFinished(() => void process.off('worker', count));
    await start();
    const ofFirst = threads;
    const others = await Promise.all(Array.from({ length: 9 }, () => start()));
    // One each, which opens the database; those of the first one may be counted late. Each pool has one at least.
    expect(threads - ofFirst).toBeLessThan(2 * others.length);
    const codes = others.map(async ({ url, apiKey, smtp }, index) => {
      const inbox = await new Mayfly({ url, apiKey }).createInbox({ address: 'ada@mayfly.test' });
      await send(smtp, inbox.address, `48291${index}`);
      return inbox.waitForCode();
    });
    expect(await Promise.all(codes)).toEqual(others.map((_, index) => `48291${index}`));
    // The last one keeps the workers.
    await Promise.all(others.slice(1).map(({ stop }) => stop()));
    const [{ url, apiKey, smtp }] = others as [RunningMayfly];
    const inbox = await new Mayfly({ url, apiKey }).createInbox();
    await send(smtp, inbox.address, '193377');
    expect(await inbox.waitForCode()).toBe('193377');
  });

  it('lets the process end by itself after the stop', async () => {
    const program = `
      import { startMayfly } from ${JSON.stringify(join(import.meta.dirname, '../../src/start-mayfly.ts'))};
      const servers = [await startMayfly(), await startMayfly()];
      for (const { stop } of servers) await stop();
      console.log('stopped');`;
    const file = join(programs(), 'ends.mjs');
    writeFileSync(file, program);
    const args = ['--disable-warning=ExperimentalWarning', file];
    const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { timeout: 100_000 });
    expect([stdout, stderr, readdirSync(folder())]).toEqual(['stopped\n', '', []]);
  });

  it('stops while mail comes in: each sender gets a reply or loses its connection', async () => {
    const { url, apiKey, smtp, stop } = await start();
    const { address } = await new Mayfly({ url, apiKey }).createInbox();
    await send(smtp, address, '100000');
    const sent = Promise.allSettled(
      Array.from({ length: 20 }, (_, index) => send(smtp, address, `1000${index}`)),
    );
    await stop();
    expect(await sent).toHaveLength(20);
    expect(readdirSync(folder())).toEqual([]);
  });

  it('names the setting of a port that is in use, and leaves nothing of the start that failed', async () => {
    const { smtp } = await start();
    const settings = { MAYFLY_SMTP_PORT: String(smtp.port) };
    await expect(startMayfly({ settings })).rejects.toThrow(/is in use\..*MAYFLY_SMTP_PORT/);
    expect(readdirSync(folder())).toHaveLength(1);
  });

  it('takes settings by their names, and refuses unknown ones', async () => {
    const { url, pop3 } = await start({ settings: { MAYFLY_DIALECT: 'mailpit', MAYFLY_POP3_PORT: '0' } });
    expect((await fetch(`${url}/livez`)).status).toBe(200);
    expect(pop3?.port).toBeGreaterThan(0);
    const hint = /MAYFLY_SMTP_PROT is not a setting.*Did you mean MAYFLY_SMTP_PORT/;
    await expect(startMayfly({ settings: { MAYFLY_SMTP_PROT: '1' } })).rejects.toThrow(hint);
    await expect(startMayfly({ settings: { MAYFLY_ROLES: 'worker' } })).rejects.toThrow(/MAYFLY_ROLES/);
    expect(readdirSync(folder())).toHaveLength(1);
  });
});
