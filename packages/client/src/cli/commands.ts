import { readFile, writeFile } from 'node:fs/promises';
import { type api, type Inbox, type LinkMatch, type Match, Mayfly, type Message } from '@mayfly/client';
import { now, sleep } from '../time.ts';
import { duration, labels, minutes, pattern, UsageError, type Values } from './arguments.ts';

/** What a command may use of the process. */
export interface Context {
  env: Record<string, string | undefined>;
  /** The value, and nothing else. */
  out(text: string | Uint8Array): void;
  /** Everything else. */
  note(text: string): void;
  signal: AbortSignal;
}

type Command = (context: Context, values: Values, rest: string[]) => Promise<void>;

const DEFAULT_TIMEOUT = '30s';
const DEFAULT_SILENCE = '2s';
/** Between two questions whether the server is ready. */
const READY_PAUSE_MS = 200;

/** Of an inbox alone its token is enough. */
const client = ({ env }: Context) =>
  new Mayfly({ url: env.MAYFLY_URL, apiKey: env.MAYFLY_API_KEY ?? env.INBOX_TOKEN });

/** The inbox of `--inbox` (id or address), or the one that `mf new --export` left in the environment. */
async function inboxOf(context: Context, { inbox: wanted }: Values): Promise<Inbox> {
  const mayfly = client(context);
  if (wanted?.includes('@')) {
    for await (const inbox of mayfly.inboxes.list({ address: wanted })) return inbox;
    throw new UsageError(`There is no live inbox with the address ${wanted}.`);
  }
  const id = wanted ?? context.env.INBOX_ID;
  if (!id) throw new UsageError('Name the inbox with --inbox, or run: eval "$(mf new --export)"');
  const token = context.env.MAYFLY_API_KEY ? undefined : context.env.INBOX_TOKEN;
  const inbox = mayfly.inbox(id, wanted ? undefined : token);
  await inbox.refresh();
  return inbox;
}

const matchOf = ({ subject, from, to, body }: Values): Match => ({
  ...(subject !== undefined && { subject }),
  ...(from !== undefined && { from }),
  ...(to !== undefined && { to }),
  ...(body !== undefined && { text: body }),
});

const waitOptions = (context: Context, { timeout = DEFAULT_TIMEOUT }: Values) => ({
  timeoutMs: duration(timeout),
  signal: context.signal,
});

const json = (value: unknown) => `${JSON.stringify(value)}\n`;
const line = ({ receivedAt, from, subject, codes }: api.MessageSummary) =>
  `${receivedAt.slice(11, 19)}  ${JSON.stringify(subject)}  from ${from?.address ?? 'no sender'}${codes[0] ? `  code ${codes[0].value}` : ''}\n`;

const create: Command = async (context, values) => {
  const { ttl, domain, 'local-part': localPart } = values;
  const inbox = await client(context).inboxes.create({
    ...(ttl !== undefined && { ttlMinutes: minutes(ttl) }),
    ...(domain !== undefined && { domain }),
    ...(localPart !== undefined && { localPart }),
    labels: labels(values.label),
  });
  const { id, address, token } = inbox;
  if (values.json) return context.out(json(inbox.data));
  if (!values.env && !values.export) {
    context.note(`INBOX_ID=${id} until ${inbox.expiresAt.toISOString()}\n`);
    return context.out(`${address}\n`);
  }
  const prefix = values.export ? 'export ' : '';
  context.out(`${prefix}INBOX_ID=${id}\n${prefix}INBOX_ADDRESS=${address}\n${prefix}INBOX_TOKEN=${token}\n`);
};

const code: Command = async (context, values) => {
  const inbox = await inboxOf(context, values);
  const match = {
    ...matchOf(values),
    ...(values.pattern !== undefined && { pattern: pattern(values.pattern) }),
  };
  const value = await inbox.waitForCode(match, waitOptions(context, values));
  context.out(values.json ? json({ code: value }) : `${value}\n`);
};

