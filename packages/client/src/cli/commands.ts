import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type api,
  type Inbox,
  type LinkMatch,
  Mayfly,
  MayflyError,
  type Message,
  type MessageWait,
  type Milliseconds,
} from '@mayfly/client';
import {
  duration,
  jsonOf,
  labels,
  matchOf,
  minutes,
  patternOf,
  UsageError,
  type Values,
} from './arguments.ts';
import { compareRuns, toJunit, toMarkdown } from './compare-runs.ts';
import { assertPlan, checkPlan } from './plan.ts';
import { withProgress } from './progress.ts';
import { parseRun, readRun } from './saved-run.ts';

/** What a command may use of the process: environment, output, signal. */
export interface Context {
  env: Record<string, string | undefined>;
  /** Prints a result to standard output. */
  out(text: string | Uint8Array): void;
  /** Prints everything else to standard error. */
  note(text: string): void;
  /** Whether standard error is a terminal. */
  isTerminal?: boolean;
  signal: AbortSignal;
}

export interface Command {
  /** Options and arguments of the command, for help; it accepts only the options named here. */
  usage: string;
  /** What the command does and prints, for help. */
  does: string;
  /** Largest number of arguments. */
  words?: number;
  run(context: Context, values: Values, rest: string[]): Promise<void>;
}

/** Options that all waiting commands share; help lists them once. */
export const CONDITIONS = '--subject --from --to --body';
const DEFAULT_TIMEOUT = '30';
const DEFAULT_SILENCE = '2';
/** Pause between two checks whether the server is ready. */
const READY_PAUSE_MS = 200;
/** Time limit for transferring a recording, which may have up to 512 MiB. */
const RECORDING_MS = 600_000;
const MIB = 1024 * 1024;

const client = ({ env }: Context, apiKey = env.MAYFLY_API_KEY) => new Mayfly({ url: env.MAYFLY_URL, apiKey });

/**
 * The inbox of `--inbox` (id or address), or the one that `mf new --export` left in the environment.
 * @param isOwner true if the command needs an API key instead of the read token
 */
async function inboxOf(context: Context, { inbox: wanted }: Values, isOwner = false): Promise<Inbox> {
  const { MAYFLY_API_KEY, INBOX_ID, INBOX_TOKEN } = context.env;
  if (wanted?.includes('@')) {
    const [inbox] = await client(context).inboxes({ address: wanted, limit: 1 });
    if (inbox) return inbox;
    throw new UsageError(`There is no live inbox with the address ${wanted}.`);
  }
  const id = wanted ?? INBOX_ID;
  if (!id) throw new UsageError('Name the inbox with --inbox, or run: eval "$(mf new --export)"');
  const token = wanted || isOwner ? undefined : INBOX_TOKEN;
  const inbox = client(context, MAYFLY_API_KEY || token).inbox(id);
  await inbox.refresh();
  return inbox;
}

/** Calls a waiting method of the inbox with the conditions, timeout and signal of the command. */
async function waitIn<T>(
  context: Context,
  values: Values,
  wait: (inbox: Inbox, options: MessageWait) => Promise<T>,
): Promise<T> {
  const timeout = duration(values.timeout ?? DEFAULT_TIMEOUT);
  const inbox = await inboxOf(context, values);
  const options = { ...matchOf(values), timeout, signal: context.signal };
  return withProgress(context, `Waiting for a mail to ${inbox.address}`, () => wait(inbox, options), timeout);
}

const json = (value: unknown) => `${JSON.stringify(value)}\n`;
const line = ({ receivedAt, from, subject, codes }: api.MessageSummary) =>
  `${receivedAt.slice(11, 19)}  ${JSON.stringify(subject)}  from ${from?.address ?? 'no sender'}${codes[0] ? `  code ${codes[0].value}` : ''}\n`;

/** The message with this id, or the newest message without one. */
async function messageOf(context: Context, values: Values, id: string | undefined): Promise<Message> {
  const inbox = await inboxOf(context, values);
  if (id !== undefined) return inbox.read(id);
  const [newest] = await inbox.messages({ limit: 1 });
  if (newest) return newest.read();
  throw new UsageError(`There is no message in ${inbox.address}. Wait for one: mf wait`);
}

const BY_ID = 'default: the newest';

/** @throws MayflyError `connection_failed` when the server is not ready in time */
async function untilReady(url: string, timeout: Milliseconds, signal: AbortSignal): Promise<void> {
  const end = performance.now() + timeout;
  for (;;) {
    const isReady = await fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) return;
    if (performance.now() > end)
      throw new MayflyError(
        'connection_failed',
        `${url} is not ready. Start it with \`npx mayfly dev\`, or set MAYFLY_URL.`,
      );
    await sleep(READY_PAUSE_MS, undefined, { signal });
  }
}

