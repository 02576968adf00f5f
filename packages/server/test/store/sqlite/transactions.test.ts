import { DatabaseSync } from 'node:sqlite';
import { afterEach, describe, expect, it } from 'vitest';
import { Transactions } from '../../../src/database/sqlite/transactions.ts';

const databases: DatabaseSync[] = [];
afterEach(() => {
  for (const database of databases.splice(0)) database.close();
});

/** Transactions on a database in memory, and what was written in each. */
function open() {
  const database = new DatabaseSync(':memory:');
  databases.push(database);
  const commits: string[][] = [];
  const nothing = () => undefined;
  const beforeTransaction = () => void commits.push([]);
  const hooks = { beforeTransaction, afterCommit: nothing, makeSpace: nothing, onBroken: nothing };
  const transactions = new Transactions(database, hooks);
  const note = (name: string) => async (): Promise<void> => void commits.at(-1)?.push(name);
  return { transactions, commits, note };
}

describe('calls beside the steps of something long', () => {
  it('have a transaction before each step, and share none with it', async () => {
    const { transactions, commits, note } = open();
    let calls: Promise<void>[] = [];
    const first = transactions.run(async () => {
      await note('step 1')();
      calls = [transactions.run(note('call 1')), transactions.run(note('call 2'))];
    }, 'step');
    const others = ['step 2', 'step 3'].map((name) => transactions.run(note(name), 'step'));
    await Promise.all([first, ...others]);
    await Promise.all(calls);
    expect(commits).toEqual([['step 1'], ['call 1', 'call 2'], ['step 2'], ['step 3']]);
  });

  it('do not keep the steps from ending, however many follow each other', async () => {
    const { transactions, commits, note } = open();
    let isDone = false;
    const calls = async (): Promise<void> => {
      while (!isDone) await transactions.run(note('call'));
    };
    const busy = calls();
    for (let step = 0; step < 10; step++) await transactions.run(note('step'), 'step');
    isDone = true;
    await busy;
    expect(commits.length).toBeLessThan(30);
  });
});
