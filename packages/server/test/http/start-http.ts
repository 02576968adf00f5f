import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { beforeEach } from 'vitest';
import { createPlans, type PlanSettings } from '../../src/accounts/plans.ts';
import type { KeyScope } from '../../src/accounts/sql.ts';
import { type Config, parseConfig } from '../../src/config/config.ts';
import { createSignInCodes, type SignInCodes } from '../../src/console/sign-in-codes.ts';
import { openPostgres } from '../../src/database/postgres/open.ts';
import { openSqlite } from '../../src/database/sqlite/open.ts';
import { createEventBus, type EventBus } from '../../src/events.ts';
import { RateLimit } from '../../src/http/access/admission.ts';
import type { HttpDeps } from '../../src/http/context.ts';
import { createHttpServer } from '../../src/http/server.ts';
import { hashCredential, newCredential, newId } from '../../src/ids.ts';
import { ByteBudget, IN_FLIGHT_BYTES } from '../../src/inbound/incoming-mail.ts';
import { Receiver } from '../../src/inbound/receiver.ts';
import type { MailContent, MailSummary } from '../../src/mail/mail.ts';
import { Readings } from '../../src/reading/readings.ts';
import { createReplays } from '../../src/recordings/replay.ts';
import type { Store } from '../../src/store.ts';
import { parseCidrs } from '../../src/text/networks.ts';
import { UsageMeter } from '../../src/usage/usage-meter.ts';
import { createWaitLog } from '../../src/waits/wait-log.ts';
import { createNewWebhooks } from '../../src/webhooks/new-webhook.ts';
import { keyOf, mailTo, withFields } from '../store/builders.ts';
import { newDatabase } from '../store/postgres/open-postgres.ts';
import { type ApiClient, apiClient } from '../support/api-client.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { parseBytes } from '../support/parse-bytes.ts';
import { sharedParsing } from '../support/shared-parsing.ts';
import { ON_POSTGRES } from '../support/start-app.ts';
import { ofTest, startedOnce } from '../support/started.ts';
import { type ReadMail, withReadings } from '../support/store-on.ts';

export type { Answer, ApiOptions, Body } from '../support/api-client.ts';

/** What a mail in a test says; the rest is filled in. */
export interface TestMail extends Partial<MailSummary>, Partial<MailContent> {
  raw?: Uint8Array;
  rcptTo?: string[];
}

export type TestInbox = { id: string; address: string; token: string; cursor: string };

/** Settings of the server, and its limits. */
type TestOptions = Partial<Config> & Pick<HttpDeps, 'limits'>;

const SETTINGS = { MAYFLY_DOMAINS: 'mayfly.test,second.test', MAYFLY_CONSOLE: 'off' };

/** The settings of an API server on a free port. */
export const testConfig = (settings: Partial<Config> = {}): Config => ({
  ...parseConfig(SETTINGS),
  httpPort: 0,
  ...settings,
});

/** Enough that the wait for the disk costs little. */
const MAILS_PER_COMMIT = 100;

const utf8 = new TextEncoder();
const RAW = utf8.encode('Received: by mayfly.test\r\nSubject: hello\r\n\r\nhello\r\n');
const envelope = { mailFrom: 'bounce@example.org', helo: 'mx.example.org', remoteAddress: '192.0.2.7' };

function newMail({ id }: { id: string }, accountId: string, mail: TestMail): ReadMail {
  const { raw = RAW, rcptTo = ['Test+tag@mayfly.test'], ...said } = mail;
  const hello = mailTo([{ id, accountId, address: '' }], { raw, subject: 'hello', maxMessages: 100_000 });
  const read = withFields(hello, {
    ...{ from: { address: 'shop@example.org', name: 'Shop' }, preview: 'hello', text: 'hello', codes: [] },
    ...{ attachmentCount: said.attachments?.length ?? 0, ...said },
  });
  const recipients = hello.recipients.map((one) => ({ ...one, rcptTo }));
  return { ...read, recipients, envelope: { ...envelope, tls: false } };
}

