/* TEST_SEED=… repeats the choices of a run, but not its timing. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newKey } from '../../../src/accounts/keys.ts';
import { openPostgres } from '../../../src/database/postgres/open.ts';
import { newId } from '../../../src/ids.ts';
import type { Store } from '../../../src/store.ts';
import {
  everyOperation,
  type Operation,
  type Place,
  type Row,
  sendOptions,
} from '../../http/openapi/operations.ts';
import { brokenInvariants } from '../../store/invariants.ts';
import { apiClient } from '../../support/api-client.ts';
import { chance } from '../../support/chance.ts';
import { inForm, timeLimit } from '../../support/form.ts';
import { sendMail } from '../../support/mail/smtp-mail.ts';
import { type HttpReceiver, startHttp } from '../../webhooks/receivers.ts';
import { POSTGRES, useSite } from './nodes.ts';

const NODES = 2;
const CLIENTS = 8;
const SENDERS = 4;
const ACCOUNTS = 4;
const MS = inForm(3_000, 60_000);
const LIMIT = { timeout: timeLimit(300_000) };
/** Number of inboxes that are used, the newest ones. */
const KEPT = 20;
/** Operations without an end or a credential, and the one that makes nodes reply 451. */
const LEFT_OUT = ['streamInboxEvents', 'streamAccountEvents', 'createAccount', 'setFaults'];
/** Responses that are cut off when a message is deleted meanwhile. */
const MAY_BE_CUT = ['getRawMessage', 'exportInbox'];

/** An inbox, the key of its account, and ids of its messages, webhooks and deliveries. */
type Known = Place & { key: string };

const operations = new Map(everyOperation().operations.map((operation) => [operation.id, operation]));
const random = chance();

