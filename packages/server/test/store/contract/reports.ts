import { describe, expect, it } from 'vitest';
import { ADDRESS_QUARANTINE_MS, type InboxRecord } from '../../../src/inboxes/records.ts';
import { REFUSAL_KEPT_MS } from '../../../src/refusals/sql.ts';
import { type EndedWait, type FailedWait, MAX_FAILED_WAITS } from '../../../src/waits/sql.ts';
import { accountAt, atOnce, DAY, HOUR, mailTo, refusalOf, sweepAll, T } from '../builders.ts';
import type { Given } from './suite.ts';

const NONE = { withMessages: 0, empty: 0 };
const NO_WAITS = { succeeded: 0, failed: 0, lists: NONE, streams: NONE, failures: [] };
const NO_REFUSALS = { count: 0, last: null };

type Waited = Pick<InboxRecord, 'id' | 'accountId'>;

const failedAt = (at: number): FailedWait => ({
  ...{ waitId: 'wai_1', at, waitedMs: 5, count: 1, match: { subject: 'NUL \0 \ud800' }, reason: 'timeout' },
  ...{ seenCount: 0, summary: 'No message arrived.' },
});
const waitOf = ({ id, accountId }: Waited, failed: FailedWait | null = null): EndedWait => ({
  ...{ accountId, inboxId: id, kind: 'wait', failed },
});
const heldOf = ({ id, accountId }: Waited, kind: 'list' | 'stream', hadMessages: boolean): EndedWait => ({
  ...{ accountId, inboxId: id, kind, hadMessages },
});

