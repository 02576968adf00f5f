import { describe, expect, it } from 'vitest';
import type { InboxRecord } from '../../../src/inboxes/records.ts';
import { MAX_RUN_INBOXES } from '../../../src/reports/sql.ts';
import { type EndedWait, type FailedWait, MAX_FAILED_WAITS } from '../../../src/waits/sql.ts';
import { mailTo, T } from '../builders.ts';
import type { Given } from './suite.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const NONE = { withMessages: 0, empty: 0 };
const NO_WAITS = { succeeded: 0, failed: 0, lists: NONE, streams: NONE, failures: [] };
const NO_REFUSALS = { count: 0, last: null };

const failedAt = (at: number): FailedWait => ({
  ...{ waitId: 'wai_1', at, waitedMs: 5, count: 1, match: { subject: 'NUL \0 \ud800' }, reason: 'timeout' },
  ...{ seenCount: 0, summary: 'No message arrived.' },
});
const waitOf = (
  { id, accountId }: { id: string; accountId: string },
  failed: FailedWait | null,
): EndedWait => ({
  ...{ accountId, inboxId: id, kind: 'wait', failed },
});

/** Reports of test runs. */
export function describeReports(given: Given): void {
  describe('the report of a run', () => {
    it('has live, expired and deleted inboxes with their mail, for 24 h after their end', async () => {
      const on = await given.fresh();
      const { store } = on;
      const owner = await given.account(on);
      const labels = { run: '4711', worker: '1' };
      const live = await given.inbox(owner, { labels, expiresAt: T + 3 * HOUR }, on);
      const expired = await given.inbox(owner, { labels }, on);
      const deleted = await given.inbox(owner, { labels }, on);
      await given.inbox(owner, { labels: { run: '4712' } }, on);
      await given.inbox(owner, {}, on);
      await store.messages.addBatch([mailTo([live, deleted])], T + 10);
      await store.messages.addBatch([mailTo([live]), mailTo([live])], T + 20);
      await store.messages.deleteAll(live.id, T + 30);
      await store.inboxes.delete(owner, deleted.id, T + 40);
      await given.inbox(owner, { labels: { run: '4711' }, expiresAt: T + 3 * HOUR }, on);

      const now = T + 2 * HOUR;
      const { inboxes, totals } = await store.reports.listRun(owner, labels, now);
      const base = { labels, createdAt: T, waits: NO_WAITS, refusals: NO_REFUSALS };
      expect(inboxes).toEqual(
        [
          {
            ...{ ...base, id: live.id, address: live.address, state: 'live', endedAt: null },
            ...{ received: 3, firstReceivedAt: T + 10 },
          },
          {
            ...{ ...base, id: expired.id, address: expired.address, state: 'expired', endedAt: T + HOUR },
            ...{ received: 0, firstReceivedAt: null },
          },
          {
            ...{ ...base, id: deleted.id, address: deleted.address, state: 'deleted', endedAt: T + 40 },
            ...{ received: 1, firstReceivedAt: T + 10 },
          },
        ].toSorted((a, b) => (a.id < b.id ? 1 : -1)),
      );
      expect(totals.inboxes).toBe(3);
      expect((await store.reports.listRun(owner, { run: '4711' }, now)).inboxes).toHaveLength(4);
      const states = async (at: number) =>
        (await store.reports.listRun(owner, labels, at)).inboxes.map(({ state }) => state).sort();
      expect(await states(T + 40 + DAY - 1)).toEqual(['deleted', 'expired', 'expired']);
      expect(await states(T + 40 + DAY)).toEqual(['expired', 'expired']);
      while ((await store.upkeep.sweep(T + 40 + DAY, 1000)) > 0);
      expect(await states(T + 40 + DAY - 1)).toEqual(['expired', 'expired']);
      expect(await states(T + DAY + 3 * HOUR)).toEqual([]);
    });

    it('has the waits of each inbox, the first failed ones with their explanation, also of a deleted one', async () => {
      const owner = await given.account();
      const labels = { run: 'waits' };
      const [inbox, gone] = [await given.inbox(owner, { labels }), await given.inbox(owner, { labels })];
      const { store } = given;
      const { reports, inboxes } = store;
      await store.waits.add([waitOf(inbox, null), waitOf(gone, failedAt(T)), waitOf(inbox, failedAt(T))]);
      await inboxes.delete(owner, gone.id, T);
      const more = Array.from({ length: 2 * MAX_FAILED_WAITS }, (_, n) => waitOf(inbox, failedAt(T + n + 1)));
      // A wait often ends just before its test deletes the inbox.
      await store.waits.add([...more, waitOf(gone, null), waitOf({ ...gone, id: 'inb_unknown' }, null)]);
      const run = (await reports.listRun(owner, labels, T)).inboxes;
      const waits = new Map(run.map((one) => [one.id, one.waits]));
      expect(waits.get(gone.id)).toEqual({ ...NO_WAITS, succeeded: 1, failed: 1, failures: [failedAt(T)] });
      expect(waits.get(inbox.id)).toEqual({
        ...{ ...NO_WAITS, succeeded: 1, failed: 1 + 2 * MAX_FAILED_WAITS },
        failures: Array.from({ length: MAX_FAILED_WAITS }, (_, n) => failedAt(T + n)),
      });
    });

    it('has the lists that waited and the streams of each inbox', async () => {
      const owner = await given.account();
      const labels = { run: 'held' };
      const [inbox, gone] = [await given.inbox(owner, { labels }), await given.inbox(owner, { labels })];
      const { store } = given;
      const { reports, inboxes } = store;
      const held = ({ id }: InboxRecord, kind: 'list' | 'stream', hadMessages: boolean): EndedWait => ({
        ...{ accountId: owner, inboxId: id, kind, hadMessages },
      });
      await store.waits.add([held(inbox, 'list', true), waitOf(inbox, null), held(gone, 'stream', false)]);
      await inboxes.delete(owner, gone.id, T);
      await store.waits.add([
        held(inbox, 'list', false),
        held(inbox, 'list', false),
        held(gone, 'stream', true),
      ]);
      const run = (await reports.listRun(owner, labels, T)).inboxes;
      const waits = new Map(run.map((one) => [one.id, one.waits]));
      expect(waits.get(inbox.id)).toEqual({
        ...NO_WAITS,
        succeeded: 1,
        lists: { withMessages: 1, empty: 2 },
      });
      expect(waits.get(gone.id)).toEqual({ ...NO_WAITS, streams: { withMessages: 1, empty: 1 } });
    });

    it('has every wait when many end at once, while mail comes and inboxes are deleted', async () => {
      const on = await given.freshServer();
      const owner = await given.account(on);
      const labels = { run: 'busy' };
      const all: InboxRecord[] = [];
      for (let n = 0; n < 10; n++) all.push(await given.inbox(owner, { labels }, on));
      const { store } = on;
      const rounds = Array.from({ length: 20 }, async (_, round) => {
        await Promise.all([
          store.waits.add(all.map((inbox) => waitOf(inbox, null))),
          store.messages.addBatch([mailTo(all.slice(5))], T),
          ...(round < 5 ? [store.inboxes.delete(owner, all[round]?.id ?? '', T)] : []),
        ]);
      });
      await Promise.all(rounds);
      const { inboxes } = await store.reports.listRun(owner, labels, T);
      expect(inboxes.map(({ waits }) => waits.succeeded)).toEqual(all.map(() => 20));
      expect(inboxes.filter(({ state }) => state === 'deleted')).toHaveLength(5);
      expect(inboxes.filter(({ received }) => received === 20)).toHaveLength(5);
    });

    it('has the refusals of each address since the creation of the inbox', async () => {
      const owner = await given.account();
      const labels = { run: 'refusals' };
      const first = await given.inbox(owner, { labels });
      const refusal = (at: number, reply: string) => ({
        ...{
          at,
          address: first.address,
          reply,
          mailFrom: 'a@x.example',
          helo: 'x',
          remoteAddress: '192.0.2.1',
        },
      });
      const fault = { rule: 1, at: 'rcpt' as const, delayMs: 5, disconnect: false };
      await given.store.refusals.add([
        { ...refusal(T + 1, '452 full'), mailFrom: '"fault":@x.example' },
        refusal(T + 2, '550 \0 none'),
        { ...refusal(T + 3, '451 asked for'), fault },
      ]);
      await given.store.inboxes.delete(owner, first.id, T + 3);
      const second = await given.inbox(owner, { labels, address: first.address, createdAt: T + 5 });
      await given.store.refusals.add([refusal(T - 1, '550 before'), refusal(T + 6, '451 later')]);
      const run = (await given.store.reports.listRun(owner, labels, T + 10)).inboxes;
      const { mailFrom, remoteAddress } = refusal(0, '');
      expect(run.map(({ id, refusals }) => [id, refusals])).toEqual([
        [second.id, { count: 1, last: { at: T + 6, reply: '451 later', mailFrom, remoteAddress } }],
        [first.id, { count: 2, last: { at: T + 2, reply: '550 \0 none', mailFrom, remoteAddress } }],
      ]);
    });

    it('leads to what a failed wait has explained, whose content is removed with the inbox', async () => {
      const on = await given.fresh();
      const owner = await given.account(on);
      const { store } = on;
      const { inboxes, accounts } = store;
      const [one, other] = [await given.inbox(owner, {}, on), await given.inbox(owner, {}, on)];
      const explained = (id: string, { id: inboxId }: InboxRecord) => ({
        ...{ id, accountId: owner, inboxId, endedAt: T },
        ...{ plain: '"NUL \\u0000"', content: '"\\ud800"' },
      });
      await store.waits.addExplained([explained('wai_1', one), explained('wai_2', other)]);
      const whole = { plain: '"NUL \\u0000"', content: '"\\ud800"' };
      expect(await store.waits.find(owner, one.id, 'wai_1', T)).toEqual(whole);
      expect(await store.waits.find(owner, other.id, 'wai_1', T)).toBeUndefined();
      await inboxes.delete(owner, one.id, T);
      const plain = { ...whole, content: null };
      expect(await store.waits.find(owner, one.id, 'wai_1', T)).toEqual(plain);
      // A wait that ended with its inbox is stored after it.
      await store.waits.addExplained([explained('wai_3', one)]);
      expect(await store.waits.find(owner, one.id, 'wai_3', T)).toEqual(plain);
      expect(await store.waits.find(owner, other.id, 'wai_2', T + HOUR)).toEqual(plain);
      expect(await store.waits.find(owner, other.id, 'wai_2', T + DAY)).toBeUndefined();
      await accounts.create({ id: 'acc_left', name: 'b', plan: 'free', createdAt: T }, null);
      await accounts.delete(owner, T);
      await store.waits.addExplained([explained('wai_4', other)]);
      expect(await on.counts()).toMatchObject({ failed_waits: 0 });
    });

    it('has nothing of another account, and nothing of a deleted account is kept', async () => {
      const on = await given.fresh();
      const [owner, stranger] = [await given.account(on), await given.account(on)];
      const labels = { run: 'mine', 'a"b%_': '\\"}' };
      const inbox = await given.inbox(owner, { labels }, on);
      const deleted = await given.inbox(owner, { labels }, on);
      await on.store.inboxes.delete(owner, deleted.id, T);
      await on.store.waits.add([waitOf(inbox, null), waitOf(deleted, null)]);
      const { reports } = on.store;
      expect((await reports.listRun(owner, labels, T)).inboxes).toHaveLength(2);
      expect((await reports.listRun(owner, { ...labels, run: 'min' }, T)).inboxes).toEqual([]);
      expect((await reports.listRun(owner, { 'a"b%_': '' }, T)).inboxes).toEqual([]);
      expect((await reports.listRun(stranger, labels, T)).inboxes).toEqual([]);
      await on.store.accounts.delete(owner, T);
      expect((await reports.listRun(owner, labels, T)).inboxes).toEqual([]);
      expect(await on.counts()).toMatchObject({ inboxes: 0, inbox_waits: 0, deleted_inboxes: 0 });
    });
  });
}

