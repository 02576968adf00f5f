import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, untilListening } from '../../support/ports.ts';
import { ROOT } from '../docs/code-blocks.ts';

/** Ports of a node of Mayfly on this machine. */
export interface NodePorts {
  http: number;
  smtp: number;
}

export interface HaProxy {
  url: string;
  smtpPort: number;
  stop(): Promise<void>;
}

/** Starts HAProxy with deploy/haproxy.cfg in front of three nodes; only addresses and ports are replaced. */
export async function startHaProxy(program: string, folder: string, nodes: NodePorts[]): Promise<HaProxy> {
  const [http, smtp] = [await freePort(), await freePort()];
  let text = readFileSync(join(ROOT, 'deploy/haproxy.cfg'), 'utf8')
    .replace('maxconn 8000', 'maxconn 200')
    .replace('bind :2525', `bind 127.0.0.1:${smtp}`)
    .replace('bind :8025', `bind 127.0.0.1:${http}`);
  for (const [index, ports] of nodes.entries()) {
    const name = `node${index + 1}`;
    text = text
      .replace(`${name}:2525`, `127.0.0.1:${ports.smtp} port ${ports.http}`)
      .replace(`${name}:8025`, `127.0.0.1:${ports.http} port ${ports.http}`);
  }
  const file = join(folder, 'haproxy.cfg');
  writeFileSync(file, text);
  const child = spawn(program, ['-db', '-f', file], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece) => (output += piece));
  const exited = once(child, 'exit');
  const ended = new AbortController();
  void exited.then(([code]) => ended.abort(new Error(`HAProxy ended with ${code}: ${output}`)));
  await untilListening(smtp, ended.signal);
  return {
    url: `http://127.0.0.1:${http}`,
    smtpPort: smtp,
    async stop() {
      child.kill('SIGTERM');
      await exited;
    },
  };
}
