import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Body } from '../../support/api-client.ts';
import { findProgramWith } from '../../support/find-program.ts';
import { TEST_KEY, type TestApp } from '../../support/start-app.ts';

/** What .ci/python-tests installed. */
const VENV = join(import.meta.dirname, '../../../../../node_modules/.cache/python-tests/bin/python');

/**
 * A program of this folder.
 * @param modules what it imports
 */
export async function pythonProgram(file: string, modules: string) {
  const python = await findProgramWith([VENV, 'python3'], ['-c', `import ${modules}`]);
  if (!python)
    process.stderr.write(`Skipped: ${modules} are not installed (.ci/python-tests installs them).\n`);
  /** Runs a case of it. @returns what it prints, as JSON */
  const run = async (name: string, env: Record<string, string> = {}, input: unknown = {}) => {
    const program = join(import.meta.dirname, file);
    const child = spawn(python ?? '', ['-W', 'ignore', program, name], { env: { ...process.env, ...env } });
    child.stdin.end(JSON.stringify(input));
    const [output, errors] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'close'),
    ]);
    if (output === '') throw new Error(errors);
    return JSON.parse(output);
  };
  /** Runs a case that sends to a new inbox. @returns what it prints, and the messages, oldest first */
  const sent = async (app: TestApp, name: string): Promise<{ answer: Body; messages: Body[] }> => {
    const inbox = await app.createInbox();
    const env = { PROVIDERS_URL: `${app.url}/providers`, MAYFLY_KEY: TEST_KEY, RECIPIENT: inbox.address };
    const answer = await run(name, env);
    const get = async (path: string) => (await app.api('GET', `/v1/inboxes/${inbox.id}${path}`)).body;
    const { messages } = await get('/messages');
    const read = messages.map(({ id }: Body) => get(`/messages/${id}`));
    return { answer, messages: (await Promise.all(read)).toReversed() };
  };
  return { isInstalled: python !== undefined, run, sent };
}
