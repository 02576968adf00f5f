import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, untilListening } from '../../support/ports.ts';
import type { TestCertificate } from '../../support/tls/test-authority.ts';
import { ROOT } from '../docs/code-blocks.ts';

/** Scaled down from the 60 s of nginx, for every `location` that does not set its own. */
export const DEFAULT_READ_TIMEOUT_S = 1;
export const CONFIGURATION = readFileSync(join(ROOT, 'deploy/nginx.conf'), 'utf8');

export interface Nginx {
  url: string;
  stop(): Promise<void>;
}

export interface NginxOptions {
  program: string;
  /** An empty folder for its files. */
  folder: string;
  /** Where Mayfly's API listens. */
  mayfly: string;
  certificate: TestCertificate;
  /** A free one by default. */
  port?: number;
  /** Changes the configuration beyond ports and certificate. */
  edit?: (configuration: string) => string;
}

/** Starts nginx with deploy/nginx.conf on a free port; only ports and certificate are replaced. */
export async function startNginx(options: NginxOptions): Promise<Nginx> {
  const { program, folder, mayfly, certificate, edit = (same: string) => same } = options;
  const port = options.port ?? (await freePort());
  const site = edit(CONFIGURATION)
    .replace('listen 443 ssl;', `listen 127.0.0.1:${port} ssl;`)
    .replace('127.0.0.1:8025', new URL(mayfly).host)
    .replace('/etc/ssl/mayfly.example.com/fullchain.pem', certificate.cert)
    .replace('/etc/ssl/mayfly.example.com/privkey.pem', certificate.key);
  writeFileSync(join(folder, 'mayfly.conf'), site);
  const main = [
    // The worker of a root process would be another user, who cannot write to the folder.
    process.getuid?.() === 0 ? 'user root;' : '',
    `daemon off; pid ${folder}/nginx.pid; error_log stderr; worker_processes 1;`,
    'events { worker_connections 256; }',
    `http { access_log off; proxy_read_timeout ${DEFAULT_READ_TIMEOUT_S}s;`,
    ...['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (name) => `${name}_temp_path ${folder}/${name};`,
    ),
    `include ${folder}/mayfly.conf; }`,
  ];
  writeFileSync(join(folder, 'nginx.conf'), main.join('\n'));
  const child = spawn(program, ['-p', folder, '-e', 'stderr', '-c', join(folder, 'nginx.conf')], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let output = '';
  child.stderr.on('data', (piece) => (output += piece));
  const exited = once(child, 'exit');
  const ended = new AbortController();
  void exited.then(([code]) => ended.abort(new Error(`nginx ended with ${code}: ${output}`)));
  await untilListening(port, ended.signal);
  return {
    url: `https://localhost:${port}`,
    async stop() {
      child.kill('SIGTERM');
      await exited;
    },
  };
}
