/*
 * `npm run pictures`: takes every picture of the README and the docs, in docs/pictures. It starts a server of its own
 * with mail of a shop, and uses Chromium (CHROMIUM=path, default Debian's). Look at the pictures before you commit.
 */
import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Mayfly } from '@mayfly/client';
import { createTransport } from 'nodemailer';
import { type BrowserContext, chromium } from 'playwright-core';

const ROOT = join(import.meta.dirname, '../..');
const PICTURES = join(ROOT, 'docs/pictures');
const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
const HTTP_PORT = '18025';
const SMTP_PORT = '12525';
const URL = `http://127.0.0.1:${HTTP_PORT}`;
const RUN = { run: '4711' };

const mayfly = new Mayfly({ url: URL });
const smtp = createTransport({ host: '127.0.0.1', port: Number(SMTP_PORT) });

const BUTTON = 'background:#1d6b5f;color:#fff;padding:12px 20px;border-radius:6px;text-decoration:none';
const page = (title: string, body: string) =>
  `<!doctype html><html lang="en"><body style="font-family:sans-serif;background:#f1f4f2;padding:24px">
<div style="background:#fff;border-radius:8px;padding:24px;max-width:420px;margin:auto"><h2>${title}</h2>${body}</div></body></html>`;

/** What the shop sends to a new customer, oldest first. */
const MAILS = [
  {
    subject: 'Your receipt for order 4711',
    text: 'Thank you for your order.',
    attachments: [{ filename: 'receipt.pdf', content: Buffer.from('%PDF-1.4') }],
  },
  { subject: 'Your order is on its way', text: 'It arrives on Tuesday.' },
  {
    subject: 'Reset your password',
    text: 'Somebody asked to reset your password: https://shop.example/reset?token=7f3a',
  },
  {
    subject: 'Sign in with this code',
    text: 'Your code is 739201. It is valid for 10 minutes.',
  },
  {
    subject: 'Please confirm your address',
    text: 'Your code is 482913.\nhttps://shop.example/confirm?token=9b1c',
    html: page(
      'Please confirm your address',
      `<p>Your code is <b style="font-size:20px;letter-spacing:2px">482913</b>. It is valid for 10 minutes.</p>
<p style="margin:24px 0"><a href="https://shop.example/confirm?token=9b1c" style="${BUTTON}">Confirm your address</a></p>
<p><a href="https://shop.example/unsubscribe">Unsubscribe</a></p>`,
    ),
  },
];

const send = (to: string, mail: object) =>
  smtp.sendMail({ from: 'Shop <no-reply@shop.example>', to: `Ada Lovelace <${to}>`, ...mail });

/** Starts the server on a data folder of its own. @returns what stops it */
async function startServer(): Promise<() => Promise<void>> {
  const folder = mkdtempSync(join(tmpdir(), 'mayfly-pictures-'));
  const env = {
    ...process.env,
    MAYFLY_DATA_DIR: folder,
    MAYFLY_HTTP_PORT: HTTP_PORT,
    MAYFLY_SMTP_PORT: SMTP_PORT,
    MAYFLY_METRICS_PORT: '0',
  };
  const server = spawn('mayfly', ['dev'], { env, stdio: ['ignore', 'ignore', 'inherit'] });
  execFileSync('mf', ['wait-ready', '--timeout', '60'], {
    env: { ...process.env, MAYFLY_URL: URL },
    stdio: 'ignore',
  });
  return async () => {
    server.kill('SIGTERM');
    await once(server, 'exit');
    rmSync(folder, { recursive: true, force: true });
  };
}

async function takeConsole(context: BrowserContext): Promise<void> {
  const { key } = await mayfly.keys.create({ name: 'laptop' });
  await context.request.post(`${URL}/console/session`, { headers: { authorization: `Bearer ${key}` } });
  const tab = await context.newPage();
  const take = (name: string) => tab.screenshot({ path: join(PICTURES, `${name}.png`) });

  const inbox = await mayfly.createInbox({ localPart: 'signup-test', labels: { ...RUN, test: 'sign-up' } });
  for (const mail of MAILS) await send(inbox.address, mail);
  const mail = await inbox.waitForMessage({ subject: 'confirm' });
  await tab.goto(`${URL}/console/inboxes/${inbox.id}/messages/${mail.id}`);
  await tab.frameLocator('iframe').getByText('It is valid for 10 minutes').waitFor();
  await take('console');

  const failing = await mayfly.createInbox({ localPart: 'reset-test', labels: { ...RUN, test: 'reset' } });
  await send(failing.address, MAILS[1] ?? {});
  await failing.waitForLink({ kind: 'reset', subject: 'password', timeout: 1000 }).catch(() => undefined);
  await tab.goto(`${URL}/console/runs?label.run=${RUN.run}`);
  await tab.getByText('reset-test').first().waitFor();
  await take('run-report');
}

/** The page of a failed test in the report of Playwright. */
async function takeFailedTest(context: BrowserContext): Promise<void> {
  const output = mkdtempSync(join(tmpdir(), 'mayfly-report-'));
  const env = { ...process.env, OUTPUT: output, CHROMIUM, MAYFLY_URL: URL, SMTP_PORT };
  const config = join(ROOT, 'packages/playwright/test/system/project/playwright.config.ts');
  const program = join(ROOT, 'node_modules/@playwright/test/cli.js');
  await new Promise<void>((resolve) => {
    // The test fails on purpose, so the exit code is 1.
    execFile(
      process.execPath,
      [program, 'test', '-c', config, '-g', 'resets the password'],
      { env, cwd: ROOT },
      () => resolve(),
    );
  });
  const tab = await context.newPage();
  await tab.setViewportSize({ width: 980, height: 900 });
  await tab.goto(`file://${output}/html/index.html`);
  await tab.getByText('a customer resets the password').first().click();
  await tab.getByText('WaitTimeoutError').first().waitFor();
  // The paths of the stack are those of this machine.
  await tab.evaluate(`for (const texts = document.createTreeWalker(document.body, 4); texts.nextNode(); )
    texts.currentNode.data = texts.currentNode.data.replaceAll(${JSON.stringify(`${ROOT}/`)}, '')`);
  await tab.screenshot({ path: join(PICTURES, 'failed-test.png') });
  rmSync(output, { recursive: true, force: true });
}

mkdirSync(PICTURES, { recursive: true });
const stop = await startServer();
const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
try {
  const context = await browser.newContext({ viewport: { width: 1280, height: 640 } });
  await takeConsole(context);
  await takeFailedTest(context);
} finally {
  await browser.close();
  await stop();
}
