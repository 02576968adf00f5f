import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ArgumentError } from '../../src/cli/arguments.ts';
import { ConfigError } from '../../src/config/config.ts';
import { hashCredential, hasValidChecksum, newId } from '../../src/ids.ts';
import { freshName, makeAccount, NOW, type Operator, openOperator } from './operator.ts';

const GOLD = {
  requestsPerMonth: 1000,
  requestsPerSecond: 5,
  burst: 10,
  maxTtlMinutes: 60,
  maxLiveInboxes: null,
  maxMessagesPerInbox: 10,
  maxMessageBytes: 1024,
  maxWebhooks: 1,
};

const operator = await openOperator({ MAYFLY_PLANS: JSON.stringify({ gold: GOLD }) });
afterAll(() => operator.close());
beforeEach(() => {
  operator.now = NOW;
});

/** An account as older versions and configurations may have left it. */
async function leftAccount(name: string, plan: string, createdAt = NOW): Promise<string> {
  const id = newId('acc', createdAt);
  await operator.store.accounts.create({ id, name, plan, createdAt }, null);
  return id;
}

describe('mayfly account list', () => {
  it('shows every account, oldest first, however many', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 101; i++) ids.push(await leftAccount(`n${i}`, 'free', NOW + i));
    const listed: { id: string }[] = await operator.json('account', 'list');
    expect(listed.map(({ id }) => id)).toEqual(ids);
    const createdAt = '2026-03-04T05:06:07.000Z';
    expect(listed[0]).toEqual({ id: ids[0], name: 'n0', plan: 'free', createdAt });
  });

  it('stands in columns, without control letters, and says which plans are not configured', async () => {
    const odd = await leftAccount('x\u001b[31m', 'old', NOW + 1000);
    const gold = await leftAccount('b', 'gold', NOW + 2000);
    const lines = (await operator.run('account', 'list')).split('\n');
    expect([lines[0], ...lines.slice(-2)]).toEqual([
      'ID                              NAME         PLAN                  CREATED',
      `${odd}  x\\u001b[31m  old (not configured)  2026-03-04T05:06:08.000Z`,
      `${gold}  b            gold                  2026-03-04T05:06:09.000Z`,
    ]);
  });
});

describe('mayfly account create', () => {
  it('makes an account of the plan developer and shows its first key this once', async () => {
    const name = freshName();
    const printed = await operator.run('account', 'create', '--name', name);
    const key = /^key: +(mfk_\w+)/m.exec(printed)?.[1] ?? '';
    expect(hasValidChecksum(key)).toBe(true);
    const found = await operator.store.keys.findByHash(hashCredential(key), NOW);
    const id = /^id: +(acc_\w+)$/m.exec(printed)?.[1];
    expect(found?.account).toEqual({ id, name, plan: 'developer', createdAt: NOW });
    expect(found?.key).toMatchObject({ name: 'first key', scope: 'full', expiresAt: null });
    expect(await operator.run('account', 'show', name)).not.toContain(key);
  });

  it('takes a plan of the configuration and a name for the key', async () => {
    const { id, name, key } = await makeAccount(operator, '--plan', 'gold', '--key-name', 'ci');
    const found = await operator.store.keys.findByHash(hashCredential(key), NOW);
    expect(found).toMatchObject({ account: { id, name, plan: 'gold' }, key: { name: 'ci' } });
  });

  const PLANS = '"silver" is not a plan. The configured plans are free, developer, unlimited, gold.';
  it.each([
    ['an empty name', [' '], 'is not a valid name'],
    ['a name with control characters', ['a\u001b[31m'], 'is not a valid name'],
    ['a name of 101 letters', ['x'.repeat(101)], 'is not a valid name'],
    ["a name that is an account's id", [newId('acc', NOW)], 'has the form of an account id'],
    ['an unknown plan', ['Web', '--plan', 'silver'], PLANS],
  ])('refuses %s and makes nothing', async (_what, options, message) => {
    const before = await operator.json('account', 'list');
    const made = operator.run('account', 'create', '--name', ...options);
    await expect(made).rejects.toThrow(ArgumentError);
    await expect(made).rejects.toThrow(message);
    expect(await operator.json('account', 'list')).toEqual(before);
  });
});