/** Reports of test runs. */
export function describeReports(given: Given): void {
  const listRun = async (owner: string, labels: Record<string, string>, now = T, { reports } = given.store) =>
    (await reports.listRun(owner, labels, now)).inboxes;

  describe('the report of a run', () => {
    it('has live, expired and deleted inboxes with their mail, for 24 h after their end', async () => {
      const { on, store, owner } = await given.place('fresh');
      const labels = { run: '4711', 'a"b%_': '\\"}' };
      const live = await given.inbox(owner, { labels, expiresAt: T + 3 * HOUR }, on);
      const expired = await given.inbox(owner, { labels }, on);
      const deleted = await given.inbox(owner, { labels }, on);
      await given.inbox(owner, { labels: { run: '4712' } }, on);
      await store.messages.addBatch([mailTo([live, deleted])], T + 10);
      await store.messages.addBatch([mailTo([live]), mailTo([live])], T + 20);
      await store.messages.deleteAll(live.id, T + 30);
      await store.inboxes.delete(owner, deleted.id, T + 40);
      await given.inbox(owner, { labels: { run: '4711' }, expiresAt: T + 3 * HOUR }, on);

      const now = T + 2 * HOUR;
      const run = (some: Record<string, string>, at = now, by = owner) => store.reports.listRun(by, some, at);
      const { inboxes, totals } = await run(labels);
      const rows = [
        { of: live, state: 'live', endedAt: null, received: 3, firstReceivedAt: T + 10 },
        { of: expired, state: 'expired', endedAt: T + HOUR, received: 0, firstReceivedAt: null },
        { of: deleted, state: 'deleted', endedAt: T + 40, received: 1, firstReceivedAt: T + 10 },
      ];
      const shown = rows.map(({ of: { id, address }, ...rest }) => ({
        ...{ ...rest, id, address, labels, createdAt: T, waits: NO_WAITS, refusals: NO_REFUSALS },
      }));
      expect(inboxes).toEqual(shown.toSorted((a, b) => (a.id < b.id ? 1 : -1)));
      expect(totals.inboxes).toBe(3);
      expect((await run({ run: '4711' })).inboxes).toHaveLength(4);
      expect((await run({ ...labels, run: '471' })).inboxes).toEqual([]);
      expect((await run({ 'a"b%_': '' })).inboxes).toEqual([]);
      expect((await run(labels, now, await given.account(on))).inboxes).toEqual([]);
      const states = async (at: number) => (await run(labels, at)).inboxes.map(({ state }) => state).sort();
      expect(await states(T + 40 + DAY - 1)).toEqual(['deleted', 'expired', 'expired']);
      expect(await states(T + 40 + DAY)).toEqual(['expired', 'expired']);
      await sweepAll(store, T + 40 + DAY);
      expect(await states(T + 40 + DAY - 1)).toEqual(['expired', 'expired']);
      expect(await states(T + DAY + 3 * HOUR)).toEqual([]);
      await store.waits.add([waitOf(live), waitOf(deleted)]);
      await store.accounts.delete(owner, T);
      expect(await on.counts()).toMatchObject({ inboxes: 0, inbox_waits: 0, deleted_inboxes: 0 });
    });

    it('has the waits, lists and streams of each inbox, and its first failed waits, also of a deleted one', async () => {
      const { store, owner } = await given.place();
      const labels = { run: 'waits' };
      const [inbox, gone] = [await given.inbox(owner, { labels }), await given.inbox(owner, { labels })];
      await store.waits.add([
        ...[waitOf(inbox), waitOf(gone, failedAt(T)), waitOf(inbox, failedAt(T))],
        ...[heldOf(inbox, 'list', true), heldOf(gone, 'stream', false)],
      ]);
      await store.inboxes.delete(owner, gone.id, T);
      const more = Array.from({ length: 2 * MAX_FAILED_WAITS }, (_, n) => waitOf(inbox, failedAt(T + n + 1)));
      const lists = Array<EndedWait>(2).fill(heldOf(inbox, 'list', false));
      await store.waits.add([...more, ...lists, heldOf(gone, 'stream', true)]);
      // A wait often ends just before its test deletes the inbox.
      await store.waits.add([waitOf(gone), waitOf({ ...gone, id: 'inb_unknown' })]);
      const waits = new Map((await listRun(owner, labels)).map((one) => [one.id, one.waits]));
      expect(waits.get(gone.id)).toEqual({
        ...{ ...NO_WAITS, succeeded: 1, failed: 1, failures: [failedAt(T)] },
        streams: { withMessages: 1, empty: 1 },
      });
      expect(waits.get(inbox.id)).toEqual({
        ...{ ...NO_WAITS, succeeded: 1, failed: 1 + 2 * MAX_FAILED_WAITS },
        lists: { withMessages: 1, empty: 2 },
        failures: Array.from({ length: MAX_FAILED_WAITS }, (_, n) => failedAt(T + n)),
      });
    });

    it('has every wait when many end at once, while mail comes and inboxes are deleted', async () => {
      const { on, store, owner } = await given.place('server');
      const labels = { run: 'busy' };
      const all = await atOnce(10, () => given.inbox(owner, { labels }, on));
      await atOnce(20, (round) =>
        Promise.all([
          store.waits.add(all.map((inbox) => waitOf(inbox))),
          store.messages.addBatch([mailTo(all.slice(5))], T),
          round < 5 && store.inboxes.delete(owner, all[round]?.id ?? '', T),
        ]),
      );
      const inboxes = await listRun(owner, labels, T, store);
      expect(inboxes.map(({ waits }) => waits.succeeded)).toEqual(all.map(() => 20));
      expect(inboxes.filter(({ state }) => state === 'deleted')).toHaveLength(5);
      expect(inboxes.filter(({ received }) => received === 20)).toHaveLength(5);
    });

    it('has the refusals of each address since the creation of the inbox, without those by faults', async () => {
      const { store, owner } = await given.place();
      const labels = { run: 'refusals' };
      const first = await given.inbox(owner, { labels });
      const refusal = (at: number, reply: string) => refusalOf(first.address, { at, reply });
      const fault = { rule: 1, at: 'rcpt' as const, delayMs: 5, disconnect: false };
      await store.refusals.add([
        { ...refusal(T + 1, '452 full'), mailFrom: '"fault":@x.example' },
        refusal(T + 2, '550 \0 none'),
        { ...refusal(T + 3, '451 asked for'), fault },
      ]);
      await store.inboxes.delete(owner, first.id, T + 3);
      const second = await given.inbox(owner, { labels, address: first.address, createdAt: T + 5 });
      await store.refusals.add([refusal(T - 1, '550 before'), refusal(T + 6, '451 later')]);
      const { mailFrom, remoteAddress } = refusal(0, '');
      const last = (at: number, reply: string) => ({ at, reply, mailFrom, remoteAddress });
      const run = await listRun(owner, labels, T + 10);
      expect(run.map(({ id, refusals }) => [id, refusals])).toEqual([
        [second.id, { count: 1, last: last(T + 6, '451 later') }],
        [first.id, { count: 2, last: last(T + 2, '550 \0 none') }],
      ]);
    });
  });

  it('what a wait has explained is kept for 24 h, its content as long as its inbox, and nothing for a deleted account', async () => {
    const { on, store, owner, inbox: one } = await given.place('fresh');
    const other = await given.inbox(owner, {}, on);
    const whole = { plain: '"NUL \\u0000"', content: '"\\ud800"' };
    const plain = { ...whole, content: null };
    const explain = (id: string, inboxId: string) =>
      store.waits.addExplained([{ id, accountId: owner, inboxId, endedAt: T, ...whole }]);
    const found = (inboxId: string, id: string, now = T) => store.waits.find(owner, inboxId, id, now);
    await explain('wai_1', one.id);
    await explain('wai_2', other.id);
    expect(await found(one.id, 'wai_1')).toEqual(whole);
    expect(await found(other.id, 'wai_1')).toBeUndefined();
    await store.inboxes.delete(owner, one.id, T);
    expect(await found(one.id, 'wai_1')).toEqual(plain);
    // A wait that ended with its inbox is stored after it.
    await explain('wai_3', one.id);
    expect(await found(one.id, 'wai_3')).toEqual(plain);
    expect(await found(other.id, 'wai_2', T + HOUR)).toEqual(plain);
    expect(await found(other.id, 'wai_2', T + DAY)).toBeUndefined();
    await store.accounts.create(accountAt(), null);
    await store.accounts.delete(owner, T);
    await explain('wai_4', other.id);
    expect(await on.counts()).toMatchObject({ failed_waits: 0 });
  });
}