interface Accounts {
  accountId: string;
  foreignId: string;
  /** Keys: of the first account, one of it that only reads, and of another account. */
  keys: { own: string; readOnly: string; foreign: string };
}

/** The HTTP side over the real store, on a free port, with time that the test moves. */
export interface TestHttp extends Accounts {
  url: string;
  port: number;
  clock: FakeClock;
  store: Store;
  events: EventBus;
  usage: UsageMeter;
  logged: string[];
  /** What the SMTP side does in the app; a case may put its own there. */
  hooks: { refusalsWritten(): Promise<void> };
  signInCodes: SignInCodes;
  connections(): number;
  /** What the app does twice a second. */
  recheckHeld(): Promise<void>;
  /** By default with the first account's key. */
  api: ApiClient;
  createInbox(body?: object, as?: string): Promise<TestInbox>;
  /** Commits a mail and publishes the event, as the receiver does. @returns the id of the message */
  deliver(inbox: { id: string }, mail?: TestMail, accountId?: string): Promise<string>;
  /** Commits so many mails that say hello, in one transaction for each hundred. */
  deliverMany(inbox: { id: string }, count: number): Promise<void>;
  /** The same as `deliver` for a whole mail as it travels, read by the real parser. */
  deliverRaw(inbox: { id: string }, raw: string, accountId?: string): Promise<string>;
  /**
   * The same server for the next test, with two new accounts: starting a server takes a quarter of a second.
   * @param plan of both, by default the plan that the server was started with
   */
  newAccounts(plan?: string): Promise<TestHttp>;
  stop(graceMs?: number): Promise<void>;
}

/**
 * Starts it.
 * @param plan of the first account
 * @param planSettings plans that differ from the built-in ones, or are added to them
 */
