import { closeSync, existsSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { type Command, CommanderError, Option } from 'commander';
import { createApp } from './app.ts';
import { ArgumentError } from './cli/arguments.ts';
import { addBackupCommands } from './cli/backup.ts';
import { addOperatorCommands, createProgram } from './cli/commands.ts';
import { addDoctorCommand } from './cli/doctor.ts';
import { addMailCommand } from './cli/mail.ts';
import { createDevAnnouncer } from './cli/server/dev-announcer.ts';
import { type Announcer, createServeAnnouncer } from './cli/server/serve-announcer.ts';
import { exitCodeOf, isForegroundScript, watchForStop } from './cli/server/stop-request.ts';
import { endOf, systemClock } from './clock.ts';
import {
  type Config,
  ConfigError,
  databasePath,
  describeConfig,
  isGiven,
  parseConfig,
  readCertificate,
  settingsTable,
  unusedVariables,
} from './config/config.ts';
import { PROGRAMS, settingsLike } from './config/like.ts';
import { DEV_DEFAULTS } from './config/settings.ts';
import { messageOf } from './errors.ts';
import { createLog, type Logger, LogOutput, type WriteLog, writeToFile } from './log.ts';
import { giveBackMemoryLater } from './memory.ts';
import type { Store } from './store.ts';
import { VERSION } from './version.ts';

/** Exit code for wrong arguments or settings, as in shells. */
const EXIT_USAGE = 2;
const EXIT_FAILED = 1;

const print = (text: string): void => void process.stdout.write(`${text}\n`);
const warn = (text: string): void => void process.stderr.write(`${text}\n`);

async function readLine(question: string): Promise<string> {
  const { createInterface } = await import('node:readline/promises');
  const { stdin } = process;
  if (stdin.isTTY) process.stderr.write(question);
  try {
    for await (const line of createInterface({ input: stdin })) return line;
    return '';
  } finally {
    // An open standard input would keep the process running until the other end closes it.
    stdin.destroy();
  }
}

async function openStore({ dataDir, databaseUrl }: Config): Promise<Store> {
  if (databaseUrl !== null) {
    const { openPostgres } = await import('./database/postgres/open.ts');
    return openPostgres({ url: databaseUrl });
  }
  const path = databasePath(dataDir);
  if (!existsSync(path))
    throw new Error(
      `There is no database ${path}. Start the server once, or set MAYFLY_DATA_DIR to the data folder of the server.`,
    );
  const { openSqlite } = await import('./database/sqlite/open.ts');
  return openSqlite({ path, exclusive: false });
}

/** Whether this process has a controlling terminal (termios(3)). */
function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return true;
  } catch {
    return false;
  }
}

/** Avoids Node's stream for regular files: it would block the event loop, and stop at the first error. */
function writeToStandardOutput(): WriteLog {
  const { stdout } = process;
  if (fstatSync(stdout.fd).isFile()) return writeToFile(stdout.fd);
  return (text, done) => void stdout.write(text, done);
}

/** Waits for the output, but exits after a time limit: a pending write would keep the process running. */
async function endOutput(output: LogOutput): Promise<void> {
  let isWritten = false;
  const written = output.flushed().then(() => {
    isWritten = true;
  });
  await endOf(written, 500, systemClock);
  if (!isWritten || process.stdout.writableLength > 0) process.exit();
}

/** The process must end within 10 s of a request to stop, even if a part does not stop. */
const STOP_LIMIT_MS = 9_500;

