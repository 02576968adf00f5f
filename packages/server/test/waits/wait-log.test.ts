import type { SeenMessage } from '@mayfly/client/contract';
import { describe, expect, it } from 'vitest';
import type { InboxRecord } from '../../src/inboxes/records.ts';
import type { Explanation } from '../../src/waits/outcome.ts';
import type { EndedWait, ExplainedWait } from '../../src/waits/sql.ts';
import { createWaitLog } from '../../src/waits/wait-log.ts';
import { inboxAt } from '../store/builders.ts';
import { FakeClock } from '../support/fake-clock.ts';

const inboxWith = (labels: Record<string, string>): InboxRecord => ({
  ...{ ...inboxAt(), accountId: 'acc_1', labels, replay: 'none' },
  ...{ messageCount: 0, receivedCount: 0, lastReceivedAt: 0, version: 0 },
});
const labelled = inboxWith({ run: '1' });
const expectation = { match: {}, count: 1, waitMs: 5, waitedMs: 0 };
const succeeded = [{ matched: true, explanation: null, waitedMs: 5 }, null] as const;
const NOTHING = { refused: [], nearMisses: [], otherMail: [], failedHandshakes: [] };
const failed = (reason: Explanation['reason'], plainSummary = 'None.', seen: SeenMessage[] = []) => {
  const wire = { reason, summary: 'with content', causes: [], seenCount: 0, ...NOTHING, seen };
  const explanation = { ...wire, plainSummary, causes: [], seen: [], refused: [] };
  return [{ matched: false, waitedMs: 5, explanation }, wire] as const;
};

const failureIn = ([ended]: EndedWait[] = []) => (ended?.kind === 'wait' ? ended.failed : undefined);

/** A log whose store notes each batch. */
function start() {
  const batches: EndedWait[][] = [];
  const add = async (waits: EndedWait[]) => void batches.push(waits);
  const explained: ExplainedWait[] = [];
  const addExplained = async (waits: ExplainedWait[]) => void explained.push(...waits);
  const log = createWaitLog({ add, addExplained }, new FakeClock(), () => undefined);
  return { batches, explained, log };
}

describe('the log of waits', () => {
  it('stores what a wait has explained, also without labels, and bounds what messages said in it', async () => {
    const { batches, explained, log } = start();
    const seen = { message: { subject: 'x'.repeat(10_000) }, failed: [] } as unknown as SeenMessage;
    const [ended, wire] = failed('timeout', undefined, Array(20).fill(seen));
    const id = log.add(inboxWith({}), expectation, ended, wire);
    await log.flushed();
    expect(batches).toEqual([]);
    expect(explained).toMatchObject([{ id, accountId: 'acc_1' }]);
    expect(explained[0]?.plain).not.toContain('with content');
    expect(JSON.parse(explained[0]?.content ?? '')).toMatchObject({ summary: 'with content' });
    expect(explained[0]?.content.length).toBeLessThan(70_000);
  });

  it('stores nothing of inboxes without labels, and of waits that a stop of the server ended', async () => {
    const { batches, log } = start();
    log.add(inboxWith({}), expectation, ...succeeded);
    log.add(labelled, expectation, ...failed('server_stopping'));
    await log.flushed();
    expect(batches).toEqual([]);
  });

  it('cuts long conditions and summaries', async () => {
    const { batches, log } = start();
    const match = { subject: 'x'.repeat(500), link: { href: 'y'.repeat(500) }, code: true };
    log.add(labelled, { ...expectation, match }, ...failed('timeout', 'z'.repeat(9_000)));
    await log.flushed();
    const stored = failureIn(batches[0]);
    expect(stored?.match.code).toBe('true');
    expect(JSON.stringify(stored).length).toBeLessThan(1_000);
  });

  it('keeps at most 1,000 in memory while the store does not answer', async () => {
    const { batches, log } = start();
    for (let n = 0; n < 3_000; n++) log.add(labelled, expectation, ...succeeded);
    await log.flushed();
    expect(batches.flat()).toHaveLength(1_000);
  });
});
