/*
 * A server within the process of a test, from the tarballs: `startMayfly` as ES module and CommonJS, with its types;
 * what @mayfly/vitest and the environment for Jest start by themselves.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bin, project, run, say, type Tarballs } from './try-tools.ts';

const RUNNERS = { vitest: 'vitest@5.1.0', jest: 'jest@30.2.0' };

const PROGRAM = `const servers = await Promise.all([startMayfly(), startMayfly()]);
const [{ url, apiKey, smtp }] = servers;
const authorization = 'Bearer ' + apiKey;
const response = await fetch(url + '/v1/inboxes', { method: 'POST', headers: { authorization } });
if (response.status !== 201 || smtp.port === servers[1].smtp.port) throw new Error(String(response.status));
for (const { stop } of servers) await stop();
console.log('stopped');`;

const PROGRAMS = {
  'program.mjs': `import { startMayfly } from 'mayfly';\n${PROGRAM}`,
  'program.cjs': `const { startMayfly } = require('mayfly');\n(async () => {\n${PROGRAM}\n})();`,
};

const TYPED = `import { type RunningMayfly, startMayfly } from 'mayfly';
const server: RunningMayfly = await startMayfly({ settings: { MAYFLY_DIALECT: 'mailpit' } });
export const port: number = server.smtp.port;
// @ts-expect-error It is a string.
export const url: number = server.url;
`;

/** By SMTP, as the application sends it. */
const TEST = `
test('receives a code', async () => {
  const { MAYFLY_SMTP_HOST: host, MAYFLY_SMTP_PORT: port } = process.env;
  const inbox = await new Mayfly().createInbox({ ttlMinutes: 5 });
  const transport = createTransport({ host, port: Number(port) });
  await transport.sendMail({ from: 'app@example.org', to: inbox.address, text: 'Your code is 482913.' });
  expect(await inbox.waitForCode()).toBe('482913');
});
`;
const IMPORTED = `import { Mayfly } from '@mayfly/client';
import { createTransport } from 'nodemailer';
import { expect, test } from 'vitest';
`;
const REQUIRED = `const { Mayfly } = require('@mayfly/client');
const { createTransport } = require('nodemailer');
`;
/** No server beside the runner. */
const ALONE = { MAYFLY_URL: '', NO_COLOR: '1' };

export function tryInProcess(tarballs: Tarballs): void {
  const packages = ['client', 'mayfly', 'vitest'].map((name) => tarballs.get(name) ?? '');
  const { cwd } = project('in-process', [...packages, ...Object.values(RUNNERS), 'nodemailer@10.6.0']);
  const write = (name: string, text: string) => writeFileSync(join(cwd, name), text);
  for (const [name, code] of Object.entries(PROGRAMS)) {
    write(name, code);
    const { output, ms } = run(process.execPath, [name], cwd);
    if (output.trim() !== 'stopped') throw new Error(`${name}: ${output}`);
    say(`mayfly: ${name} starts two servers, stops them and ends after ${ms} ms`);
  }
  write('typed.mts', TYPED);
  const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022', '--types', ''];
  run(bin('tsc'), [...options, 'typed.mts'], cwd);

  write('vitest.config.mjs', "export default { test: { globalSetup: ['@mayfly/vitest/server'] } };");
  write('mail.test.mjs', IMPORTED + TEST);
  const vitest = run('npx', ['vitest', 'run'], cwd, process.execPath, ALONE);
  write(
    'jest.config.cjs',
    "module.exports = { testEnvironment: 'mayfly/jest-environment', testMatch: ['**/*.spec.cjs'] };",
  );
  write('mail.spec.cjs', REQUIRED + TEST);
  const jest = run('npx', ['jest', '--detectOpenHandles'], cwd, process.execPath, ALONE);
  say(`mayfly: started by ${RUNNERS.vitest} (${vitest.ms} ms) and ${RUNNERS.jest} (${jest.ms} ms)`);
}