/** Prints a new inbox: its address or phone number, or shell exports or JSON for scripts. */
function printCreated(context: Context, values: Values, inbox: Inbox): void {
  const { id, address, token } = inbox;
  if (values.json) context.out(json({ ...inbox.data, token }));
  else if (values.env || values.export) {
    const number = values.sms && { INBOX_PHONE_NUMBER: inbox.phoneNumber };
    const variables = Object.entries({ INBOX_ID: id, INBOX_ADDRESS: address, INBOX_TOKEN: token, ...number });
    const prefix = values.export ? 'export ' : '';
    context.out(variables.map(([name, value]) => `${prefix}${name}=${value}\n`).join(''));
  } else {
    context.note(`INBOX_ID=${id} until ${inbox.expiresAt.toISOString()}\n`);
    context.out(`${values.sms ? inbox.phoneNumber : address}\n`);
  }
}

/** The options that `new` and `import` share. */
const optionsOf = ({ ttl, domain, 'local-part': localPart }: Values) => ({
  ...(ttl !== undefined && { ttlMinutes: minutes(ttl) }),
  ...(domain !== undefined && { domain }),
  ...(localPart !== undefined && { localPart }),
});

/** Compares the mails of a test run with a plan, and prints the differences. @throws MayflyError `plan_not_met` */
async function comparePlan(context: Context, wanted: Record<string, string>, file: string): Promise<void> {
  if (Object.keys(wanted).length === 0)
    throw new UsageError('Name the run: mf report --run 4711 --expect plan.json');
  const plan = jsonOf(await readFile(file, 'utf8'), `${file} must be a plan.`);
  assertPlan(plan);
  const work = () => checkPlan(client(context), wanted, plan);
  const { problems, problemCount, mailCount } = await withProgress(context, 'Comparing the mails', work);
  context.out(`Mails: ${mailCount}. Recipients: ${plan.recipients.length}. Differences: ${problemCount}.\n`);
  for (const problem of problems) context.out(`- ${problem}\n`);
  if (problemCount > 0) throw new MayflyError('plan_not_met', `The mails of the run differ from ${file}.`);
}

/** Saves the state of a test run to a file, and prints the differences from a saved run. */
async function keepOrCompare(
  context: Context,
  wanted: Record<string, string>,
  values: Values,
): Promise<void> {
  const { save, compare, junit } = values;
  const before = compare === undefined ? undefined : parseRun(await readFile(compare, 'utf8'), compare);
  const run = await withProgress(context, 'Reading the run', () => readRun(client(context), wanted));
  if (save !== undefined) {
    await writeFile(save, json(run));
    context.note(`Saved ${save}.\n`);
  }
  if (!before) return;
  const changes = compareRuns(before, run);
  const markdown = toMarkdown(changes, before);
  context.out(values.json ? json(changes) : markdown);
  const { GITHUB_STEP_SUMMARY: summary } = context.env;
  if (summary) await appendFile(summary, `${markdown}\n`);
  if (junit !== undefined) await writeFile(junit, toJunit(changes));
}