const link: Command = async (context, values) => {
  const inbox = await inboxOf(context, values);
  const { href, kind } = values;
  const wanted = {
    ...(href !== undefined && { href }),
    ...(kind !== undefined && { kind: kind as LinkMatch['kind'] }),
  } as LinkMatch;
  // Not waitForLink(), whose "text" is that of the link.
  const message = await inbox.waitForMessage(
    { ...matchOf(values), link: wanted },
    waitOptions(context, values),
  );
  const value = message.link(wanted);
  context.out(values.json ? json({ href: value }) : `${value}\n`);
};

const wait: Command = async (context, values) => {
  const inbox = await inboxOf(context, values);
  const message = await inbox.waitForMessage(matchOf(values), waitOptions(context, values));
  context.out(values.json ? json(message) : `${message.id}\n`);
};

const silence: Command = async (context, values) => {
  const inbox = await inboxOf(context, values);
  await inbox.expectSilence(matchOf(values), {
    forMs: duration(values.for ?? DEFAULT_SILENCE),
    signal: context.signal,
  });
};

const tail: Command = async (context, values) => {
  const { signal } = context;
  const print = (message: api.MessageSummary) => context.out(values.json ? json(message) : line(message));
  if (values.all) {
    for await (const { message } of client(context).events({ signal })) print(message);
  } else {
    const inbox = await inboxOf(context, values);
    for await (const message of inbox.messages({ follow: true, signal })) print(message);
  }
};

const list: Command = async (context, values) => {
  if (values.all) {
    for await (const { data } of client(context).inboxes.list({ labels: labels(values.label) })) {
      context.out(
        values.json
          ? json(data)
          : `${data.id}  ${data.address}  ${data.messageCount} messages  until ${data.expiresAt}\n`,
      );
    }
    return;
  }
  const inbox = await inboxOf(context, values);
  for (const message of await inbox.list())
    context.out(values.json ? json(message) : `${message.id}  ${line(message)}`);
};

async function messageOf(inbox: Inbox, id: string | undefined): Promise<Message> {
  const newest = id ?? (await inbox.list())[0]?.id;
  if (newest === undefined)
    throw new UsageError(`There is no message in ${inbox.address}. Wait for one: mf wait`);
  return inbox.read(newest);
}

const read: Command = async (context, values, [id]) => {
  const inbox = await inboxOf(context, values);
  const message = await messageOf(inbox, id);
  if (values.json) return context.out(json(message));
  if (values.raw) return context.out(await inbox.raw(message.id));
  const body = values.html ? message.html : (message.text ?? (values.text ? null : message.html));
  if (body === null) throw new UsageError(`The message has no ${values.html ? 'HTML' : 'text'}. Try --raw.`);
  context.out(`${body}\n`);
};

const save: Command = async (context, values, [file, id]) => {
  if (!file) throw new UsageError('Name the file: mf save out.eml');
  const inbox = await inboxOf(context, values);
  await writeFile(file, await inbox.raw((await messageOf(inbox, id)).id));
  context.note(`Saved ${file}.\n`);
};

const timeline: Command = async (context, values, [id]) => {
  const inbox = await inboxOf(context, values);
  const events = await inbox.timeline((await messageOf(inbox, id)).id);
  if (values.json) return context.out(json(events));
  for (const { at, event, sincePreviousMs, detail } of events) {
    const since = sincePreviousMs === null ? '' : `${sincePreviousMs} ms`;
    context.out(
      `${at?.slice(11, 23) ?? ''.padEnd(12)}  ${event.padEnd(15)} ${since.padStart(9)}  ${detail}\n`,
    );
  }
};

const lint: Command = async (context, values, [id]) => {
  const inbox = await inboxOf(context, values);
  const findings = await inbox.lint((await messageOf(inbox, id)).id);
  if (values.json) return context.out(json(findings));
  if (findings.length === 0) context.note('Nothing is wrong with the message.\n');
  for (const { severity, rule, where, count, message } of findings) {
    const places = [...(count > 1 ? [`${count} times`] : []), ...(where === null ? [] : [where])].join(': ');
    context.out(`${severity.padEnd(7)}  ${rule}${places && ` (${places})`}: ${message}\n`);
  }
};

