import { describe, expect, it } from 'vitest';
import { type EndedWait, type FailedWait, MAX_FAILED_WAITS } from '../../../src/waits/sql.ts';
import { accountAt, mailTo, refusalOf, sweepAll, T } from '../builders.ts';
import type { Given } from './suite.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const NONE = { withMessages: 0, empty: 0 };
const NO_WAITS = { succeeded: 0, failed: 0, lists: NONE, streams: NONE, failures: [] };
const NO_REFUSALS = { count: 0, last: null };

interface Waited {
  id: string;
  accountId: string;
}

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
  const listRun = async (owner: string, labels: Record<string, string>, now = T) =>
    (await given.store.reports.listRun(owner, labels, now)).inboxes;

  describe('the report of a run', () => {
    it('has live, expired and deleted inboxes with their mail, for 24 h after their end', async () => {
      const on = await given.fresh();
      const { store } = on;
      const owner = await given.account(on);
      const labels = { run: '4711', 'a"b%_': '\\"}' };
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
      await store.waits.add([
        ...more,
        ...[heldOf(inbox, 'list', false), heldOf(inbox, 'list', false), heldOf(gone, 'stream', true)],
        // A wait often ends just before its test deletes the inbox.
        ...[waitOf(gone), waitOf({ ...gone, id: 'inb_unknown' })],
      ]);
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
      const on = await given.freshServer();
      const { store } = on;
      const owner = await given.account(on);
      const labels = { run: 'busy' };
      const all = await Promise.all(Array.from({ length: 10 }, () => given.inbox(owner, { labels }, on)));
      const rounds = Array.from({ length: 20 }, (_, round) =>
        Promise.all([
          store.waits.add(all.map((inbox) => waitOf(inbox))),
          store.messages.addBatch([mailTo(all.slice(5))], T),
          ...(round < 5 ? [store.inboxes.delete(owner, all[round]?.id ?? '', T)] : []),
        ]),
      );
      await Promise.all(rounds);
      const { inboxes } = await store.reports.listRun(owner, labels, T);
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
