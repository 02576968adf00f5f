import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { findProgram } from './program.ts';

/** Connections that may wait to be accepted. */
const BACKLOG = '1000';
const START_LIMIT_MS = 5_000;

const smtpSink = findProgram('smtp-sink');

export interface SmtpSink {
  port: number;
  stop(): Promise<void>;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address ? address.port : 0;
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('close', () => resolve(false)).once('connect', () => socket.destroy());
  });
}

/** Starts Postfix's smtp-sink, which throws every mail away. @throws Error where Postfix is not installed */
export async function startSmtpSink(): Promise<SmtpSink> {
  if (smtpSink === undefined) throw new Error("needs Postfix's smtp-sink, which is not here");
  const port = await freePort();
  // It refuses to run as root.
  const asUser = process.getuid?.() === 0 ? ['-u', 'nobody'] : [];
  const child: ChildProcess = spawn(smtpSink, [...asUser, `127.0.0.1:${port}`, BACKLOG], {
    stdio: 'inherit',
  });
  const exited = once(child, 'exit');
  for (const deadline = Date.now() + START_LIMIT_MS; !(await accepts(port)); await sleep(20)) {
    if (Date.now() > deadline) throw new Error('smtp-sink does not accept connections');
  }
  return {
    port,
    async stop() {
      child.kill();
      await exited;
    },
  };
}