const open: Command = async (context, values) => {
  context.out(`${(await inboxOf(context, values)).consoleUrl}\n`);
};

const faults: Command = async (context, values, [rules]) => {
  const inbox = await inboxOf(context, values);
  const shown = rules === undefined ? await inbox.faults() : await inbox.setFaults(rulesOf(rules));
  for (const rule of shown) context.out(json(rule));
};

function rulesOf(text: string): api.FaultRule[] {
  try {
    return [JSON.parse(text)].flat();
  } catch {
    throw new UsageError(
      `The rules are not JSON: ${text}. Write: mf faults '{"at": "rcpt", "reply": {"code": 451}, "times": 2}'`,
    );
  }
}

const remove: Command = async (context, values) => {
  if (values.label === undefined) return (await inboxOf(context, values)).delete();
  const count = await client(context).inboxes.deleteByLabels(labels(values.label));
  context.note(`Deleted ${count} inbox${count === 1 ? '' : 'es'}.\n`);
};

/** `GET /v1/usage`, as the reference of the API writes it, or with the id of an inbox in place of `{id}`. */
const OPERATION = /^(GET|POST|PUT|PATCH|DELETE) (\/\S+)$/;

const call: Command = async (context, _, [operation = '', text]) => {
  if (!OPERATION.test(operation))
    throw new UsageError(`"${operation}" is not an operation. Write: mf call 'GET /v1/usage'`);
  const { MAYFLY_API_KEY, INBOX_ID = '{id}' } = context.env;
  if (operation.includes('{id}') && INBOX_ID === '{id}')
    throw new UsageError('Write the id in place of {id}, or run: eval "$(mf new --export)"');
  const { signal } = context;
  const body = text?.startsWith('@') ? new Uint8Array(await readFile(text.slice(1))) : text && jsonOf(text);
  const { transport } = new Mayfly({ url: context.env.MAYFLY_URL, apiKey: MAYFLY_API_KEY });
  const result = await transport.send(operation.replace('{id}', INBOX_ID), { body, signal });
  if (result !== undefined) context.out(result instanceof Uint8Array ? result : json(result));
};

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new UsageError(`The body is not JSON: ${text}. Write @FILE for the bytes of a file.`);
  }
}

const report: Command = async (context, values) => {
  const found = await client(context).report(labels(values.label));
  if (values.json) return context.out(json(found));
  const { inboxes, inboxesWithoutMail, messages, waitsSucceeded, waitsFailed, refusals } = found.totals;
  context.out(
    `Inboxes: ${inboxes}, ${inboxesWithoutMail} without mail. Messages: ${messages}, ${refusals} refused. Waits: ${waitsSucceeded} succeeded, ${waitsFailed} failed.\n`,
  );
  for (const problem of found.problems) context.out(`- ${problem}\n`);
  if (found.hasMore) context.note('More inboxes have these labels than a report shows. Add a --label.\n');
};

const waitReady: Command = async (context, values) => {
  const end = now() + duration(values.timeout ?? DEFAULT_TIMEOUT);
  const { url } = new Mayfly({ url: context.env.MAYFLY_URL, apiKey: 'none' });
  for (;;) {
    const isReady = await fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) return;
    if (now() > end)
      throw new UsageError(`${url} is not ready. Start it with \`npx mayfly dev\`, or set MAYFLY_URL.`);
    await sleep(READY_PAUSE_MS, context.signal);
  }
};

export const COMMANDS: Record<string, Command> = {
  new: create,
  code,
  link,
  wait,
  silence,
  tail,
  list,
  read,
  save,
  open,
  faults,
  lint,
  timeline,
  rm: remove,
  report,
  call,
  'wait-ready': waitReady,
};
