import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline/promises';
import { Command, CommanderError } from 'commander';
import { createApp, databasePath, type RunningApp } from './app.ts';
import { ArgumentError } from './cli/arguments.ts';
import { addBackupCommands } from './cli/backup.ts';
import { addOperatorCommands } from './cli/commands.ts';
import { type Config, ConfigError, describeConfig, parseConfig, settingsTable } from './config/config.ts';
import type { Store } from './store/contract/index.ts';
import { backUp, restore } from './store/sqlite/backup.ts';
import { openSqlite } from './store/sqlite/open.ts';
import { VERSION } from './version.ts';

// The only file that touches `process`: arguments, environment, signals, output, exit code.

/** Exit code of a process that could not start, as shells use it for "bad usage". */
const EXIT_USAGE = 2;
const EXIT_FAILED = 1;

/** The defaults of `mayfly dev` that differ: webhooks to this machine, a quiet terminal, a lenient SMTP server. */
const DEV_DEFAULTS = {
  MAYFLY_WEBHOOK_ALLOW: '127.0.0.0/8,::1/128',
  MAYFLY_LOG_LEVEL: 'warn',
  MAYFLY_SMTP_BARE_LINE_ENDINGS: 'normalise',
  MAYFLY_SMTP_AUTH: 'any',
};

const print = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

/** The first line of standard input; a person is asked for it. */
async function readLine(question: string): Promise<string> {
  const { stdin } = process;
  if (stdin.isTTY) process.stderr.write(question);
  try {
    for await (const line of createInterface({ input: stdin })) return line;
    return '';
  } finally {
    // Else the process would live until whoever writes there ends.
    stdin.destroy();
  }
}

/** The store of the server whose configuration this is, also while that server runs. */
async function openStore({ dataDir }: Config): Promise<Store> {
  const path = databasePath(dataDir);
  if (!existsSync(path)) {
    throw new Error(
      `there is no database ${path}: start the server once, or set MAYFLY_DATA_DIR to the server's folder`,
    );
  }
  return openSqlite({ path, beside: true });
}

async function runUntilSignal(config: Config, greet: (running: RunningApp) => string): Promise<void> {
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.abort());
  const app = createApp(config);
  const running = await app.start((key) => print(firstKey(key)));
  print(greet(running));
  if (!stop.signal.aborted) {
    await new Promise((resolve) => stop.signal.addEventListener('abort', resolve, { once: true }));
  }
  await app.stop();
}

/** Printed as soon as there is one, because the start may fail yet. */
const firstKey = (key: string): string =>
  `Mayfly ${VERSION} starts for the first time.

  API key  ${key}
           Shown this once: only its hash is kept. Another one: npx mayfly key create
`;

function greeting({ http, smtp, firstStart }: RunningApp, config: Config): string {
  const lines = [`Mayfly ${VERSION} is ready.`, ''];
  if (http) lines.push(`  API      ${http.url}   (reference: ${http.url}/docs)`);
  if (smtp) lines.push(`  SMTP     ${smtp.host}:${smtp.port}   (domains: ${config.domains.join(', ')})`);
  lines.push(`  Data     ${config.dataDir}`);
  if (!firstStart.made) {
    const when = new Date(firstStart.account.createdAt).toISOString();
    lines.push(
      `  API key  printed at the first start (${when}) or given as MAYFLY_API_KEY; only its hash is kept.`,
      '           Another one: npx mayfly key create',
    );
  }
  const key = firstStart.made ? firstStart.key : '$MAYFLY_API_KEY';
  if (http) {
    lines.push(
      '',
      firstStart.made ? 'Create an inbox:' : 'Create an inbox, with your key in MAYFLY_API_KEY:',
      '',
      `  curl -X POST ${http.url}/v1/inboxes -H "Authorization: Bearer ${key}"`,
    );
  }
  if (smtp) {
    lines.push('', 'Send it a mail:', '', `  swaks --server ${smtp.host}:${smtp.port} --to ADDRESS`);
  }
  return `${lines.join('\n')}\n`;
}

const program = new Command('mayfly')
  .description('Disposable inboxes for automated tests: a REST API and a real SMTP receiver.')
  .version(VERSION)
  .exitOverride();

program
  .command('dev')
  .description('run everything in one process, for a laptop or a CI job')
  .action(async () => {
    const config = parseConfig(process.env, DEV_DEFAULTS);
    await runUntilSignal(config, (running) => greeting(running, config));
  });

program
  .command('serve')
  .description('run in production; the environment is the configuration')
  .action(async () => {
    const config = parseConfig(process.env);
    await runUntilSignal(config, (running) => greeting(running, config));
  });

program
  .command('config')
  .description('show the configuration in force, or all settings as a table')
  .option('--table', 'a Markdown table of all settings')
  .action((options: { table?: true }) =>
    print(options.table ? settingsTable() : describeConfig(parseConfig(process.env))),
  );

program
  .command('openapi')
  .description('print the OpenAPI 3.1 description of the API')
  .action(async () => {
    const { openapiDocument } = await import('./http/openapi.ts');
    print(JSON.stringify(await openapiDocument(), null, 2));
  });

addOperatorCommands(program, { env: process.env, print, now: Date.now, readLine, openStore });
addBackupCommands(program, {
  env: process.env,
  print,
  now: Date.now,
  backUp: (dataDir, file) => backUp(databasePath(dataDir), file),
  restore: (dataDir, file, suffix) => restore(databasePath(dataDir), file, suffix),
});

try {
  await program.parseAsync(process.argv);
} catch (error) {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode === 0 ? 0 : EXIT_USAGE;
  } else {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode =
      error instanceof ConfigError || error instanceof ArgumentError ? EXIT_USAGE : EXIT_FAILED;
  }
}