/** Starts the server and stops it on request. @param parent the parent's process id when this process began */
async function serve(config: Config, parent: number, announcerOf: (log: Logger) => Announcer): Promise<void> {
  // Ignore write errors: a server may outlive its terminal and the reader of its output.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => undefined);
  const output = new LogOutput(writeToStandardOutput());
  const log = createLog(config.logLevel, output);
  const announcer = announcerOf(log);
  for (const text of unusedVariables(process.env)) announcer.warning(text);
  const app = createApp(config, {
    log,
    droppedLogLines: () => output.dropped,
    mayLackMetrics: !isGiven('MAYFLY_METRICS_PORT', process.env),
  });
  // After an uncaught exception the state of the process is unknown, so it ends. Acknowledged mail is stored already.
  process.on('uncaughtException', (err) => {
    log.fatal({ err }, 'An unexpected error ends Mayfly. Please report it');
    void endOutput(output).finally(() => process.exit(EXIT_FAILED));
  });
  const writesToTerminal = process.stdout.isTTY || process.stderr.isTTY;
  const stop = watchForStop({
    onSignal: (signal, listener) => process.on(signal, listener),
    isTerminalGone: () => writesToTerminal && !hasTerminal(),
    isParentGone: isForegroundScript(process.env) ? () => process.ppid !== parent : null,
    clock: systemClock,
    onSecondSignal(signal) {
      announcer.stoppedByForce(signal);
      process.exit(exitCodeOf(signal));
    },
    onReload: () => app.reloadCertificate(() => readCertificate(process.env)),
  });
  const ended = new AbortController();
  void stop.requested.then(async (reason) => {
    announcer.stopping(reason);
    await systemClock.sleep(STOP_LIMIT_MS, ended.signal);
    if (ended.signal.aborted) return;
    announcer.stoppedByForce('time limit');
    process.exit(EXIT_FAILED);
  });
  try {
    announcer.started(await app.start(announcer.firstKey));
    void giveBackMemoryLater();
    await stop.requested;
    const begunAt = systemClock.monotonic();
    await app.stop();
    announcer.stopped(Math.round(systemClock.monotonic() - begunAt));
  } finally {
    ended.abort();
    stop.close();
    await endOutput(output);
  }
}

function addServerCommands(program: Command, parent: number): void {
  program
    .command('dev')
    .description('Start the server for development or a CI job')
    .addOption(
      new Option(
        '--like <program>',
        'Take its place: its ports 1025 and 8025, its HTTP interface without a password, and its variables',
      ).choices(PROGRAMS),
    )
    .action(async ({ like }: { like?: (typeof PROGRAMS)[number] }) => {
      const settings = like && settingsLike(like, process.env);
      // Changes process.env, because a reload of the certificate reads the settings from there.
      Object.assign(process.env, settings?.env);
      if (settings?.warning) warn(settings.warning);
      const config = parseConfig(process.env, settings?.defaults ?? DEV_DEFAULTS);
      await serve(config, parent, () => createDevAnnouncer(config, print, warn, process.stdout.isTTY));
    });
  program
    .command('serve')
    .description('Start the server for production; log as JSON lines')
    .action(async () => {
      const config = parseConfig(process.env);
      await serve(config, parent, (log) => createServeAnnouncer(config, log));
    });
  program
    .command('config')
    .description('Show the settings that "mayfly serve" would use')
    .option('--table', 'Show all settings with their meaning, as a Markdown table')
    .action((options: { table?: true }) =>
      print(options.table ? settingsTable() : describeConfig(parseConfig(process.env))),
    );
  program
    .command('openapi')
    .description('Print the OpenAPI 3.1 document of the API')
    .action(async () => {
      const { OPENAPI_FILE } = await import('./http/routes/reference.ts');
      print(readFileSync(OPENAPI_FILE, 'utf8').trimEnd());
    });
}

/** Runs a command and sets the exit code. @param parent process id of the parent, read before loading modules */
export async function main(parent: number): Promise<void> {
  const program = createProgram(VERSION);
  program.hook('preAction', (_program, command) => {
    // `dev` and `serve` report unused variables themselves.
    if (!['dev', 'serve'].includes(command.name())) unusedVariables(process.env).forEach(warn);
  });
  addServerCommands(program, parent);
  const onStep = (step: string) => (process.stderr.isTTY ? warn(`${step} …`) : undefined);
  const edge = { env: process.env, print, now: Date.now, readLine, onStep, openStore };
  addOperatorCommands(program, edge);
  addMailCommand(program, edge, () => parseConfig(process.env, DEV_DEFAULTS));
  addDoctorCommand(program, edge);
  program
    .command('sendmail')
    .description(
      'Send the mail on standard input, as sendmail(8): -t, -i, -f ADDRESS, -F NAME and recipients',
    )
    .helpOption(false)
    .allowUnknownOption()
    .allowExcessArguments()
    .action(async () => (await import('./cli/sendmail.ts')).main(process, Date.now()));
  addBackupCommands(program, edge);
  try {
    await program.parseAsync(process.argv);
  } catch (error) {
    if (error instanceof CommanderError) {
      process.exitCode = error.exitCode === 0 ? 0 : EXIT_USAGE;
    } else {
      warn(messageOf(error));
      process.exitCode =
        error instanceof ConfigError || error instanceof ArgumentError ? EXIT_USAGE : EXIT_FAILED;
    }
  }
}
