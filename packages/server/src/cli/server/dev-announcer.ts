import type { RunningApp } from '../../app.ts';
import { systemClock } from '../../clock.ts';
import { type Config, hasDevKey } from '../../config/config.ts';
import { messageOf } from '../../errors.ts';
import { VERSION } from '../../version.ts';
import type { Announcer } from './serve-announcer.ts';

const LOOPBACK = /^(127\.|::1$|localhost$)/;

const firstKeyText = (key: string): string =>
  `Mayfly ${VERSION} starts for the first time.

  API key  ${key}
           It is shown only now, because only its hash is stored. To create another: npx mayfly key create
`;

/** Does not print a key from MAYFLY_API_KEY: the operator knows it, and logs often keep the output. */
function printedKey({ firstStart }: RunningApp, config: Config): string | null {
  if (hasDevKey(config)) return 'dev';
  return config.apiKey === null ? firstStart.key : null;
}

function keyLines({ firstStart }: RunningApp, config: Config): string[] {
  if (hasDevKey(config))
    return ['  API key  dev, for programs of this machine; clients use it by themselves'];
  if (config.apiKey !== null) return ['  API key  the value of MAYFLY_API_KEY'];
  if (firstStart.key !== null) return [];
  const when = new Date(firstStart.account.createdAt).toISOString();
  return [
    `  API key  printed at the first start (${when}); only its hash is stored.`,
    '           To create another: npx mayfly key create',
  ];
}

/** Logs may keep this link. So it has a sign-in code only if other machines cannot use it or need no code. */
function consoleLink(consoleUrl: string, running: RunningApp, config: Config): string {
  const isOwn = LOOPBACK.test(config.httpHost) || config.devKey === 'open';
  if (!isOwn || config.publicUrl !== null) return consoleUrl;
  return `${consoleUrl.replace('//0.0.0.0:', '//localhost:')}console/open#${running.makeSignInCode()}   (signs in; expires 60 s after its first use)`;
}

function overview(running: RunningApp, config: Config): string[] {
  const { http, smtp, pop3, metrics } = running;
  const lines: string[] = [];
  if (http) lines.push(`  API      ${http.url}   (reference: ${http.url}/docs)`);
  if (http?.consoleUrl) lines.push(`  Console  ${consoleLink(http.consoleUrl, running, config)}`);
  if (smtp) lines.push(`  SMTP     ${smtp.host}:${smtp.port}   (domains: ${config.domains.join(', ')})`);
  if (pop3) lines.push(`  POP3     ${pop3.host}:${pop3.port}`);
  if (metrics) lines.push(`  Metrics  ${metrics.url}`);
  else if (config.metricsPort !== null)
    lines.push(
      `  Metrics  off: port ${config.metricsPort} is in use. MAYFLY_METRICS_PORT selects another one.`,
    );
  if (smtp && config.sink === 'on')
    lines.push('  Sink     takes all mail that no inbox takes; list it with GET /v1/messages');
  const data = config.databaseUrl === null ? config.dataDir : 'in PostgreSQL, by MAYFLY_DATABASE_URL';
  return [...lines, `  Data     ${data}`, ...keyLines(running, config)];
}

function commands(running: RunningApp, config: Config): string[] {
  const { http, smtp } = running;
  const lines: string[] = [];
  if (http) {
    const key = printedKey(running, config);
    const title = key === null ? 'Create an inbox, with your API key in MAYFLY_API_KEY:' : 'Create an inbox:';
    const credential = `Authorization: Bearer ${key ?? '$MAYFLY_API_KEY'}`;
    lines.push(title, '', `  curl -X POST ${http.url}/v1/inboxes -H "${credential}"`, '');
  }
  if (smtp) {
    const server = `${smtp.host}:${smtp.port}`;
    const option = server === '127.0.0.1:2525' ? '' : ` --server ${server}`;
    const title = 'Send a message to its address, from another terminal in this folder:';
    lines.push(title, '', `  npx mayfly mail ADDRESS${option}`, '');
  }
  return lines;
}

/** Lines of the imitated server's output, by which other programs detect that it is ready. */
function readyLines({ http }: RunningApp, { devKey, dialect }: Config): string[] {
  if (devKey !== 'open' || !http) return [];
  if (dialect !== 'mailhog') return [`[http] accessible via ${http.url}/`, ''];
  return ['Creating API v2 with WebPath: ', `Serving under ${http.url}/`, ''];
}

const startedText = (running: RunningApp, config: Config): string =>
  [
    `Mayfly ${VERSION} is ready. Press Ctrl+C to stop it.`,
    '',
    ...overview(running, config),
    '',
    ...commands(running, config),
    ...readyLines(running, config),
  ].join('\n');

/** Prints a line for each mail of the first account, if its key is known. @returns a function to stop it */
function showMails(running: RunningApp, config: Config, print: Print, warn: Print): () => void {
  const { http } = running;
  const key = printedKey(running, config) ?? config.apiKey;
  const ended = new AbortController();
  if (http && key !== null)
    Promise.all([import('@mayfly/client'), import('./mail-lines.ts')])
      .then(([{ Mayfly }, { printMails }]) => {
        const mayfly = new Mayfly({ url: http.url, apiKey: key });
        return printMails({ mayfly, clock: systemClock, signal: ended.signal, print });
      })
      .catch((error) => warn(`Mails are no longer listed here: ${messageOf(error)}`));
  return () => ended.abort();
}

type Print = (text: string) => void;

export function createDevAnnouncer(config: Config, print: Print, warn: Print, isTerminal = false): Announcer {
  let endMails = () => {};
  return {
    warning: warn,
    firstKey: (key) => {
      // With a development key, the generated key is not needed. "mayfly key create" creates others.
      if (!hasDevKey(config)) print(firstKeyText(key));
    },
    started(running) {
      print(startedText(running, config));
      if (isTerminal) endMails = showMails(running, config, print, warn);
    },
    stopping(reason) {
      endMails();
      print(`Mayfly is stopping (${reason}). A second Ctrl+C ends it at once.`);
    },
    stopped: (ms) => print(`Mayfly has stopped after ${ms} ms.`),
    stoppedByForce: (reason) =>
      print(`Mayfly ends at once (${reason}). Messages that were acknowledged are stored.`),
  };
}
