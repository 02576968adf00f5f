import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Ask, askForOneMail, createDns } from '../../../src/reading/sender-checks/dns-cache.ts';
import { type NameServer, startNameServer } from '../../support/name-server.ts';

let names: NameServer;
let now: number;
let ask: Ask;
beforeEach(async () => {
  names = await startNameServer({ 'a.test': { TXT: ['one', 'x'.repeat(300)] } });
  now = 1;
  ask = createDns([names.address], () => now);
});
afterEach(() => names.close());
const codeOf = (asking: Promise<unknown>) => asking.then(() => 'none').catch(({ code }) => code);

describe('records of senders', () => {
  it('come from the name servers that were set, and are known for a minute', async () => {
    const records = [['one'], ['x'.repeat(255), 'x'.repeat(45)]];
    expect(await ask('a.test', 'TXT')).toEqual(records);
    names.zone['a.test'] = { TXT: ['two'] };
    now += 59_999;
    expect(await ask('A.test', 'TXT')).toEqual(records);
    now += 2;
    expect(await ask('a.test', 'TXT')).toEqual([['two']]);
    expect(names.questions).toEqual(['TXT a.test', 'TXT a.test']);
  });

  it('are queried once at the same time', async () => {
    await Promise.all([ask('a.test', 'TXT'), ask('a.test', 'TXT'), ask('A.TEST', 'TXT')]);
    expect(names.questions).toEqual(['TXT a.test']);
  });

  it('are known to be missing for a minute, each way of it', async () => {
    for (let i = 0; i < 3; i++) {
      expect(await codeOf(ask('b.test', 'TXT'))).toBe('ENOTFOUND');
      expect(await codeOf(ask('a.test', 'MX'))).toBe('ENODATA');
    }
    expect(names.questions).toEqual(['TXT b.test', 'MX a.test']);
    names.zone['b.test'] = { TXT: ['now'] };
    now += 60_001;
    expect(await ask('b.test', 'TXT')).toEqual([['now']]);
  });

  it('are queried again some seconds after a failure', async () => {
    names.zone['c.test'] = 'servfail';
    for (let i = 0; i < 3; i++) expect(await codeOf(ask('c.test', 'TXT'))).toBe('ESERVFAIL');
    const asked = names.questions.length;
    now += 5_001;
    names.zone['c.test'] = { TXT: ['back'] };
    expect(await ask('c.test', 'TXT')).toEqual([['back']]);
    expect(names.questions).toHaveLength(asked + 1);
  });

  it('end at once with the time of their mail, like a timeout; queries of another mail go on', async () => {
    names.zone['e.test'] = 'silent';
    const over = new AbortController();
    const one = askForOneMail(ask, over.signal);
    const asking = codeOf(one('e.test', 'TXT'));
    await names.untilAsked('TXT e.test');
    over.abort();
    expect(await Promise.race([asking, nextTurn()])).toBe('ETIMEOUT');
    expect(await codeOf(one('a.test', 'TXT'))).toBe('ETIMEOUT');
    expect(await ask('a.test', 'TXT')).toHaveLength(2);
  });

  it('are refused when they are larger than any domain needs', async () => {
    names.zone['d.test'] = { TXT: Array.from({ length: 80 }, () => 'y'.repeat(250)) };
    expect(await codeOf(ask('d.test', 'TXT'))).toBe('EMSGSIZE');
  });

  it('are no names that cannot be', async () => {
    for (const name of ['x'.repeat(64), `${'x.'.repeat(200)}test`, 'a..test'])
      expect(await codeOf(ask(name, 'TXT'))).toBe('EBADNAME');
    expect(names.questions).toEqual([]);
  });
});