export const COMMANDS: Record<string, Command> = {
  new: {
    usage: '[--ttl 15] [--label name=value] [--domain D] [--local-part L] [--sms] [--env | --export]',
    does: 'a new inbox; prints its address, with --sms its telephone number',
    async run(context, values) {
      const options = {
        ...optionsOf(values),
        labels: labels(values.label),
        ...(values.sms && { sms: true }),
      };
      printCreated(context, values, await client(context).createInbox(options));
    },
  },
  code: {
    usage: `[--pattern RE] ${CONDITIONS} --timeout`,
    does: 'waits for a mail with a code; prints the code',
    async run(context, values) {
      const pattern = values.pattern !== undefined && { pattern: patternOf(values.pattern) };
      const value = await waitIn(context, values, (inbox, options) =>
        inbox.waitForCode({ ...options, ...pattern }),
      );
      context.out(values.json ? json({ code: value }) : `${value}\n`);
    },
  },
  link: {
    usage: `[--href PART] [--kind verify|reset|sign-in] ${CONDITIONS} --timeout`,
    does: 'waits for a mail with the link; prints its target',
    async run(context, values) {
      const { href, kind } = values as { href?: string; kind?: LinkMatch['kind'] };
      const link = { ...(href !== undefined && { href }), ...(kind !== undefined && { kind }) };
      // Not waitForLink(), whose "text" is that of the link.
      const message = await waitIn(context, values, (inbox, options) =>
        inbox.waitForMessage({ ...options, link }),
      );
      const value = message.link(link);
      context.out(values.json ? json({ href: value }) : `${value}\n`);
    },
  },
  wait: {
    usage: `${CONDITIONS} --timeout`,
    does: 'waits for a mail; prints its id',
    async run(context, values) {
      const message = await waitIn(context, values, (inbox, options) => inbox.waitForMessage(options));
      context.out(values.json ? json(message) : `${message.id}\n`);
    },
  },
  silence: {
    usage: `[--within 2] ${CONDITIONS}`,
    does: 'fails when a mail comes',
    async run(context, values) {
      const within = duration(values.within ?? DEFAULT_SILENCE);
      const inbox = await inboxOf(context, values);
      const silence = { ...matchOf(values), within, signal: context.signal };
      const text = `Watching ${inbox.address} for mail`;
      await withProgress(context, text, () => inbox.expectSilence(silence), within);
    },
  },
  tail: {
    usage: '[--all]',
    does: 'prints mails as they come, of the inbox or of all',
    async run(context, values) {
      const { signal } = context;
      const print = (message: api.MessageSummary) => context.out(values.json ? json(message) : line(message));
      if (values.all) for await (const { message } of client(context).stream({ signal })) print(message);
      else for await (const message of (await inboxOf(context, values)).stream({ signal })) print(message);
    },
  },
  list: {
    usage: '[--all] [--label name=value]',
    does: 'the mails of the inbox, or all inboxes',
    async run(context, values) {
      const print = (item: object, text: string) => context.out(values.json ? json(item) : `${text}\n`);
      if (!values.all) {
        for (const message of await (await inboxOf(context, values)).messages())
          print(message, `${message.id}  ${line(message).trimEnd()}`);
        return;
      }
      for (const inbox of await client(context).inboxes({ labels: labels(values.label) })) {
        const { id, address, messageCount, expiresAt } = inbox.data;
        print(inbox, `${id}  ${address}  ${messageCount} messages  until ${expiresAt}`);
      }
    },
  },
  read: {
    usage: '[ID] [--text | --html | --raw]',
    does: `a mail; ${BY_ID}`,
    words: 1,
    async run(context, values, [id]) {
      const message = await messageOf(context, values, id);
      if (values.json) return context.out(json(message));
      if (values.raw) return context.out(await message.raw());
      const body = values.html ? message.html : (message.text ?? (values.text ? null : message.html));
      if (body === null)
        throw new UsageError(`The message has no ${values.html ? 'HTML' : 'text'}. Try --raw.`);
      context.out(`${body}\n`);
    },
  },
  save: {
    usage: 'FILE [ID]',
    does: `writes the source of a mail into a file; ${BY_ID}`,
    words: 2,
    async run(context, values, [file, id]) {
      if (!file) throw new UsageError('Name the file: mf save out.eml');
      await writeFile(file, await (await messageOf(context, values, id)).raw());
      context.note(`Saved ${file}.\n`);
    },
  },
  reply: {
    usage: 'TEXT [ID]',
    does: `replies to a mail; ${BY_ID}`,
    words: 2,
    async run(context, values, [text, id]) {
      if (!text) throw new UsageError("Write what to reply: mf reply 'It works now'");
      context.out(json(await (await messageOf(context, values, id)).reply(text)));
    },
  },
  timeline: {
    usage: '[ID]',
    does: `when what happened to a mail; ${BY_ID}`,
    words: 1,
    async run(context, values, [id]) {
      const events = await (await messageOf(context, values, id)).timeline();
      if (values.json) return context.out(json(events));
      for (const { at, event, sincePreviousMs, detail } of events) {
        const time = (at?.slice(11, 23) ?? '').padEnd(12);
        const since = sincePreviousMs === null ? '' : `${sincePreviousMs} ms`;
        context.out(`${time}  ${event.padEnd(15)} ${since.padStart(9)}  ${detail}\n`);
      }
    },
  },
  lint: {
    usage: '[ID]',
    does: `what is wrong with a mail; ${BY_ID}`,
    words: 1,
    async run(context, values, [id]) {
      const findings = await (await messageOf(context, values, id)).lint();
      if (values.json) return context.out(json(findings));
      if (findings.length === 0) context.note('Nothing is wrong with the message.\n');
      for (const { severity, rule, where, count, message } of findings) {
        const places = [...(count > 1 ? [`${count} times`] : []), ...(where === null ? [] : [where])].join(
          ': ',
        );
        context.out(`${severity.padEnd(7)}  ${rule}${places && ` (${places})`}: ${message}\n`);
      }
    },
  },
  export: {
    usage: 'FILE',
    does: 'writes a recording of the inbox into a file, a zip archive',
    words: 1,
    async run(context, values, [file]) {
      if (!file) throw new UsageError('Name the file: mf export signup.zip');
      const inbox = await inboxOf(context, values);
      const options = { timeout: RECORDING_MS, signal: context.signal };
      const text = `Receiving the recording of ${inbox.address}`;
      await writeFile(file, await withProgress(context, text, () => inbox.export(options)));
      context.note(`Saved ${file}.\n`);
    },
  },
  import: {
    usage: 'FILE [--ttl 15] [--domain D] [--local-part L] [--env | --export]',
    does: 'a new inbox with the mails of a recording; prints its address',
    words: 1,
    async run(context, values, [file]) {
      if (!file) throw new UsageError('Name the recording: mf import signup.zip');
      const recording = new Uint8Array(await readFile(file));
      const options = { ...optionsOf(values), timeout: RECORDING_MS, signal: context.signal };
      const text = `Importing ${(recording.length / MIB).toFixed(1)} MiB`;
      const imported = () => client(context).importInbox(recording, options);
      printCreated(context, values, await withProgress(context, text, imported));
    },
  },
  open: {
    usage: '',
    does: 'the link of the inbox in the console',
    async run(context, values) {
      context.out(`${(await inboxOf(context, values)).consoleUrl}\n`);
    },
  },
  faults: {
    usage: "['JSON']",
    does: 'sets the fault rules of the inbox, [] for none; prints them',
    words: 1,
    async run(context, values, [rules]) {
      const advice = `Write: mf faults '{"at": "rcpt", "reply": {"code": 451}, "times": 2}'`;
      const wanted = rules === undefined ? undefined : ([jsonOf(rules, advice)].flat() as api.FaultRule[]);
      const inbox = await inboxOf(context, values, true);
      for (const rule of await (wanted ? inbox.setFaults(wanted) : inbox.faults())) context.out(json(rule));
    },
  },
  rm: {
    usage: '[--label name=value]',
    does: 'deletes the inbox, or all with the labels',
    async run(context, values) {
      if (values.label === undefined) return (await inboxOf(context, values, true)).delete();
      const count = await client(context).deleteInboxes(labels(values.label));
      context.note(`Deleted ${count} inbox${count === 1 ? '' : 'es'}.\n`);
    },
  },
  report: {
    usage: '--run R | --label name=value [--expect PLAN | --save FILE --compare FILE --junit FILE]',
    does: 'what was wrong with the mail of a test run',
    async run(context, values) {
      const wanted = labels([
        ...(values.label ?? []),
        ...(values.run === undefined ? [] : [`run=${values.run}`]),
      ]);
      if (values.expect !== undefined) {
        if ((values.save ?? values.compare ?? values.junit) !== undefined)
          throw new UsageError('Call mf report --expect on its own, without --save, --compare and --junit.');
        return comparePlan(context, wanted, values.expect);
      }
      if (values.save !== undefined || values.compare !== undefined)
        return keepOrCompare(context, wanted, values);
      const found = await client(context).report(wanted);
      if (values.json) return context.out(json(found));
      const { inboxes, inboxesWithoutMail, messages, waitsSucceeded, waitsFailed, refusals } = found.totals;
      context.out(
        `Inboxes: ${inboxes}, ${inboxesWithoutMail} without mail. Messages: ${messages}, ${refusals} refused. Waits: ${waitsSucceeded} succeeded, ${waitsFailed} failed.\n`,
      );
      for (const problem of found.problems) context.out(`- ${problem}\n`);
      if (inboxes === 0)
        context.note('No inbox of the last 24 hours has these labels: check the name of the run.\n');
      if (found.hasMore) context.note('More inboxes have these labels than a report shows. Add a --label.\n');
    },
  },
  call: {
    usage: "'METHOD /v1/PATH' [JSON|@FILE]",
    does: 'any operation of the API; prints its JSON',
    words: 2,
    async run(context, _, [operation = '', text]) {
      // Written as in the API reference, or with an id in place of `{id}`.
      if (!/^(GET|POST|PUT|PATCH|DELETE) \/\S+$/.test(operation))
        throw new UsageError(`"${operation}" is not an operation. Write: mf call 'GET /v1/usage'`);
      const { INBOX_ID = '{id}' } = context.env;
      if (operation.includes('{id}') && INBOX_ID === '{id}')
        throw new UsageError('Write the id in place of {id}, or run: eval "$(mf new --export)"');
      const body = text?.startsWith('@')
        ? new Uint8Array(await readFile(text.slice(1)))
        : text && jsonOf(text, 'Write @FILE for the bytes of a file.');
      const { transport } = client(context);
      const { signal } = context;
      const result = await transport.send(operation.replace('{id}', INBOX_ID), { body, signal });
      if (result !== undefined) context.out(result instanceof Uint8Array ? result : json(result));
    },
  },
  'wait-ready': {
    usage: '[--timeout 30]',
    does: 'waits for the server',
    async run(context, values) {
      const timeout = duration(values.timeout ?? DEFAULT_TIMEOUT);
      const { url } = client(context, 'none');
      const text = `Waiting for the server ${url}`;
      await withProgress(context, text, () => untilReady(url, timeout, context.signal), timeout);
    },
  },
};