describe('mayfly account show', () => {
  it('tells plan, limits, the usage of the month, keys and domains', async () => {
    const { id } = await makeAccount(operator, '--plan', 'gold');
    await operator.run('domain', 'add', 'web.example', '--account', id);
    for (const want of [820, 80]) await operator.store.usage.lease(id, '2026-03', { want, limit: 1000 }, NOW);
    const days = [
      { day: '2026-03-03', requests: 800 },
      { day: '2026-03-04', requests: 20 },
    ];
    await operator.store.usage.report([{ accountId: id, month: '2026-03', returned: 0, days }]);

    const printed = await operator.run('account', 'show', id);
    for (const line of [
      /^plan: +gold$/m,
      /^ {2}requestsPerMonth: +1000$/m,
      /^ {2}maxLiveInboxes: +no limit$/m,
      /^requests in 2026-03 \(UTC\)\n {2}answered: +820\n {2}taken: +900 of 1000 /m,
      /^ {2}80 %: +2026-03-04T05:06:07\.000Z\n {2}100 %: +not reached$/m,
      /^ {2}key_\w+ +mfk_\w{4} +first key +full .* never +never$/m,
      /^own domains\n {2}web\.example$/m,
    ])
      expect(printed).toMatch(line);
    expect(await operator.json('account', 'show', id)).toMatchObject({
      id,
      limits: GOLD,
      usage: {
        month: '2026-03',
        answered: 820,
        taken: 900,
        thresholds: [
          { percent: 80, reachedAt: '2026-03-04T05:06:07.000Z' },
          { percent: 100, reachedAt: null },
        ],
        days,
      },
      keys: [{ name: 'first key', scope: 'full', expiresAt: null, lastUsedAt: null }],
      domains: ['web.example'],
    });
  });

  it('shows an account whose plan is not configured any more', async () => {
    const id = await leftAccount('x', 'old');
    const printed = await operator.run('account', 'show', id);
    expect(printed).toMatch(/^plan: +old \(not configured\)$/m);
    expect(printed).toMatch(/^ {2}unknown, because the plan is not configured/m);
    expect((await operator.json('account', 'show', id)).limits).toBeNull();
  });

  it('finds an account by a name that no other has, and else says the ids', async () => {
    const { id, name } = await makeAccount(operator);
    expect((await operator.json('account', 'show', name)).id).toBe(id);
    const [one, two] = [await leftAccount('Twin', 'free', NOW), await leftAccount('Twin', 'free', NOW + 1)];
    const refused = (given: string) => expect(operator.run('account', 'show', given)).rejects;
    await refused('Twin').toThrow(`2 accounts have the name "Twin". Use the id instead: ${one}, ${two}`);
    await refused('Nobody').toThrow('No account has the id or name "Nobody".');
  });
});

describe('mayfly account set-plan', () => {
  it('puts an account on another plan and says what it was on', async () => {
    const { id, name } = await makeAccount(operator);
    const said = await operator.run('account', 'set-plan', name, 'free');
    expect(said).toContain(`Changed the plan of ${id} (${name}) from developer to free.`);
    expect((await operator.store.accounts.find(id))?.plan).toBe('free');
  });

  it('refuses an unknown plan and an unknown account', async () => {
    const { id } = await makeAccount(operator);
    await expect(operator.run('account', 'set-plan', id, 'silver')).rejects.toThrow(ArgumentError);
    const unknown = operator.run('account', 'set-plan', newId('acc', NOW), 'free');
    await expect(unknown).rejects.toThrow(/No account/);
    expect((await operator.store.accounts.find(id))?.plan).toBe('developer');
  });
});