/** The report of a run of thousands of inboxes. */
export function describeLargeReports(given: Given): void {
  it('counts all inboxes where there are more than a report shows, and prefers those with a problem', async () => {
    const owner = await given.account();
    const labels = { run: 'large', project: 'shop' };
    const { store } = given;
    const { inboxes, reports, refusals } = store;
    const ALL = 2 * MAX_RUN_INBOXES;
    const address = 'again@mayfly.test';
    const oldest = await given.inbox(owner, { labels, address, createdAt: T });
    const refusal = { mailFrom: 'a@x.example', helo: 'x', remoteAddress: '192.0.2.1', address };
    await refusals.add([{ ...refusal, at: T + 1, reply: '452 old' }]);
    await inboxes.delete(owner, oldest.id, T + 1);
    let made = 2;
    const many = async () => {
      while (made < ALL) await given.inbox(owner, { labels, createdAt: T + 1 + made++ });
    };
    // Several at a time share the writes to disk.
    await Promise.all(Array.from({ length: 10 }, many));
    const newest = await given.inbox(owner, { labels, address, createdAt: T + 2 * ALL });
    await refusals.add([{ ...refusal, at: T + 2 * ALL + 1, reply: '452 new' }]);
    await store.waits.add([waitOf(oldest, failedAt(T)), waitOf(newest, null)]);

    const now = T + 2 * ALL + 2;
    const run = await reports.listRun(owner, { run: 'large' }, now);
    expect(run.totals).toEqual({
      ...{
        inboxes: ALL,
        inboxesWithoutMail: ALL,
        messages: 0,
        waitsSucceeded: 1,
        waitsFailed: 1,
        refusals: 2,
      },
      ...{ lists: NONE, streams: NONE },
    });
    expect(run.inboxes).toHaveLength(MAX_RUN_INBOXES);
    const ids = run.inboxes.map(({ id }) => id);
    expect(ids).toEqual(ids.toSorted().toReversed());
    expect([ids[0], ids.at(-1)]).toEqual([newest.id, oldest.id]);
    expect(run.inboxes.at(-1)?.refusals).toMatchObject({ count: 1, last: { reply: '452 old' } });

    await given.inbox(owner, { labels: { run: 'small' }, createdAt: now });
    expect(await reports.listLabels(owner, 'run', 9, now)).toEqual([
      { name: 'run', value: 'small', inboxes: 1, newestAt: now },
      { name: 'run', value: 'large', inboxes: ALL - 1, newestAt: T + 2 * ALL },
    ]);
    expect(await reports.listLabels(owner, null, 9, now)).toHaveLength(3);
    expect(await reports.listLabels(owner, null, 1, now)).toHaveLength(1);
    expect(await reports.listLabels(owner, 'ru', 9, now)).toEqual([]);
    expect(await reports.listLabels(await given.account(), null, 9, now)).toEqual([]);
  });
}