/** Mail that no inbox took, and who may learn of it. */
export function describeRefusals(given: Given): void {
  describe('refusals', () => {
    it('are kept for 24 hours, 50 of an address and 10,000 in all; the oldest go first', async () => {
      const on = await given.fresh();
      const { refusals } = on.store;
      const address = 'NUL \0@mayfly.test';
      const one = Array.from({ length: 130 }, (_, n) => refusalOf(address, { at: T + n, reply: `${n}` }));
      await refusals.add(one.slice(0, 60));
      await refusals.add([...one.slice(60), refusalOf('another@mayfly.test')]);
      const listed = (after: number, now: number) => refusals.listConcerning(address, after, now);
      const newest = one.slice(-50).toReversed();
      expect(await listed(0, T + 130)).toEqual(newest);
      expect(await listed(T + 127, T + 130)).toEqual(newest.slice(0, 2));
      expect(await listed(0, T + 127 + REFUSAL_KEPT_MS)).toEqual(newest.slice(0, 2));

      await on.sql(`insert into refusals (address, at, domain, details, had_no_inbox)
        with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < 10000)
        select '"old@mayfly.test"', ${T} - n, domain, details, had_no_inbox from refusals, numbers
        where address = '"another@mayfly.test"'`);
      await refusals.add([refusalOf('last@mayfly.test')]);
      expect(await on.counts()).toMatchObject({ refusals: 10_000 });
      expect(await listed(0, T + 130)).toEqual(newest);
      const old = await refusals.listConcerning('old@mayfly.test', 0, T);
      expect([old.length, old.at(-1)?.at]).toEqual([10_000 - 52, T - (10_000 - 52)]);
    });

    it('are listed by address once each, the latest first, where no inbox had it: not where it was full or had faults', async () => {
      const { store } = await given.fresh();
      const quoted = '"q\\"\\u0000"@mayfly.test';
      const fault = { rule: 1, at: 'rcpt' as const, delayMs: 0, disconnect: false };
      await store.refusals.add([
        refusalOf('a@mayfly.test', { mailFrom: '"fault":' }),
        refusalOf('b@mayfly.test', { at: T + 1 }),
        refusalOf('full@mayfly.test', { reply: '452 4.2.2 Full', mailFrom: '"reply":"550 5.1.1 no' }),
        refusalOf('faulty@mayfly.test', { fault }),
      ]);
      await store.refusals.add([refusalOf('a@mayfly.test', { at: T + 2 }), refusalOf(quoted)]);
      const listed = (now: number, page: { after?: number; limit?: number } = {}) =>
        store.refusals.listAddresses(null, { after: 0, limit: 99, ...page }, now);
      const [a, b] = ['a@mayfly.test', 'b@mayfly.test'];
      expect(await listed(T)).toEqual([a, b, quoted]);
      expect(await listed(T, { after: T })).toEqual([a, b]);
      expect(await listed(T, { limit: 1 })).toEqual([a]);
      expect(await listed(T + REFUSAL_KEPT_MS + 1)).toEqual([a]);
      const lines = (await store.refusals.recent(0, T)).split('\n');
      expect(lines[0]).toBe(`${T + 2} ${JSON.stringify(a)}`);
      expect(lines).toHaveLength(4);
    });

    it('of an address or a domain that another account has, holds, or had lately are told to nobody else', async () => {
      const on = await given.fresh();
      const { inboxes, addresses, domains, refusals } = on.store;
      const [owner, other] = [await given.account(on), await given.account(on)];
      for (const local of ['live', 'deleted']) {
        const { id } = await given.inbox(other, { address: `${local}@mayfly.test` }, on);
        if (local === 'deleted') await inboxes.delete(other, id, T);
      }
      await given.inbox(owner, { address: 'own@mayfly.test' }, on);
      await given.inbox(other, { kind: 'catch-all', address: 'inbox@all.mayfly.test' }, on);
      await addresses.hold(other, 'held@mayfly.test', T + 60_000, T);
      await domains.add({ domain: 'mine.test', accountId: owner, createdAt: T });
      await domains.add({ domain: 'foreign.test', accountId: other, createdAt: T });
      const anyones = ['free@mayfly.test', 'a@sub.foreign.test', 'a@notforeign.test'];
      const own = ['own@mayfly.test', 'a@mine.test', '"q@foreign.test"@mine.test'];
      const ofOther = [
        ...['live@mayfly.test', 'deleted@mayfly.test', 'held@mayfly.test', 'x@all.mayfly.test'],
        ...['a@foreign.test', '"q@mine.test"@foreign.test', '"\\"\0@"@foreign.test'],
      ];
      await refusals.add([...anyones, ...own, ...ofOther].map((address) => refusalOf(address)));
      const listed = async (account: string | null, now = T) =>
        (await refusals.listAddresses(account, { after: 0, limit: 99 }, now)).toSorted();
      expect(await listed(owner)).toEqual([...anyones, ...own].toSorted());
      expect(await listed(other)).toEqual([...anyones, ...ofOther].toSorted());
      expect(await listed(null)).toEqual(anyones.toSorted());
      const later = T + ADDRESS_QUARANTINE_MS;
      await refusals.add([refusalOf('deleted@mayfly.test', { at: later })]);
      expect(await listed(owner, later)).toEqual(['deleted@mayfly.test']);
    });

    it('of a domain are those of all its addresses but the ones that other inboxes have or had, newest first', async () => {
      const on = await given.fresh();
      const owner = await given.account(on);
      const { inboxes, addresses, refusals } = on.store;
      const at = (local: string) => `${local}@sub.mayfly.test`;
      const inbox = await given.inbox(owner, { kind: 'catch-all', address: at('inbox') }, on);
      await given.inbox(owner, { address: at('other') }, on);
      const ended = await given.inbox(owner, { address: at('ended') }, on);
      await inboxes.delete(owner, ended.id, T);
      await addresses.hold(owner, at('held'), T + 60_000, T);
      const added = ['a', 'inbox', 'other', 'ended', 'held', '"q@r"'].map((local, n) =>
        refusalOf(at(local), { at: T + n }),
      );
      await refusals.add([...added, refusalOf('a@x.sub.mayfly.test'), refusalOf('a@mayfly.test')]);
      const listed = (limit: number) => refusals.listByDomain('sub.mayfly.test', inbox.id, limit, T + 9);
      const all = ['"q@r"', 'held', 'inbox', 'a'].map((local) => ({ address: at(local) }));
      expect(await listed(9)).toMatchObject(all);
      expect(await listed(1)).toMatchObject(all.slice(0, 1));
    });
  });
}
