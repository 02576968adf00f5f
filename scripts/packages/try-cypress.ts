/*
 * @mayfly/cypress with the npm package of Cypress: the types of a configuration and a spec against those of Cypress, and
 * the tasks in a Node.js process of their own that gets and returns JSON messages, as `setupNodeEvents` does. The
 * program that runs specs in a browser is a download that is not on npm, so the commands do not run here.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bin, project, run, say, startServer, type Tarballs, withNode } from './try-tools.ts';

const CYPRESS = 'cypress@15.3.0';

const CONFIG = `
import { defineConfig } from 'cypress';
import { mayfly } from '@mayfly/cypress';
export default defineConfig({ e2e: { setupNodeEvents: (on, config) => mayfly(on, config) } });
`;
const CONFIG_CJS = `
const { defineConfig } = require('cypress');
const { mayfly } = require('@mayfly/cypress');
module.exports = defineConfig({ e2e: { setupNodeEvents(on, config) { return mayfly(on, config); } } });
`;

/** A spec as users write it; every command with its types. */
const SPEC = `
import '@mayfly/cypress/commands';
it('resets a password', () => {
  cy.createInbox({ ttlMinutes: 5 }).then((inbox) => {
    cy.get('#email').type(inbox.address);
    cy.waitForCode(inbox, { pattern: /\\d+/ }).then((code) => cy.get('#code').type(code));
    cy.waitForLink(inbox, { kind: 'reset' }).then((link) => cy.visit(link));
    cy.waitForMessage(inbox, { subject: 'Welcome', timeout: 20_000 }).its('subject').should('contain', 'Welcome');
    cy.expectSilence(inbox, { subject: /invoice/, within: 500 });
    cy.deleteInbox(inbox);
  });
  // @ts-expect-error An inbox is not an address.
  cy.waitForCode('a@b.example');
});
`;

/** Loads the configuration and serves its tasks by messages, one at a time. */
const HOST = `
import { createRequire } from 'node:module';
const [file] = process.argv.slice(2);
const config = file.endsWith('.cjs') ? createRequire(import.meta.url)(file) : (await import(file)).default;
const handlers = {};
const on = (event, tasks) => { if (event !== 'task') throw new Error(event); Object.assign(handlers, tasks); };
const resolved = { env: {} };
if ((await config.e2e.setupNodeEvents(on, resolved)) !== resolved) throw new Error('the configuration is not returned');
process.on('message', async ([name, argument]) => {
  try {
    const value = await handlers[name](argument);
    if (value === undefined) throw new Error(name + ' returned undefined');
    process.send({ value });
  } catch ({ name: type, message }) {
    process.send({ error: { name: type, message } });
  }
});
process.send('ready');
`;

interface Answer {
  value?: unknown;
  error?: { name: string; message: string };
}

async function ask(host: ChildProcess, name: string, argument: unknown): Promise<Answer> {
  const answered = once(host, 'message');
  host.send([name, argument]);
  const [answer] = await answered;
  return answer as Answer;
}

const expectIn = (answer: Answer, wanted: string): void => {
  if (!JSON.stringify(answer).includes(wanted))
    throw new Error(`${JSON.stringify(answer)} has no ${wanted}.`);
};

async function tryTasks(host: ChildProcess, send: (address: string) => void): Promise<void> {
  const { value } = await ask(host, 'mayfly:createInbox', { ttlMinutes: 5 });
  const { id, address } = value as { id: string; address: string };
  send(address);
  const wait = (wait: object) => ({ inboxId: id, wait });
  expectIn(await ask(host, 'mayfly:waitForCode', wait({})), '"482913"');
  const subject = { subject: 'code', since: 'start' };
  expectIn(await ask(host, 'mayfly:waitForMessage', wait(subject)), '"subject":"Code"');
  const reset = { kind: 'reset', timeout: 100, since: 'start' };
  expectIn(await ask(host, 'mayfly:waitForLink', wait(reset)), 'other mail came');
  expectIn(await ask(host, 'mayfly:expectSilence', wait({ within: 100 })), '"value":null');
  expectIn(await ask(host, 'mayfly:deleteInbox', id), '"value":null');
}

export async function tryCypress(tarballs: Tarballs): Promise<void> {
  const ours = ['client', 'cypress', 'mayfly'].map((name) => tarballs.get(name) ?? '');
  const { cwd, ms } = project('cypress', [...ours, CYPRESS], process.execPath, {
    CYPRESS_INSTALL_BINARY: '0',
  });
  writeFileSync(join(cwd, 'cypress.config.mts'), CONFIG);
  writeFileSync(join(cwd, 'spec.cy.ts'), SPEC);
  const strict = ['--noEmit', '--strict', '--skipLibCheck', '--target', 'es2022', '--lib', 'es2022,dom'];
  const modules = ['--module', 'esnext', '--moduleResolution', 'bundler', '--types', 'cypress'];
  run(bin('tsc'), [...strict, ...modules, 'cypress.config.mts', 'spec.cy.ts'], cwd);

  writeFileSync(join(cwd, 'cypress.config.mjs'), CONFIG);
  writeFileSync(join(cwd, 'cypress.config.cjs'), CONFIG_CJS);
  writeFileSync(join(cwd, 'host.mjs'), HOST);
  const server = await startServer(cwd);
  try {
    const send = (address: string) => {
      const mail = ['mayfly', 'mail', address, '--subject', 'Code', '--body', 'Your code is 482913.'];
      run('npx', [...mail, '--server', `127.0.0.1:${server.smtpPort}`], cwd);
    };
    for (const file of ['cypress.config.mjs', 'cypress.config.cjs']) {
      const env = withNode(process.execPath, { MAYFLY_URL: server.url });
      const host = fork(join(cwd, 'host.mjs'), [join(cwd, file)], { cwd, env });
      await once(host, 'message');
      await tryTasks(host, send);
      host.disconnect();
    }
  } finally {
    await server.stop();
  }
  say(
    `@mayfly/cypress: install ${ms} ms with ${CYPRESS}; types, and tasks by messages from ESM and CommonJS`,
  );
}
