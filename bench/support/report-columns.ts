import { DatabaseSync } from 'node:sqlite';
import { LRUCache } from 'lru-cache';

const STATEMENTS_PER_ROUND = 20_000;
const ROWS = 20;
const REPLIES = 100_000;

/** The update of an inbox's row by a batch, as in messages/sql/adding.ts, with and without what reports need. */
const BASE = 'update inboxes set message_count = ?1, last_received_at = ?2, version = version + ?3';
const REPORT = `, received_messages = received_messages + ?3,
  first_received_at = case first_received_at when 0 then ?2 else first_received_at end`;

/** @returns rounds of microseconds of CPU for one update: with the columns of reports, and without */
export function reportColumnRounds(rounds: number): { ours: number; baseline: number }[] {
  const database = new DatabaseSync(':memory:');
  database.exec(`create table inboxes (seq integer primary key, message_count int, last_received_at int,
    version int, received_messages int, first_received_at int)`);
  for (let seq = 0; seq < ROWS; seq++) {
    database.prepare('insert into inboxes values (?, 0, 0, 0, 0, 0)').run(seq);
  }
  const timed = (sql: string): number => {
    const update = database.prepare(`${sql} where seq = ?4`);
    database.exec('begin');
    const before = process.cpuUsage();
    for (let n = 0; n < STATEMENTS_PER_ROUND; n++) update.run(n, 1_795_334_289_000 + n, 1, n % ROWS);
    const { user, system } = process.cpuUsage(before);
    database.exec('commit');
    return (user + system) / STATEMENTS_PER_ROUND;
  };
  timed(BASE + REPORT);
  return Array.from({ length: rounds }, (_, round) => {
    const [first, second] = round % 2 === 0 ? [BASE + REPORT, BASE] : [BASE, BASE + REPORT];
    const [a, b] = [timed(first), timed(second)];
    return round % 2 === 0 ? { ours: a, baseline: b } : { ours: b, baseline: a };
  });
}

/** @returns microseconds of CPU to note the time of one reply */
export function replyTimeCosts(): number {
  const lists = Array.from({ length: REPLIES }, (_, n) => [`msg_${String(n).padStart(26, '0')}`]);
  const times = new LRUCache<string, number>({ max: 20_000 });
  const before = process.cpuUsage();
  for (const ids of lists) for (const id of ids) times.set(id, 1_795_334_289_000);
  const { user, system } = process.cpuUsage(before);
  if (times.get(lists.at(-1)?.[0] ?? '') === undefined) throw new Error('The last reply is not known.');
  return (user + system) / REPLIES;
}
