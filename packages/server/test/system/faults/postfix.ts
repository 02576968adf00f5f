import { execFile } from 'node:child_process';
import { chown, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findProgram, reportAbsent } from '../../support/find-program.ts';
import { freePort, untilListening } from '../../support/ports.ts';
import { letOthersPass } from '../../support/postgres.ts';

const run = promisify(execFile);

const program = findProgram('postfix');
if (!program) reportAbsent('Postfix', 'postfix');
else if (process.getuid?.() !== 0) process.stderr.write('Skipped: Postfix can be started by root only.\n');

/** Whether a Postfix of its own can be started here. */
export const HAS_POSTFIX = program !== undefined && process.getuid?.() === 0;

/** Postfix's defaults, except where it runs and how long it waits between two attempts. */
const mainConfig = (folder: string, relayPort: number): string => `
compatibility_level = 3.6
queue_directory = ${folder}/queue
data_directory = ${folder}/data
command_directory = /usr/sbin
daemon_directory = /usr/lib/postfix/sbin
mail_owner = postfix
setgid_group = postdrop
inet_interfaces = loopback-only
inet_protocols = ipv4
myhostname = app.example.org
mydestination =
relayhost = [127.0.0.1]:${relayPort}
mynetworks = 127.0.0.0/8
smtpd_relay_restrictions = permit_mynetworks, reject
alias_maps =
local_recipient_maps =
smtp_host_lookup = native
minimal_backoff_time = 1s
maximal_backoff_time = 1s
queue_run_delay = 1s
transport_retry_time = 1s
maillog_file = ${folder}/log
maillog_file_prefixes = ${tmpdir()}
`;

const services = (port: number): string => `
127.0.0.1:${port} inet n - n - - smtpd
cleanup unix n - n - 0 cleanup
pickup unix n - n 60 1 pickup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
proxymap unix - - n - - proxymap
smtp unix - - n - - smtp
error unix - - n - - error
retry unix - - n - - error
anvil unix - - n - 1 anvil
scache unix - - n - 1 scache
tlsmgr unix - - n 1000? 1 tlsmgr
postlog unix-dgram n - n - 1 postlogd
`;

export interface Postfix {
  /** Takes mail by SMTP from this machine, and queues it for the relay. */
  port: number;
  /** Tries to deliver all that is queued, also what it would not try for minutes. */
  flush(): Promise<unknown>;
  /** What it did, for the message of a test that fails. */
  log(): Promise<string>;
  stop(): Promise<void>;
}

/** Starts one with a queue of its own that relays to a port of this machine. */
export async function startPostfix(relayPort: number): Promise<Postfix> {
  const folder = await mkdtemp(join(tmpdir(), 'mayfly-postfix-'));
  const port = await freePort();
  for (const name of ['etc', 'queue', 'data']) await mkdir(join(folder, name));
  const { stdout: owner } = await run('id', ['-u', 'postfix']);
  await letOthersPass(tmpdir());
  await letOthersPass(folder);
  await chown(join(folder, 'data'), Number(owner), 0);
  await writeFile(join(folder, 'etc/main.cf'), mainConfig(folder, relayPort));
  await writeFile(join(folder, 'etc/master.cf'), services(port));
  const postfix = (command: string) => run(program as string, ['-c', join(folder, 'etc'), command]);
  await postfix('start');
  await untilListening(port);
  return {
    port,
    flush: () => postfix('flush'),
    log: () => readFile(join(folder, 'log'), 'utf8'),
    async stop() {
      await postfix('stop');
      await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    },
  };
}
