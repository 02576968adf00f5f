/**
 * `npm run soak [-- minutes]`, by default 20: one server under everything at once. 200 mails a second to 25
 * inboxes with 500 waits and 50 streams, a second account with a webhook that fails three times of ten, mails
 * that are expensive to read, senders that trickle, a wall clock that is stepped by an hour twice in each
 * direction, and a full disk of the log for up to a minute. Every answer is checked, and every attempt of the
 * webhook against its schedule. Exits with 1 after a wrong answer, a restart, memory and handles that grow, or
 * a budget that was missed while the machine had no other work.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Findings, measureOtherWork, type Usage, usageOf } from './soak/findings.ts';
import { MAILS_PER_SECOND, request, runLanes } from './soak/lanes.ts';
import { FIRST_ATTEMPT, openOtherAccount } from './soak/other-account.ts';
import { sendBombs, trickle } from './soak/senders.ts';
import { startTarget, type Target } from './soak/target.ts';
import { median } from './support/stats.ts';

const DEFAULT_MINUTES = 20;
const HOUR_MS = 3_600_000;
const SAMPLE_MS = 5_000;
const MAX_LOG_DISK_FULL_MS = 60_000;
/** Growth between the second quarter and the last that is not flat any more. */
const MAX_GROWTH_MIB = 96;
/** The load's own idle connections come and go by some hundred; a leak of one in a request makes thousands. */
const MAX_MORE_HANDLES = 300;
/** Promised beside any load of others (docs/internals/security.md), and of webhooks (docs/webhooks.md). */
const P99_BUDGETS_MS = {
  'other account: reply to the final dot': 100,
  'other account: a list': 100,
  [FIRST_ATTEMPT]: 1_000,
};
/** The share of the 200 mails a second that must be accepted for the run to count. */
const LEAST_LOAD = 0.9;
/** With more of the processors' time used by other programs the p99 say nothing about the server. */
const MAX_OTHER_WORK = 0.1;

const minutes = Number(process.argv[2] ?? DEFAULT_MINUTES);
if (!(minutes > 0)) {
  console.error(`"${process.argv[2]}" is not a number of minutes. Run: npm run soak -- 3`);
  process.exit(2);
}
const durationMs = minutes * 60_000;
const findings = new Findings();
const samples: Usage[] = [];
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

/** Resolves at a share of the run's time. */
const begunAt = performance.now();
const at = (share: number) => pause(Math.max(0, begunAt + share * durationMs - performance.now()));

async function stepClock(target: Target): Promise<void> {
  const create = { method: 'POST', path: '/v1/inboxes', body: { ttlMinutes: 30 }, expected: [201] };
  const { id } = await request(target, findings, create);
  const path = `/v1/inboxes/${id}`;
  await request(target, findings, { path });
  for (const [share, offset] of [
    [0.2, HOUR_MS],
    [0.4, 0],
    [0.6, -HOUR_MS],
    [0.8, 0],
  ] as const) {
    await at(share);
    target.shiftClock(offset);
    console.error(`the wall clock is ${offset / HOUR_MS} h ahead`);
    await pause(1_000);
    // An hour ahead its half hour is over. Later it lives again unless it was swept meanwhile.
    await request(target, findings, { path, expected: offset > 0 ? [410] : [200, 404, 410] });
  }
}

async function fillLogDisk(target: Target): Promise<void> {
  await at(0.45);
  if (!target.fillLogDisk()) {
    console.error('Skipped: the full disk of the log, because this user may not mount a small disk.');
    return;
  }
  console.error('the disk of the log is full');
  await pause(Math.min(MAX_LOG_DISK_FULL_MS, durationMs / 10));
  target.freeLogDisk();
}

async function sample(target: Target, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && !target.hasEnded()) {
    samples.push(usageOf(target.pid));
    await pause(SAMPLE_MS, undefined, { signal }).catch(() => undefined);
  }
  if (target.hasEnded()) findings.fail('the server has ended');
}

function checkUsage(): void {
  const quarter = Math.floor(samples.length / 4);
  const [early, late] = [samples.slice(quarter, 2 * quarter), samples.slice(-quarter)];
  const most = (of: Usage[], field: keyof Usage) => Math.max(...of.map((usage) => usage[field]));
  for (const [field, limit] of [
    ['memoryMib', MAX_GROWTH_MIB],
    ['handles', MAX_MORE_HANDLES],
  ] as const) {
    const [before, after] = [most(early, field), most(late, field)];
    const eighth = Math.max(1, Math.ceil(samples.length / 8));
    const course = Array.from({ length: 8 }, (_, n) => samples.slice(n * eighth, (n + 1) * eighth));
    const medians = course
      .filter((part) => part.length > 0)
      .map((part) => median(part.map((usage) => usage[field])));
    console.log(`${field}, medians of the eighths of the run: ${medians.join(' ')}`);
    console.log(`${field}: at most ${before} in the second quarter, ${after} in the last`);
    if (after > before + limit) findings.fail(`${field} grew from ${before} to ${after}`);
  }
}

/** Prints what was promised of times and load; returns how many budgets were missed. */
function checkBudgets(): number {
  const rate = (findings.counts.get('mails accepted') ?? 0) / (durationMs / 1000);
  const results = Object.entries(P99_BUDGETS_MS).map(([what, budget]) => ({
    text: `${what}: p99 ${Math.round(findings.p99(what))} ms, budget ${budget} ms`,
    isMet: findings.p99(what) <= budget,
  }));
  const text = `mails accepted a second: ${Math.round(rate)}, at least ${LEAST_LOAD * MAILS_PER_SECOND}`;
  results.push({ text, isMet: rate >= LEAST_LOAD * MAILS_PER_SECOND });
  for (const result of results) console.log(`${result.text}: ${result.isMet ? 'met' : 'missed'}`);
  return results.filter(({ isMet }) => !isMet).length;
}

const target = await startTarget();
const measureWork = measureOtherWork([process.pid, target.pid]);
const other = await openOtherAccount(target, findings);
const { address } = await request(target, findings, {
  method: 'POST',
  path: '/v1/inboxes',
  body: { ttlMinutes: 600 },
  expected: [201],
});
const over = AbortSignal.timeout(durationMs);
await Promise.all([
  runLanes(target, findings, over),
  other.run(over),
  sendBombs(target.smtpPort, address, findings, over),
  trickle(target.smtpPort, address, findings, over),
  stepClock(target),
  fillLogDisk(target),
  sample(target, over),
]);
await other.checkWebhooks();
const otherWork = measureWork();
const { code, ms } = await target.stop();
if (code !== 0) findings.fail(`the server ended with ${code}`);

console.log(`${minutes} minutes; the stop took ${Math.round(ms)} ms`);
checkUsage();
for (const [what, count] of findings.counts) console.log(`${what}: ${count}`);
for (const line of findings.timeLines()) console.log(line);
const missed = checkBudgets();
const isJudged = otherWork <= MAX_OTHER_WORK;
console.log(`other programs used ${Math.round(100 * otherWork)} % of the processors`);
if (missed > 0 && !isJudged) console.log('The budgets are not judged: the machine was busy with other work.');
console.log(`${findings.wrongCount} wrong answers`);
for (const text of findings.wrong) console.log(`- ${text}`);
process.exit(findings.wrongCount > 0 || (missed > 0 && isJudged) ? 1 : 0);
