import { Registry } from 'prom-client';
import { beforeAll, describe, expect, it } from 'vitest';
import type { HttpDeps } from '../../../src/http/context.ts';
import { buildApp } from '../../../src/http/server.ts';
import { type IdPrefix, newCredential, newId } from '../../../src/ids.ts';
import { everyOperation, newPlace, type Operation, type Place, sendOptions } from '../openapi/operations.ts';
import { type Answer, type ApiOptions, type Body, testConfig, useHttp } from '../start-http.ts';

/** Who may do it. `account`: its keys. `inbox`: its account's keys, and to read also its own token. */
type Decision = 'anyone' | 'account reads' | 'account writes' | 'inbox reads' | 'inbox writes';

/** What was decided for every operation. A new one fails until it stands here. */
const DECIDED: Record<Decision, string> = {
  anyone: 'createAccount',
  'account reads': `
    listInboxes getFaults getOutcomes getProvider getRunReport listLabels listAccountMessages
    listRefusals streamAccountEvents listWebhooks getWebhook listWebhookDeliveries listKeys getUsage
    listDomains`,
  'account writes': `
    createInbox deleteInboxes setProvider deleteProvider importInbox generateAddress createWebhook
    updateWebhook deleteWebhook rotateWebhookSecret testWebhook replayWebhookDelivery
    replayWebhookDeliveries createKey deleteKey`,
  'inbox reads': `
    getInbox listSent listThreads exportInbox listMessages getMessage getRawMessage getAttachment
    previewMessage lintMessage getTimeline waitForMessages getWait streamInboxEvents`,
  'inbox writes': `
    updateInbox deleteInbox expireInbox setFaults deleteFaults setOutcomes deleteOutcomes advanceInbox
    replyToMessage injectMessage markMessage deleteMessage deleteMessages`,
};
const decided = Object.entries(DECIDED).flatMap(([decision, ids]) =>
  (ids.match(/\w+/g) ?? []).map((id): [string, Decision] => [id, decision as Decision]),
);
const DECISIONS = Object.fromEntries(decided);

/** Paths without a credential that are not in the document. They show nothing of an account. */
const OPEN = [
  ...['/', '/healthz', '/readyz', '/metrics', '/openapi.json', '/llms.txt', '/docs'],
  ...['/preview/{capability}', '/preview/{capability}/{attachmentId}'],
];

type Outcome = 'success' | '401 unauthorized' | '403 insufficient_scope' | '404 not_found';
const REFUSED: Outcome = '401 unauthorized';

/** RFC 6750 section 3. */
const CHALLENGES: Record<number, string> = { 401: 'Bearer', 403: 'Bearer error="insufficient_scope"' };

const byToken = (decision: Decision, isOwn: boolean): Outcome => {
  if (decision !== 'inbox reads') return '403 insufficient_scope';
  return isOwn ? 'success' : '404 not_found';
};

/** The response for each kind of credential. `names`: the request contains the id of something of the account. */
const OUTCOMES: Record<string, (decision: Decision, names: boolean) => Outcome> = {
  none: () => REFUSED,
  malformed: () => REFUSED,
  'in the query': () => REFUSED,
  unknown: () => REFUSED,
  'revoked key': () => REFUSED,
  'expired key': () => REFUSED,
  "deleted inbox's token": () => REFUSED,
  "another account's key": (_decision, names) => (names ? '404 not_found' : 'success'),
  "another account's inbox's token": (decision) => byToken(decision, false),
  "another inbox's token": (decision) => byToken(decision, false),
  "expired inbox's token": (decision) => byToken(decision, false),
  'read-only key': (decision) => (decision.endsWith('reads') ? 'success' : '403 insufficient_scope'),
  "the inbox's own token": (decision) => byToken(decision, true),
  'right key': () => 'success',
};

const options = { signupPlan: 'free', metrics: 'on' } as const;
const http = useHttp(options);
let own: Place;
/** Another inbox of the account, and one of another account; each with the same things in it. */
let neighbour: Place;
let foreign: Place;
/** Authorization headers by kind of credential. */
let headers: Record<string, (string | undefined)[]>;

const { document, operations } = everyOperation();
const guarded = operations.filter(({ id }) => DECISIONS[id] !== 'anyone');

