import { once } from 'node:events';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createTransport } from 'nodemailer';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasPostgres } from '../../support/postgres.ts';
import type { ServerProcess } from '../../support/server-process.ts';
import { CHROMIUM, launchBrowser } from '../browser/browser.ts';
import { type Nodes, startNodes } from '../nodes/nodes.ts';
import { LOOKS, openConsole, signUpMail } from './console.ts';

/** A balancer: each request goes to the next of the nodes, and a stream too. */
async function startBalancer(nodes: () => ServerProcess[]): Promise<Server & { url: string }> {
  let turn = 0;
  const server = createServer((from, reply) => {
    const target = nodes()[turn++ % nodes().length];
    const to = request(`${target?.url}${from.url}`, { method: from.method, headers: from.headers });
    to.on('response', (response) => {
      reply.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(reply);
      response.on('error', () => reply.destroy());
    });
    // A node that is gone.
    to.on('error', () => (reply.headersSent ? reply.destroy() : reply.writeHead(502).end()));
    reply.on('close', () => to.destroy());
    from.pipe(to);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return Object.assign(server, { url });
}

const canRun = CHROMIUM !== undefined && (await hasPostgres());

describe.skipIf(!canRun)(
  'the console behind a balancer of two nodes (skipped without Chromium or PostgreSQL)',
  () => {
    let site: Nodes;
    let browser: Browser;
    let balancer: Server & { url: string };
    beforeAll(async () => {
      [site, browser] = await Promise.all([startNodes(), launchBrowser()]);
      for (let n = 0; n < 2; n++) await site.startNode();
      const isUp = ({ process: { exitCode, signalCode } }: ServerProcess) =>
        exitCode === null && signalCode === null;
      balancer = await startBalancer(() => site.nodes.filter(isUp));
    });
    afterAll(async () => {
      await browser?.close();
      balancer?.closeAllConnections();
      balancer?.close();
      await site?.close();
    });

    const send = async (node: ServerProcess | undefined, to: string, code: string) => {
      const transport = createTransport({ host: '127.0.0.1', port: node?.smtpPort ?? 0 });
      await transport.sendMail(signUpMail(to, code)).finally(() => transport.close());
    };

    it('signs in, lists mail of both nodes as it comes, shows its HTML, and goes on when a node ends', async () => {
      const [one, other] = site.nodes;
      const { context, page, complaints } = await openConsole(browser, balancer, LOOKS[0], one?.key ?? '');
      await page.goto(`${balancer.url}/console/inboxes?new=1`);
      await page.getByRole('button', { name: 'Create', exact: true }).click();
      await page.getByRole('button', { name: 'Open the inbox' }).click();
      await page.getByText('Waiting for the first mail').waitFor();
      const heading = page.getByRole('heading', { name: /@mayfly\.test/ });
      const address = /\S+@mayfly\.test/.exec((await heading.textContent()) ?? '')?.[0] ?? '';
      const codes = ['111111', '222222', '333333', '444444', '555555', '666666'];
      for (const [index, code] of codes.entries()) await send(index % 2 === 0 ? one : other, address, code);
      const rows = page.locator('.pane-list li');
      await expect.poll(() => rows.count()).toBe(codes.length);
      // In the order of arrival, whichever node took it.
      const shown = async () =>
        (await rows.allTextContents()).map((text) => /Copy code (\d+)/.exec(text)?.[1]);
      expect(await shown()).toEqual(codes.toReversed());
      // The link to the HTML is made by one node, and each request goes to the other one in turn.
      for (const code of ['666666', '555555']) {
        await page.getByRole('link', { name: new RegExp(`Your code is ${code}`) }).click();
        await page.frameLocator('iframe').getByText(code).waitFor();
      }
      await page.getByRole('button', { name: 'Delete the message' }).click();
      await expect.poll(() => rows.count()).toBe(codes.length - 1);

      // The stream was held by one of the two: the list goes on, and misses nothing that came meanwhile.
      await other?.end('SIGKILL');
      await send(one, address, '777777');
      await page.getByRole('link', { name: /Your code is 777777/ }).waitFor();
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByRole('button', { name: 'Sign in' }).waitFor();
      expect(complaints).toEqual([]);
      await context.close();
    });
  },
);