describe('mayfly account delete', () => {
  // On a database of its own: it deletes all accounts but one.
  let operator: Operator;
  beforeAll(async () => {
    operator = await openOperator();
  });
  afterAll(() => operator.close());

  it('without --yes only says what would go', async () => {
    const { id, name } = await makeAccount(operator);
    await operator.run('domain', 'add', 'web.example', '--account', id);
    const refused = operator.run('account', 'delete', id);
    await expect(refused).rejects.toThrow(ArgumentError);
    await expect(refused).rejects.toThrow(
      `This deletes account ${id} ("${name}") permanently: its 1 API key, its domains (web.example), its webhooks, its inboxes and all their messages. To delete it, run: mayfly account delete ${id} --yes`,
    );
    expect(await operator.store.keys.list(id)).toHaveLength(1);
  });

  it('leaves the only account, which a server needs', async () => {
    const [only, ...others] = await operator.json('account', 'list');
    for (const { id } of others) await operator.run('account', 'delete', id, '--yes');
    await expect(operator.run('account', 'delete', only.id, '--yes')).rejects.toThrow('is the only one');
    expect(await operator.json('account', 'list')).toEqual([only]);
  });

  it('with --yes deletes it, by id or by name, and says so', async () => {
    // Later than the account that is left: of one moment, chance says which is the first.
    operator.now += 1;
    const [one, two] = [await makeAccount(operator), await makeAccount(operator)];
    const said = `Deleted account ${one.id} ("${one.name}").\nA running server rejects its keys within a second.`;
    expect(await operator.run('account', 'delete', one.name, '--yes')).toBe(said);
    await operator.run('account', 'delete', two.id, '--yes');
    const listed: { id: string }[] = await operator.json('account', 'list');
    expect(listed.map(({ id }) => id)).not.toContain(one.id);
    await expect(operator.run('account', 'delete', two.id, '--yes')).rejects.toThrow('No account has the id');
  });

  it('of the first account says which one MAYFLY_API_KEY opens now', async () => {
    const [first] = await operator.json('account', 'list');
    operator.now += 1;
    const next = await makeAccount(operator);
    await operator.store.keys.create({
      ...{ id: 'key_chosen', hash: 'h', accountId: first.id, name: 'x', scope: 'full', prefix: 'chos' },
      ...{ createdAt: NOW, expiresAt: null },
    });
    const said = await operator.run('account', 'delete', first.id, '--yes');
    expect(said).toContain('One of its keys was set by MAYFLY_API_KEY.');
    const hint = `Now ${next.id} ("${next.name}") is the first, and a new MAYFLY_API_KEY is a key of that one.`;
    expect(said).toContain(hint);
  });
});

describe('mayfly plan', () => {
  it('lists the plans in force, with those of MAYFLY_PLANS', async () => {
    expect((await operator.run('plan', 'list')).split('\n')).toEqual([
      'PLAN       REQ/MONTH  REQ/S  BURST  INBOXES  TTL MINUTES  MSG/INBOX  BYTES/MSG  WEBHOOKS',
      'free       1000       2      10     5        60           50         5242880    1',
      'developer  100000     50     200    1000     10080        1000       26214400   50',
      'unlimited  -          -      -      -        43200        10000      52428800   -',
      'gold       1000       5      10     -        60           10         1024       1',
    ]);
  });

  it('shows one in the words of MAYFLY_PLANS, so that its JSON can be given back', async () => {
    expect(await operator.run('plan', 'show', 'unlimited')).toMatch(/^requestsPerMonth: +no limit$/m);
    expect(await operator.json('plan', 'show', 'gold')).toEqual({ name: 'gold', ...GOLD });
  });

  it('refuses an unknown plan, and a configuration that is wrong', async () => {
    await expect(operator.run('plan', 'show', 'silver')).rejects.toThrow(ArgumentError);
    operator.env = { MAYFLY_PLANS: '{"gold": {}}' };
    await expect(operator.run('plan', 'list')).rejects.toThrow(ConfigError);
  });
});