beforeAll(async () => {
  headers = await credentials();
  own = await newPlace(http);
  neighbour = await newPlace(http);
  foreign = await newPlace(http, {}, http.keys.foreign);
  headers["the inbox's own token"] = [`Bearer ${own.inbox.token}`];
  headers["another inbox's token"] = [`Bearer ${neighbour.inbox.token}`];
  headers["another account's inbox's token"] = [`Bearer ${foreign.inbox.token}`];
});

/** Credentials of each kind; those that are dead have worked before. */
async function credentials(): Promise<Record<string, (string | undefined)[]>> {
  const { api, keys } = http;
  const newKey = async (body: object): Promise<Body> =>
    (await api('POST', '/v1/keys', { body: { name: 'k', scope: 'full', ...body } })).body;
  const worksNow = async (as: string, path: string) =>
    expect((await api('GET', path, { as })).status).toBe(200);

  const revoked = await newKey({});
  const expiresAt = new Date(http.clock.now() + 60_000).toISOString();
  const expired = await newKey({ expiresAt });
  const [deleted, ended] = [await http.createInbox(), await http.createInbox({ ttlMinutes: 1 })];
  for (const { key } of [revoked, expired]) await worksNow(key, '/v1/inboxes');
  for (const { id, token } of [deleted, ended]) await worksNow(token, `/v1/inboxes/${id}`);
  await api('DELETE', `/v1/keys/${revoked.id}`);
  await api('DELETE', `/v1/inboxes/${deleted.id}`);
  await http.clock.advance(60_000);

  const bearer = (...all: string[]) => all.map((credential) => `Bearer ${credential}`);
  const mistyped = `${keys.own.slice(0, -1)}${keys.own.endsWith('a') ? 'b' : 'a'}`;
  return {
    none: [undefined],
    malformed: [
      ...['', 'Bearer', 'Bearer ', 'Basic YTpi', keys.own, `Token ${keys.own}`],
      ...bearer(`${keys.own} x`, mistyped, keys.own.slice(0, -5), 'x'.repeat(600)),
    ],
    'in the query': [undefined],
    unknown: bearer(newCredential('mfk'), newCredential('mft'), 'chosen_key_of_nobody_0123'),
    'revoked key': bearer(revoked.key),
    'expired key': bearer(expired.key),
    "deleted inbox's token": bearer(deleted.token),
    "expired inbox's token": bearer(ended.token),
    "another account's key": bearer(keys.foreign),
    'read-only key': bearer(keys.readOnly),
    'right key': bearer(keys.own),
  };
}

function send({ method, row }: Operation, place: Place, options: ApiOptions = {}): Promise<Answer> {
  const asked = row(place);
  const sent = sendOptions(asked);
  const headers = { ...sent.headers, ...options.headers };
  return http.api(method, asked.path, { as: null, ...sent, ...options, headers });
}

/** The request with one kind of credential, once for each credential of that kind. */
async function ask(operation: Operation, kind: string, place: Place): Promise<Answer[]> {
  const answers: Answer[] = [];
  const row = operation.row(place);
  const query = `authorization=Bearer%20${http.keys.own}&token=${own.inbox.token}&api_key=${http.keys.own}`;
  const path = `${row.path}${row.path.includes('?') ? '&' : '?'}${query}`;
  const asked = kind === 'in the query' ? { ...operation, row: () => ({ ...row, path }) } : operation;
  for (const authorization of headers[kind] ?? []) {
    const sent = authorization === undefined ? {} : { headers: { authorization } };
    answers.push(await send(asked, place, sent));
  }
  return answers;
}

const outcomeOf = ({ status, body }: Answer): string =>
  status < 300 ? 'success' : `${status} ${body.code ?? 'without a code'}`;

/**
 * All of a response that could reveal anything: without what differs from request to request, and without
 * the id that a 404 repeats from the request itself.
 */
function bytesOf({ status, headers: sent, body, bytes }: Answer): string {
  const own = /^(date|x-request-id|retry-after|ratelimit.*|x-quota-.*)$/;
  const text = Buffer.from(bytes).toString('latin1').replace(body.requestId, '');
  const neutral = text.replace(/with the id \\".{1,80}?\\" is visible/, 'with the id ID is visible');
  const repeatsId = status === 404 && neutral !== text;
  const shown = [...sent].filter(([name]) => !own.test(name) && !(repeatsId && name === 'content-length'));
  return JSON.stringify([status, shown, repeatsId ? neutral : text]);
}