export async function startHttp(
  { limits = {}, ...settings }: TestOptions = {},
  plan = 'unlimited',
  planSettings: PlanSettings = {},
): Promise<TestHttp> {
  const folder = mkdtempSync(join(tmpdir(), 'mayfly-http-'));
  const path = join(folder, 'mayfly.db');
  let readings: Readings | undefined;
  const read = async (sources: readonly number[]) => readings?.ensure(sources);
  const opened = ON_POSTGRES
    ? openPostgres({ url: await newDatabase(), read })
    : openSqlite({ path, read, isDurable: false });
  const store = withReadings(await opened);
  const clock = new FakeClock();
  const events = createEventBus();
  const logged: string[] = [];
  const log = pino({ level: 'trace' }, { write: (line: string) => logged.push(line) });
  const parsing = sharedParsing();
  const reading = new Readings({
    ...{ store, parsing, authenticating: null, events, clock, log, isShared: false },
  });
  readings = reading;

  const keyRecord = (credential: string, owner: string, scope: KeyScope = 'full') => {
    const [prefix, hash] = [credential.slice(0, 8), hashCredential(credential)];
    return keyOf(owner, { name: 'test', scope, createdAt: clock.now(), prefix, hash });
  };
  const createAccounts = async (plan: string, isFirst: boolean): Promise<Accounts> => {
    const createdAt = clock.now();
    const [accountId, foreignId] = [newId('acc', createdAt - 1), newId('acc', createdAt)];
    const keys = { own: newCredential('mfk'), readOnly: newCredential('mfk'), foreign: newCredential('mfk') };
    const first = { id: accountId, name: 'first', plan, createdAt: createdAt - 1 };
    await store.accounts[isFirst ? 'createFirst' : 'create'](first, keyRecord(keys.own, accountId));
    const second = { id: foreignId, name: 'second', plan, createdAt };
    await store.accounts.create(second, keyRecord(keys.foreign, foreignId));
    await store.keys.create(keyRecord(keys.readOnly, accountId, 'read'));
    return { accountId, foreignId, keys };
  };
  const first = await createAccounts(plan, true);

  // Nothing is sent here: there is no worker. Names are those of no real name server.
  const guard = { allow: parseCidrs('127.0.0.1/32'), resolve: async () => ['127.0.0.1'] };
  const plans = createPlans(planSettings);
  const usage = new UsageMeter({ store, clock, log });
  const newWebhooks = createNewWebhooks({ guard, clock, plans });

  const receiver = new Receiver({
    ...{ store, readings: reading, events, clock, plans, sink: false },
    ...{ hostname: 'mx.mayfly.test', domains: ['mayfly.test', 'second.test'] },
    onRefusalsLost: (error) => log.error({ err: error }, 'refusals were not kept'),
  });
  const largest = plans.largestMessageBytes;
  const budget = new ByteBudget({ capacity: IN_FLIGHT_BYTES, largest, clock });

  const signInCodes = createSignInCodes();
  const config = testConfig(settings);
  const hooks: TestHttp['hooks'] = { refusalsWritten: async () => undefined };
  const server = await createHttpServer(config, {
    ...{ store, clock, log, events, plans, limits, parsing, receiver, budget },
    ...{ usage, newWebhooks, signInCodes },
    waitLog: createWaitLog(store.waits, clock, (err) => log.error({ err }, 'ended waits were not kept')),
    rate: new RateLimit(clock),
    refusalsWritten: () => hooks.refusalsWritten(),
    repliedAt: () => null,
    replays: createReplays({ clock, log }),
    metrics: new Registry(),
    hasDevKey: config.devKey !== 'off',
  });
  const { port } = await server.start();
  const url = `http://127.0.0.1:${port}`;

  const commit = async (mail: ReadMail): Promise<string> => {
    const [[placed] = []] = await store.messages.addBatch([mail], clock.now());
    if (!placed || !('messageId' in placed)) throw new Error(`not placed: ${JSON.stringify(placed)}`);
    events.publish(placed);
    return placed.messageId;
  };

  const withAccounts = (accounts: Accounts): TestHttp => {
    const { accountId, keys } = accounts;
    const api = apiClient(url, keys.own);
    return {
      ...{ url, port, clock, store, events, usage, logged, hooks, api, signInCodes, ...accounts },
      newAccounts: async (nextPlan = plan) => withAccounts(await createAccounts(nextPlan, false)),
      async createInbox(body = {}, as = keys.own) {
        const answer = await api('POST', '/v1/inboxes', { body, as });
        if (answer.status !== 201) throw new Error(`no inbox: ${JSON.stringify(answer.body)}`);
        return answer.body;
      },
      connections: () => server.built.listener.connections(),
      recheckHeld: () => server.built.held.recheck(),
      deliver: (inbox, mail = {}, owner = accountId) => commit(newMail(inbox, owner, mail)),
      async deliverMany(inbox, count) {
        for (let left = count; left > 0; left -= MAILS_PER_COMMIT) {
          const length = Math.min(left, MAILS_PER_COMMIT);
          const mails = Array.from({ length }, () => newMail(inbox, accountId, {}));
          await store.messages.addBatch(mails, clock.now());
        }
      },
      async deliverRaw(inbox, text, owner = accountId) {
        const raw = utf8.encode(text);
        const parsed = await parseBytes(parsing, raw);
        const reading = { ...parsed, authentication: null, trail: '' };
        return commit({ ...newMail(inbox, owner, {}), reading, raw });
      },
      async stop(graceMs = 5_000) {
        await server.stop(graceMs);
        await store.close();
        rmSync(folder, { recursive: true, force: true });
      },
    };
  };
  return withAccounts(first);
}

/** The server for the tests of a file or a `describe`; its fields are there when these run. */
export const useHttp = (...options: Parameters<typeof startHttp>): TestHttp =>
  startedOnce(() => startHttp(...options));

/** The same, with accounts of its own for each test. */
export function useAccounts(...options: Parameters<typeof startHttp>): TestHttp {
  const server = useHttp(...options);
  const http = {} as TestHttp;
  beforeEach(async () => void Object.assign(http, await server.newAccounts()));
  return http;
}

/** A server that stops with the test. */
export const httpOfTest = (...options: Parameters<typeof startHttp>): Promise<TestHttp> =>
  ofTest(startHttp(...options));
