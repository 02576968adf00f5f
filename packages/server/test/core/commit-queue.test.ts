import { describe, expect, it } from 'vitest';
import { createCommitQueue } from '../../src/core/commit-queue.ts';
import type { NewMail, Placed } from '../../src/store/store.ts';
import { FakeClock } from '../support/fake-clock.ts';

function mail(bytes: number): NewMail {
  const nothing = new Uint8Array();
  return {
    raw: new Uint8Array(bytes),
    summary: nothing,
    content: nothing,
    parseError: null,
    envelope: { mailFrom: '', helo: '', remoteAddress: '', tls: false },
    authentication: null,
    recipients: [],
  };
}

/** A store whose commits end when the test says so. */
function slowStore() {
  const commits: { mails: NewMail[]; end(error?: Error): void }[] = [];
  const addBatch = (mails: NewMail[]) =>
    new Promise<Placed[][]>((resolve, reject) => {
      commits.push({ mails, end: (error) => (error ? reject(error) : resolve(mails.map(() => []))) });
    });
  return { commits, addBatch };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('the commit queue', () => {
  it('commits a lone mail at once, and gathers the next batch while a commit runs', async () => {
    const store = slowStore();
    const queue = createCommitQueue(store, new FakeClock());
    const first = queue.add(mail(10));
    expect(store.commits).toHaveLength(1);
    const others = [1, 2, 3].map(() => queue.add(mail(10)));
    expect(store.commits).toHaveLength(1);
    store.commits[0]?.end();
    await first;
    await turn();
    expect(store.commits[1]?.mails).toHaveLength(3);
    store.commits[1]?.end();
    await Promise.all(others);
    await queue.drained();
  });

  it('tells every mail of a batch that its commit failed, and goes on', async () => {
    const store = slowStore();
    const queue = createCommitQueue(store, new FakeClock());
    const lost = queue.add(mail(10)).catch((error: Error) => error.message);
    store.commits[0]?.end(new Error('disk full'));
    expect(await lost).toBe('disk full');
    const next = queue.add(mail(10));
    await turn();
    store.commits[1]?.end();
    await expect(next).resolves.toEqual([]);
  });

  it('bounds a batch by its bytes, yet takes a mail larger than the bound alone', async () => {
    const store = slowStore();
    const queue = createCommitQueue(store, new FakeClock());
    const MIB = 1024 * 1024;
    const all = [1, 10, 10, 40].map((size) => queue.add(mail(size * MIB)));
    const sizes: number[][] = [];
    for (let commit = 0; commit < 4; commit++) {
      const { mails = [], end = () => undefined } = store.commits[commit] ?? {};
      sizes.push(mails.map(({ raw }) => raw.length / MIB));
      end();
      await turn();
    }
    await Promise.all(all);
    expect(sizes).toEqual([[1], [10], [10], [40]]);
  });
});