const IDS = {
  inbox: ({ inbox }: Place) => inbox.id,
  messageId: (place: Place) => place.messageId,
  attachmentId: (place: Place) => place.attachmentId,
  webhookId: (place: Place) => place.webhookId,
  deliveryId: (place: Place) => place.deliveryId,
  keyId: (place: Place) => place.keyId,
};
type Field = keyof typeof IDS;
/** Stands for a place before there is one, to see what a row names. */
const PLACEHOLDER: Place = {
  inbox: { id: '<inbox>', address: '', token: '', cursor: '' },
  ...{ messageId: '<message>', attachmentId: '<attachment>', webhookId: '<webhook>' },
  ...{ deliveryId: '<delivery>', keyId: '<key>', waitId: '<wait>' },
};
/** Those that another inbox or webhook of the same account has, too. */
const WITHIN: readonly Field[] = ['messageId', 'deliveryId'];

/** The ids that the request of an operation names, in its path or its body. */
const namedBy = ({ row }: Operation, place: Place): Field[] =>
  (Object.keys(IDS) as Field[]).filter((field) => JSON.stringify(row(place)).includes(IDS[field](place)));

const unknownId = (field: Field): string =>
  newId(IDS[field](own).split('_')[0] as IdPrefix, http.clock.now());

const withId = (field: Field, id: string): Place =>
  field === 'inbox' ? { ...own, inbox: { ...own.inbox, id } } : { ...own, [field]: id };

/** What the account has, as its key reads it. */
async function snapshot(): Promise<string> {
  const inbox = `/v1/inboxes/${own.inbox.id}`;
  const webhook = `/v1/webhooks/${own.webhookId}`;
  const paths = ['/v1/inboxes?limit=200', inbox, `${inbox}/messages`, '/v1/webhooks?limit=200', webhook];
  const bodies: unknown[] = [];
  for (const path of [...paths, `${webhook}/deliveries`, '/v1/keys']) {
    const answer = await http.api('GET', path);
    expect(answer.status).toBe(200);
    bodies.push(answer.body);
  }
  return JSON.stringify(bodies);
}