describe.skipIf(!POSTGRES)(`${NODES} nodes on a healthy database (seed ${random.seed})`, LIMIT, () => {
  const site = useSite(0, { env: { MAYFLY_WEBHOOK_ALLOW: '127.0.0.0/8' } });
  let hooks: HttpReceiver;
  let operator: Store;
  let keys: { accountId: string; key: string }[] = [];
  let places: Known[] = [];
  /** Number of responses and replies that no client may get. */
  const wrong = new Map<string, number>();
  const statuses = new Map<string, number>();
  let isDelayed = false;

  const pick = <X>(all: readonly X[]): X => all[random.between(0, all.length - 1)] as X;
  const oneIn = (n: number) => random.between(1, n) === 1;
  const count = (counts: Map<string, number>, key: string) => counts.set(key, (counts.get(key) ?? 0) + 1);

  beforeAll(async () => {
    hooks = await startHttp((response) => {
      hooks.requests.length = 0;
      response.end();
    });
    const delay = () => (isDelayed && oneIn(6) ? random.between(1, 20) : 0);
    const proxy = await site().startProxy(undefined, delay);
    for (let n = 0; n < NODES; n++) await site().startNodeThrough(proxy);
    operator = await openPostgres({ url: site().url });
    for (let n = 0; n < ACCOUNTS; n++) await addAccount();
  });
  afterAll(async () => {
    await operator?.close();
    await hooks?.close();
  });

  async function addAccount(): Promise<void> {
    const now = Date.now();
    const account = { id: newId('acc', now), name: 'a', plan: 'unlimited', createdAt: now };
    const wanted = { accountId: account.id, name: 'k', scope: 'full', expiresAt: null } as const;
    const { record, key } = newKey(wanted, now);
    await operator.accounts.create(account, record);
    keys = [...keys, { accountId: account.id, key }];
  }

  /** Deletes the oldest account, and adds another one. */
  async function replaceAccount(): Promise<void> {
    await addAccount();
    const [oldest, ...others] = keys;
    keys = others;
    await operator.accounts.delete(oldest?.accountId ?? '', Date.now());
  }

  /** Calls an operation on any node. @returns the body of a response that is no error */
  async function call(id: string, place: Known, row?: Row) {
    const { method, row: rowOf } = operations.get(id) as Operation;
    const sent = row ?? rowOf(place);
    const api = apiClient(pick(site().nodes).url, place.key);
    const request = api(method, sent.path, sendOptions(sent));
    const { status, body } = await request.catch((error: Error) => {
      if (!MAY_BE_CUT.includes(id)) count(wrong, `${id}: ${error.message}`);
      return { status: 0, body: undefined };
    });
    count(statuses, String(status));
    // 400 would be an error of this test.
    if (status >= 500 || status === 400) count(wrong, `${id}: ${status} ${JSON.stringify(body)}`);
    return status < 300 ? body : undefined;
  }

  async function callAny(): Promise<void> {
    const place = pick(places);
    const id = pick([...operations.keys()].filter((one) => !LEFT_OUT.includes(one)));
    const body = await call(id, place);
    if (id === 'listMessages') place.messageId = body?.messages[0]?.id ?? place.messageId;
    if (id === 'listWebhookDeliveries') place.deliveryId = body?.deliveries[0]?.id ?? place.deliveryId;
  }

  /** Creates an inbox with a webhook; some have one of a few addresses, which conflict. */
  async function create(): Promise<void> {
    const { key } = pick(keys);
    const unknown = { messageId: 'msg_0', attachmentId: 'att_1', keyId: 'key_0', waitId: 'wait_0' };
    const place = { ...unknown, webhookId: 'whk_0', deliveryId: 'dlv_0', key } as Known;
    const url = `http://127.0.0.1:${hooks.port}/`;
    const body = {
      ttlMinutes: random.between(1, 60),
      labels: { run: String(random.between(1, 3)) },
      ...(oneIn(3) && { webhookUrl: url }),
      ...(oneIn(3) && { localPart: `name-${random.between(1, 20)}` }),
    };
    place.inbox = await call('createInbox', place, { path: '/v1/inboxes', body });
    if (!place.inbox) return;
    const hook = { url, ...(oneIn(2) && { inboxId: place.inbox.id }) };
    const webhook = await call('createWebhook', place, { path: '/v1/webhooks', body: hook });
    place.webhookId = webhook?.id ?? place.webhookId;
    places = [...places, place].slice(-KEPT);
  }

  /** Held requests, and requests other than those of the table of operations. */
  const FURTHER: ((place: Known) => Promise<unknown>)[] = [
    (place) => call('listMessages', place, { path: `/v1/inboxes/${place.inbox.id}/messages?wait=1` }),
    (place) => {
      const body = { timeoutSeconds: 1, match: { subject: 'nothing like that' } };
      return call('waitForMessages', place, { path: `/v1/inboxes/${place.inbox.id}/wait`, body });
    },
    (place) => {
      const body = { rules: [{ at: 'rcpt', reply: { code: 550, text: 'No' }, times: 1 }] };
      return call('setFaults', place, { path: `/v1/inboxes/${place.inbox.id}/faults`, body });
    },
    (place) => call('listAccountMessages', place, { path: '/v1/messages?q=hello' }),
    (place) => call('deleteInboxes', place, { path: '/v1/inboxes?label.run=3' }),
    (place) => {
      const body = { enabled: oneIn(2) };
      return call('updateWebhook', place, { path: `/v1/webhooks/${place.webhookId}`, body });
    },
    replaceAccount,
  ];

  /** Sends a mail to inboxes, of which some may have ended. */
  async function send(): Promise<void> {
    const to = [pick(places), pick(places), pick(places)].map(({ inbox }) => inbox.address);
    const { replies, end } = await sendMail(pick(site().nodes).smtpPort, to);
    for (const reply of [...replies, ...(end === null ? [] : [end])]) {
      count(statuses, `SMTP ${reply.slice(0, 3)}`);
      // 452: a full inbox.
      if (!/^(2|5|452)/.test(reply)) count(wrong, `SMTP: ${reply}`);
    }
  }

  it(`answer no request with 500 or 503 and no sender with 451 in ${MS / 1_000} s of all kinds of calls`, async (context) => {
    for (let n = 0; n < KEPT; n++) await create();
    isDelayed = true;
    const until = performance.now() + MS;
    const loop = async (work: () => Promise<unknown>) => {
      while (performance.now() < until) await work();
    };
    const anything = () => pick([callAny, callAny, callAny, create, () => pick(FURTHER)(pick(places))])();
    await Promise.all([
      ...Array.from({ length: CLIENTS }, () => loop(anything)),
      ...Array.from({ length: SENDERS }, () => loop(send)),
    ]);
    isDelayed = false;
    await context.annotate([...statuses].map(([status, times]) => `${times} × ${status}`).join(', '));
    expect([...wrong]).toEqual([]);
    // Stops background work, such as deliveries.
    await Promise.all(site().nodes.map((node) => node.end('SIGTERM')));
    expect(await brokenInvariants(site().select, Date.now(), false)).toEqual([]);
  });
});
