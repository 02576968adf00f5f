import { afterAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { ensureFirstAccount } from '../../src/accounts/keys.ts';
import { ArgumentError } from '../../src/cli/arguments.ts';
import { hashCredential, hasValidChecksum, newCredential, newId } from '../../src/ids.ts';
import { makeAccount, NOW, openOperator } from './operator.ts';

const CHOSEN = 'ci_0123456789abcdefghij';
const DAY = 86_400_000;

const operator = await openOperator();
const first = (await ensureFirstAccount(operator.store, CHOSEN, NOW)).account.id;
afterAll(() => operator.close());
// Each test has a second of its own, so that what it makes is newer than what is there.
beforeEach(() => {
  operator.now += 1000;
});

const find = (key: string, now = operator.now) => operator.store.keys.findByHash(hashCredential(key), now);

describe('mayfly key create', () => {
  it('makes a key of the first account and prints nothing but the key', async () => {
    await makeAccount(operator);
    const key = await operator.run('key', 'create');
    expect(key).toMatch(/^mfk_\w+$/);
    expect(hasValidChecksum(key)).toBe(true);
    const made = { name: 'made on the command line', scope: 'full', expiresAt: null };
    expect(await find(key)).toMatchObject({ account: { id: first }, key: made });
  });

  it('makes one of the named account, with a name and a scope', async () => {
    const { id, name } = await makeAccount(operator);
    const options = ['--account', name, '--name', 'dashboard', '--scope', 'read'];
    const found = await find(await operator.run('key', 'create', ...options));
    expect(found).toMatchObject({ account: { id }, key: { name: 'dashboard', scope: 'read' } });
  });

  it.each([
    ['90d', () => operator.now + 90 * DAY],
    ['12h', () => operator.now + DAY / 2],
    ['30m', () => operator.now + 1_800_000],
    ['2027-01-31', () => Date.UTC(2027, 0, 31)],
    ['2027-01-31T12:00:00Z', () => Date.UTC(2027, 0, 31, 12)],
    ['2027-01-31T12:00+02:00', () => Date.UTC(2027, 0, 31, 10)],
  ])('takes --expires %s, and then the key is dead', async (when, at) => {
    const key = await operator.run('key', 'create', '--expires', when);
    expect((await find(key, at() - 1))?.key.expiresAt).toBe(at());
    expect(await find(key, at())).toBeUndefined();
  });

  it.each([
    ['no time', '--expires', 'soon'],
    ['a day that is none', '--expires', '2027-02-30'],
    ['an hour that is none', '--expires', '2027-02-20T25:00Z'],
    ['a time without an offset', '--expires', '2027-01-31T12:00:00'],
    ['the past', '--expires', '2020-01-01'],
    ['this moment', '--expires', '0d'],
    ['an empty name', '--name', ''],
  ])('refuses %s and makes nothing', async (_what, ...option) => {
    const before = await operator.json('key', 'list');
    await expect(operator.run('key', 'create', ...option)).rejects.toThrow(ArgumentError);
    expect(await operator.json('key', 'list')).toEqual(before);
  });

  it('says before the first start what to do', async () => {
    const fresh = await openOperator();
    onTestFinished(() => fresh.close());
    const made = fresh.run('key', 'create');
    await expect(made).rejects.toThrow('There is no account yet. Start the server once');
  });
});

describe('mayfly key list', () => {
  it('shows the keys of one account, newest first, and when each was last used', async () => {
    operator.now = NOW + DAY;
    const { id, name } = await makeAccount(operator);
    operator.now += 1000;
    await operator.run('key', 'create', '--account', id, '--name', 'short', '--expires', '1h');
    const [{ id: newest }, { id: oldest }] = await operator.json('key', 'list', '--account', id);
    await operator.store.keys.used([{ keyId: oldest, at: operator.now }]);
    operator.now += 2 * 3_600_000;

    expect(await operator.json('key', 'list', '--account', name)).toMatchObject([
      { id: newest, name: 'short', expiresAt: '2026-03-05T06:06:08.000Z', lastUsedAt: null },
      { id: oldest, name: 'first key', expiresAt: null, lastUsedAt: '2026-03-05T05:06:08.000Z' },
    ]);
    expect((await operator.run('key', 'list', '--account', name)).split('\n')).toEqual([
      `Keys of ${id} (${name})`,
      expect.stringMatching(/^ID +PREFIX +NAME +SCOPE +CREATED +EXPIRES +LAST USED$/),
      expect.stringMatching(/^key_.* 2026-03-05T06:06:08\.000Z \(expired\) +never$/),
      expect.stringMatching(/^key_.* never +2026-03-05T05:06:08\.000Z$/),
    ]);
  });

  it('shows those of the first account where none is named', async () => {
    expect(await operator.run('key', 'list')).toMatch(`Keys of ${first} (default)\n`);
  });
});

describe('mayfly key revoke', () => {
  it('revokes by id: the key is dead and out of the list', async () => {
    const key = await operator.run('key', 'create', '--name', 'leaked');
    const [{ id, name }] = await operator.json('key', 'list');
    expect(name).toBe('leaked');
    expect(await operator.run('key', 'revoke', id)).toBe(
      `Revoked ${id} (${key.slice(0, 8)}…, "leaked") of account ${first}.\nA running server rejects it within a second.`,
    );
    expect(await find(key)).toBeUndefined();
    expect(JSON.stringify(await operator.json('key', 'list'))).not.toContain(id);
  });

  it('takes the leaked key itself from standard input', async () => {
    const key = await operator.run('key', 'create', '--name', 'leaked');
    expect(await operator.runWith(`${key}\n`, 'key', 'revoke', '-')).toMatch(/^Revoked key_/);
    expect(await find(key)).toBeUndefined();
    await expect(operator.runWith(key, 'key', 'revoke', '-')).rejects.toThrow(/it was revoked, has expired/);
  });

  it('refuses the key itself on the command line, where others can see it', async () => {
    const key = await operator.run('key', 'create');
    await expect(operator.run('key', 'revoke', key)).rejects.toThrow(/mayfly key revoke -/);
    await expect(operator.run('key', 'revoke', 'key_1')).rejects.toThrow(ArgumentError);
    expect(await find(key)).toBeDefined();
  });

  it('tells a mistyped key from an unknown one', async () => {
    const revoke = (input: string) => operator.runWith(input, 'key', 'revoke', '-');
    await expect(revoke(newCredential('mfk').slice(0, -1))).rejects.toThrow(ArgumentError);
    await expect(revoke('')).rejects.toThrow(ArgumentError);
    await expect(revoke(newCredential('mfk'))).rejects.toThrow('This server has no such key');
    await expect(operator.run('key', 'revoke', newId('key', NOW))).rejects.toThrow('No key has the id');
  });

  it("revokes an account's last key too, and says what that means", async () => {
    const { id, key } = await makeAccount(operator);
    await operator.run('key', 'create', '--account', id, '--scope', 'read');
    await operator.run('key', 'create', '--account', id, '--expires', '1h');
    operator.now += 3_600_000;
    const hint = `no valid key of scope "full" left. To create one, run: mayfly key create --account ${id}`;
    expect(await operator.runWith(key, 'key', 'revoke', '-')).toContain(hint);
    expect(await find(key)).toBeUndefined();
  });

  it('revokes a key chosen as MAYFLY_API_KEY for good, whatever the setting says at the next start', async () => {
    expect(await operator.runWith(CHOSEN, 'key', 'revoke', '-')).toContain('It was set by MAYFLY_API_KEY.');
    expect(await find(CHOSEN)).toBeUndefined();
    await ensureFirstAccount(operator.store, CHOSEN, operator.now);
    expect(await find(CHOSEN)).toBeUndefined();
  });
});
