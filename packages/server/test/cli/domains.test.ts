import { afterAll, describe, expect, it } from 'vitest';
import { ArgumentError } from '../../src/cli/arguments.ts';
import { makeAccount, openOperator } from './operator.ts';

const operator = await openOperator({ MAYFLY_DOMAINS: 'mayfly.test,all.example' });
const web = await makeAccount(operator);
const shop = await makeAccount(operator);
afterAll(() => operator.close());

const add = (domain: string, account: string) => operator.run('domain', 'add', domain, '--account', account);

describe('mayfly domain', () => {
  it('gives a domain, in lower case, to one account, and takes it away', async () => {
    const said = `The domain web.example now belongs to ${web.id} (${web.name}).`;
    expect(await add('Web.Example', web.name)).toContain(said);
    expect(await operator.store.domains.find('web.example')).toMatchObject({ accountId: web.id });
    const removed = await operator.run('domain', 'remove', 'WEB.example');
    expect(removed).toMatch(/^Removed the domain web\.example\./);
    expect(await operator.store.domains.find('web.example')).toBeUndefined();
  });

  it('lists those of all accounts or of one, by name', async () => {
    await add('b.example', web.id);
    await add('a.example', shop.id);
    const createdAt = '2026-03-04T05:06:07.000Z';
    expect((await operator.run('domain', 'list')).split('\n')).toEqual([
      'DOMAIN     ACCOUNT                         SINCE',
      `a.example  ${shop.id}  ${createdAt}`,
      `b.example  ${web.id}  ${createdAt}`,
    ]);
    const ofWeb = await operator.json('domain', 'list', '--account', web.name);
    expect(ofWeb).toEqual([{ domain: 'b.example', accountId: web.id, createdAt }]);
  });

  it('leaves a domain with the account that has it', async () => {
    await add('taken.example', web.id);
    expect(await add('taken.example', web.id)).toContain('already');
    await expect(add('taken.example', shop.id)).rejects.toThrow(`taken.example belongs to ${web.id}`);
    expect(await operator.store.domains.find('taken.example')).toMatchObject({ accountId: web.id });
  });

  it('refuses a domain that MAYFLY_DOMAINS serves to all', async () => {
    await expect(add('All.example', web.id)).rejects.toThrow(/The domain all\.example is in MAYFLY_DOMAINS/);
    expect(await operator.store.domains.find('all.example')).toBeUndefined();
  });

  it.each(['', 'a b.example', 'a-.example', 'a..example', 'bücher.example', 'a.example.', 'x@a.example'])(
    'refuses %j, which is no domain',
    async (domain) => {
      await expect(add(domain, web.id)).rejects.toThrow(ArgumentError);
      await expect(operator.run('domain', 'remove', domain)).rejects.toThrow(ArgumentError);
    },
  );

  it('says so when nobody has the domain, or no account is meant', async () => {
    await expect(operator.run('domain', 'remove', 'web.example')).rejects.toThrow(/No account has/);
    await expect(add('web.example', 'Nobody')).rejects.toThrow(/No account has the id or name "Nobody"/);
    await expect(operator.run('domain', 'add', 'web.example')).rejects.toThrow(/--account/);
  });
});