describe('the document', () => {
  it('has a decision for every operation, and no decision is left over', () => {
    expect(operations.map(({ id }) => id).toSorted()).toEqual(decided.map(([id]) => id).toSorted());
  });

  it('tells of the decision: which credentials an operation takes', () => {
    for (const { id, method, path } of operations) {
      const schemes = document.paths[path][method.toLowerCase()].security.flatMap(Object.keys);
      const decided = DECISIONS[id] === 'anyone' ? [] : ['apiKey'];
      if (DECISIONS[id] === 'inbox reads') decided.push('readToken');
      expect([id, schemes]).toEqual([id, decided]);
    }
  });

  it('hides no route: all there are stand in it, but for those that are open to all; each declares its access', async () => {
    const deps: Partial<HttpDeps> = { store: http.store, clock: http.clock, metrics: new Registry() };
    const { app } = await buildApp(testConfig(options), deps as HttpDeps);
    expect(() => app.get('/forgotten', () => 'open')).toThrow('GET /forgotten declares no access');
    await app.ready();
    const above: string[] = [];
    const tree = app.printRoutes({ commonPrefix: false });
    const routes = tree.matchAll(/^([│ ]*)[├└]── (\S+) \(([A-Z, ]+)\)$/gm);
    const found = [...routes].flatMap(([, indent = '', part = '', methods = '']) => {
      const depth = indent.length / 4;
      above.splice(depth, above.length, part);
      const whole = above.join('').replaceAll('//', '/');
      const path = whole.replaceAll(/:(\w+)/g, '{$1}');
      return methods.split(', ').flatMap((method) => (method === 'HEAD' ? [] : `${method} ${path}`));
    });
    await app.close();
    const documented = operations.map(({ method, path }) => `${method} ${path}`);
    const open = found.filter((one) => !documented.includes(one)).map((one) => one.replace('GET ', ''));
    expect(found).toEqual(expect.arrayContaining(documented));
    // test/providers/interface.test.ts tests who may call a provider.
    const others = open.filter((path) => !/^\/docs\/|^(?:[A-Z]+ )?\/providers\//.test(path));
    expect(others.toSorted()).toEqual(OPEN.toSorted());
  });
});

describe.each(guarded)('$id', (operation) => {
  const decision = DECISIONS[operation.id] as Decision;
  const kinds = Object.keys(OUTCOMES);
  const expected = (kind: string): Outcome | undefined =>
    OUTCOMES[kind]?.(decision, namedBy(operation, own).length > 0);

  it('refuses every credential that may not, in words that tell nothing, and does nothing', async () => {
    const before = await snapshot();
    const words = new Map<string, Set<string>>();
    for (const kind of kinds) {
      if (expected(kind) === 'success') continue;
      const missing = namedBy(operation, own).map((field) => withId(field, unknownId(field)));
      const places = expected(kind) === '404 not_found' ? [own, ...missing] : [own];
      const answers = await Promise.all(places.map((place) => ask(operation, kind, place)));
      for (const answer of answers.flat()) {
        expect([kind, outcomeOf(answer)]).toEqual([kind, expected(kind)]);
        expect(answer.headers.get('content-type')).toBe('application/problem+json');
        expect(answer.headers.get('www-authenticate')).toBe(CHALLENGES[answer.status] ?? null);
        const group = /^(unknown|revoked|expired key|deleted)/.test(kind) ? 'dead' : String(expected(kind));
        words.set(group, (words.get(group) ?? new Set()).add(bytesOf(answer)));
      }
    }
    // A credential that was good says no more than one that never was; nor does an inbox of others.
    expect(words.get('dead')?.size).toBe(1);
    expect(words.get('404 not_found')?.size ?? 1).toBe(1);
    expect(await snapshot()).toBe(before);
    if (operation.method === 'GET') {
      for (const kind of ['none', 'unknown', 'revoked key', 'expired key']) {
        for (const { status } of await ask({ ...operation, method: 'HEAD' }, kind, own))
          expect(status).toBe(401);
      }
    }
  });

  it('serves those that may, and shows nothing of another account', async () => {
    const [success = ''] = Object.keys(operation.responses).filter((status) => status.startsWith('2'));
    for (const kind of kinds) {
      if (expected(kind) !== 'success') continue;
      const place = kind === 'right key' && operation.method !== 'GET' ? await newPlace(http) : own;
      for (const answer of await ask(operation, kind, place)) {
        expect([kind, answer.status]).toEqual([kind, Number(success)]);
        if (kind !== "another account's key") continue;
        const shown = Buffer.from(answer.bytes).toString('latin1');
        for (const idOf of Object.values(IDS)) expect(shown).not.toContain(idOf(own));
        expect(shown).not.toContain(own.inbox.address);
      }
    }
  });

  it.each(namedBy(operation, PLACEHOLDER))(
    "answers another's %s and one that is not there alike, byte for byte but for the request id",
    async (field) => {
      const others = [...(WITHIN.includes(field) ? [neighbour] : []), foreign].map(IDS[field]);
      // Attachments are numbered within their message.
      if (field === 'attachmentId') others.splice(0);
      const inPath = operation.row(own).path.includes(IDS[field](own));
      const id = IDS[field](own);
      const odd = ['x', `${id}x`, id.toUpperCase(), '%00', '..%2f..', 'x'.repeat(900)];
      const may = kinds.filter((kind) => expected(kind) === 'success' && kind !== "another account's key");
      const texts = new Set<string>();
      for (const kind of may) {
        for (const other of [unknownId(field), ...others, ...(inPath ? odd : ['x'])]) {
          for (const answer of await ask(operation, kind, withId(field, other))) {
            expect([kind, other, outcomeOf(answer)]).toEqual([kind, other, '404 not_found']);
            texts.add(bytesOf(answer));
          }
        }
      }
      expect([...texts]).toHaveLength(1);
    },
  );
});

// Last: it lets so much time pass that the inboxes expire.
describe('signing up', () => {
  it('is open to anyone, whatever comes with it', async () => {
    const operation = operations.find(({ id }) => id === 'createAccount') as Operation;
    for (const kind of Object.keys(OUTCOMES).filter((one) => one !== 'in the query')) {
      const [first] = await ask(operation, kind, own);
      expect([kind, first?.status]).toEqual([kind, 201]);
      // Longer than any limit of sign-ups counts.
      await http.clock.leap(600_000);
    }
  });
});
