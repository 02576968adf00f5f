/*
 * The Testcontainers modules for Node.js and Python, from their packages, with the real Testcontainers and a stub of
 * the Docker API: a container is `npx mayfly dev` of the tarball. Docker itself is not used.
 */
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from './compile.ts';
import { startDockerStub } from './docker-stub.ts';
import { bin, folder, project, run, say, type Tarballs, withNode } from './try-tools.ts';

const exec = promisify(execFile);

/** The user's program. The mail is sent by the operator's command line, in place of an application. */
const PROGRAM = `
import { execFileSync } from 'node:child_process';
import { MayflyContainer } from '@mayfly/testcontainers';
const send = (mayfly, inbox, code) =>
  execFileSync('npx', ['mayfly', 'mail', inbox.address, '--server', mayfly.getSmtpHost() + ':' + mayfly.getSmtpPort(),
    '--subject', 'Code', '--body', 'Your code is ' + code + '.']);
const mayfly = await new MayflyContainer().withDomains('one.test', 'two.test').start();
const inbox = await mayfly.createInbox({ ttlMinutes: 5, labels: { suite: 'try' } });
if (!inbox.address.endsWith('@one.test')) throw new Error(inbox.address);
if (inbox.data.labels.run !== mayfly.runLabels.run) throw new Error('no label of the run');
send(mayfly, inbox, '482913');
if ((await inbox.waitForCode()) !== '482913') throw new Error('wrong code');
await mayfly.stop();
const first = await new MayflyContainer().withReuse().start();
const second = await new MayflyContainer().withReuse().start();
if (first.getId() !== second.getId()) throw new Error('not reused');
await first.createInbox();
if ((await second.client().deleteInboxes(second.runLabels)) !== 0) throw new Error('deleted inboxes of another run');
if ((await first.client().deleteInboxes(first.runLabels)) !== 1) throw new Error('kept its own');
await first.stop();
`;

const PYTHON_PROGRAM = `
import smtplib
from mayfly.testcontainers import MayflyContainer

with MayflyContainer() as mayfly:
    inbox = mayfly.create_inbox(ttl_minutes=5, labels={"suite": "try"})
    assert inbox.labels["run"] == mayfly.run_labels["run"]
    with smtplib.SMTP(mayfly.smtp_host, mayfly.smtp_port) as server:
        server.sendmail("app@shop.example", inbox.address, "Subject: Code\\n\\nYour code is 482913.")
    assert inbox.wait_for_code() == "482913"
`;

/** What a user writes in TypeScript, checked against the real types of Testcontainers. */
const TYPED = `
import { MayflyContainer, type StartedMayflyContainer } from '@mayfly/testcontainers';
export async function test(): Promise<string> {
  const mayfly: StartedMayflyContainer = await new MayflyContainer().withReuse().withDomains('a.test').start();
  const inbox = await mayfly.createInbox({ ttlMinutes: 5 });
  return inbox.waitForCode({ subject: mayfly.getApiUrl() });
}
`;

async function tryNode(tarballs: Tarballs, socketOf: (cwd: string) => Promise<Stub>): Promise<void> {
  const ours = ['client', 'mayfly', 'testcontainers'].map((name) => tarballs.get(name) ?? '');
  const { cwd, ms } = project('testcontainers', [
    ...ours,
    'testcontainers@12.2.0',
    '@types/node@24.19.2',
    '--ignore-scripts',
  ]);
  writeFileSync(join(cwd, 'use.mjs'), PROGRAM);
  writeFileSync(join(cwd, 'typed.mts'), TYPED);
  mkdirSync(join(cwd, 'src'));
  cpSync(join(ROOT, 'packages/testcontainers/src/index.ts'), join(cwd, 'src/index.mts'));
  const strict = ['--noEmit', '--strict', '--target', 'es2024', '--module', 'nodenext', '--skipLibCheck'];
  run(bin('tsc'), [...strict, '--types', 'node', 'typed.mts', 'src/index.mts'], cwd);
  const stub = await socketOf(cwd);
  const started = performance.now();
  try {
    await exec(process.execPath, ['use.mjs'], { cwd, env: withNode(process.execPath, stub.env) });
  } finally {
    await stub.close();
  }
  const program = Math.round(performance.now() - started);
  say(
    `@mayfly/testcontainers: install ${ms} ms with testcontainers@12.2.0, two containers started and used in ${program} ms`,
  );
}

async function tryPython(cwd: string, socketOf: (cwd: string) => Promise<Stub>): Promise<void> {
  const venv = join(folder, 'venv');
  run('python3', ['-m', 'venv', venv], folder);
  const pip = [
    'install',
    '--quiet',
    '--disable-pip-version-check',
    `${join(ROOT, 'python')}[testcontainers]`,
  ];
  const { ms } = run(join(venv, 'bin/pip'), pip, folder);
  const stub = await socketOf(cwd);
  try {
    const env = withNode(process.execPath, stub.env);
    await exec(join(venv, 'bin/python'), ['-c', PYTHON_PROGRAM], { cwd, env });
  } finally {
    await stub.close();
  }
  say(`pytest-mayfly[testcontainers]: install ${ms} ms; one container`);
}

type Stub = Awaited<ReturnType<typeof startDockerStub>> & { env: Record<string, string> };

export async function tryContainers(tarballs: Tarballs): Promise<void> {
  let count = 0;
  const start = async (cwd: string): Promise<Stub> => {
    const socket = join(folder, `docker-${count++}.sock`);
    const stub = await startDockerStub(socket, cwd, withNode(process.execPath));
    // The container that removes others at the end is one of Docker Hub.
    const env = {
      DOCKER_HOST: `unix://${socket}`,
      TESTCONTAINERS_RYUK_DISABLED: 'true',
      TESTCONTAINERS_CONNECTION_MODE: 'docker_host',
      TESTCONTAINERS_HOST_OVERRIDE: '127.0.0.1',
    };
    return { ...stub, env };
  };
  await tryNode(tarballs, start);
  await tryPython(join(folder, 'testcontainers'), start);
}
