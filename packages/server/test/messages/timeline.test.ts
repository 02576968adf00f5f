import { describe, expect, it } from 'vitest';
import { NO_CONTENT } from '../../src/mail/mail.ts';
import { decodeTrail, encodeTrail, type Trail } from '../../src/mail/trail.ts';
import type { FullMessageRecord } from '../../src/messages/records.ts';
import { timelineOf } from '../../src/messages/timeline-api.ts';
import { SILENT_SUMMARY } from '../support/mail/silent-mail.ts';

const T = Date.UTC(2026, 2, 4, 5, 6, 7);
const OURS = 'from app ([127.0.0.1])\tby mayfly with ESMTP id 1; Wed, 4 Mar 2026 05:06:07 +0000';

const SESSION: Trail = [
  { event: 'connected', at: T },
  { event: 'mail-from', at: T + 2 },
  { event: 'rcpt-to', at: T + 3 },
  { event: 'data', at: T + 3 },
  { event: 'end-of-data', at: T + 10 },
  { event: 'parsed', at: T + 14 },
];

/** A message received by SMTP. @param headers `[name, value]`, below our own Received header */
function messageOf(headers: [string, string][], trail: Trail = SESSION): FullMessageRecord {
  const all: [string, string][] = trail.length > 0 ? [['Received', OURS], ...headers] : headers;
  return {
    ...{ id: 'msg_1', inboxId: 'inb_1', accountId: 'acc_1', receivedAt: T + 15, size: 100, contentBytes: 1 },
    ...{ rcptTo: ['a+b@mayfly.test'], parseError: null, summary: SILENT_SUMMARY, authentication: null },
    envelope: { mailFrom: 'app@shop.example', helo: 'app', remoteAddress: '127.0.0.1', tls: false },
    content: { ...NO_CONTENT, headers: all.map(([name, value]) => ({ name, value })) },
    ...{ index: null, isPartial: false, trail, readAt: null, tags: [] },
  };
}

const NOTHING = { deliveries: [], attempts: [], repliedAt: null };
const rows = (message: FullMessageRecord) =>
  timelineOf(message, NOTHING).map(({ event, sincePreviousMs }) => [event, sincePreviousMs]);
const notes = (message: FullMessageRecord) =>
  timelineOf(message, NOTHING).flatMap(({ event, note }) => (note === null ? [] : [[event, note]]));
const date = (value: string): [string, string] => ['Date', value];
const hop = (time: string): [string, string] => ['Received', `from a\r\n by b (x; y);\r\n ${time}`];

describe('a timeline', () => {
  it('goes from the Date header over the hops and the session to the commit', () => {
    const message = messageOf([
      hop('Wed, 4 Mar 2026 05:06:06 +0000'),
      hop('Wed, 4 Mar 2026 06:06:04 +0100'),
      date('Wed, 4 Mar 2026 00:06:03 -0500'),
    ]);
    expect(rows(message)).toEqual([
      ['date-header', null],
      ['received-header', 1000],
      ['received-header', 2000],
      ['connected', 1000],
      ['mail-from', 2],
      ['rcpt-to', 1],
      ['data', 0],
      ['end-of-data', 7],
      ['parsed', 4],
      ['committed', 1],
    ]);
    expect(notes(message)).toEqual([]);
    const details = timelineOf(message, NOTHING).map(({ detail }) => detail);
    expect(details[1]).toBe('Received: from a by b (x; y)');
    expect(details[4]).toBe('MAIL FROM:<app@shop.example>');
    expect(details[5]).toBe('RCPT TO:<a+b@mayfly.test>');
  });

  it('begins with the connection when the application kept it and wrote the mail later', () => {
    const trail = SESSION.map((step, index) => (index === 0 ? { ...step, at: T - 60_000 } : step));
    const message = messageOf([date('Wed, 4 Mar 2026 05:06:07 +0000')], trail);
    expect(rows(message).slice(0, 3)).toEqual([
      ['connected', null],
      ['date-header', 60_000],
      ['mail-from', 2],
    ]);
  });

  const UNREADABLE = /^The time could not be read\.$/;
  const AHEAD = /^This time is 3599990 ms after .*: the clock that wrote it is ahead\.$/;
  const hops = [hop('Thu, 5 Mar 2026 05:06:07 +0000'), hop('Wed, 4 Mar 2026 04:06:07 +0000')];
  it.each<[string, [string, string][], string, RegExp[]]>([
    ['the Date header is in the future', [date('Wed, 4 Mar 2026 06:06:07 +0000')], 'date-header', [AHEAD]],
    [
      'hops are out of order, or ahead of this server',
      [...hops, date('Wed, 4 Mar 2026 05:06:01 +0000')],
      'received-header',
      [/^This time is 3594000 ms before the one a/, /^This time is 86399990 ms after the messa/],
    ],
    ['hops are unreadable', [hop('x'), ['Received', 'nothing']], 'received-header', [UNREADABLE, UNREADABLE]],
    ['the Date header is unreadable', [date('yesterday')], 'date-header', [UNREADABLE]],
  ])('says when %s, and goes on', (_, headers, event, expected) => {
    const message = messageOf(headers);
    expect(notes(message)).toEqual(expected.map((note) => [event, expect.stringMatching(note)]));
    expect(rows(message).at(-1)?.[0]).toBe('committed');
  });

  it('says when the Date header is missing', () => {
    expect(timelineOf(messageOf([]), NOTHING)[0]?.detail).toBe('The message has no Date header.');
  });

  it('says when a clock of Mayfly ran back', () => {
    const trail = SESSION.map((step, index) => (index > 3 ? { ...step, at: step.at - 5_000 } : step));
    const message = { ...messageOf([date('Wed, 4 Mar 2026 05:06:02 +0000')], trail), receivedAt: T - 4_000 };
    const [[event, note] = []] = notes(message);
    expect(event).toBe('end-of-data');
    expect(note).toContain('4993 ms before the one above: the clock of this server was set back');
  });

  it('shows faults before the message, and attempts of webhooks with their outcome, by time', () => {
    const trail: Trail = [
      { event: 'connected', at: T - 50 },
      { event: 'fault', at: T - 20, detail: '451 at end-of-data' },
      ...SESSION.slice(1),
    ];
    const attempt = (at: number, status: number | null, code: string | null) => ({
      ...{ at, status, durationMs: 7, responseStart: 'secret' },
      error: code === null ? null : { code, message: 'secret' },
    });
    const deliveries = ['whk_1', 'whk_2'].map((webhookId, index) => ({
      ...{ id: `dlv_${index}`, webhookId, eventId: 'evt_1', inboxId: 'inb_1', messageId: 'msg_1' },
      ...{ state: 'delivered' as const, reason: null, createdAt: T, nextAttemptAt: null },
      attempts: [attempt(T + 30 + index, 500, 'status'), attempt(T + 5_000 - index, null, 'timeout')],
    }));
    const timeline = timelineOf(messageOf([], trail), { ...NOTHING, deliveries });
    const faults = timeline.filter(({ event }) => event === 'fault');
    expect(faults).toMatchObject([{ detail: '451 at end-of-data' }]);
    expect(timeline.flatMap(({ webhook }) => webhook ?? [])).toEqual([
      { webhookId: 'whk_1', deliveryId: 'dlv_0', attempt: 1, status: 500, durationMs: 7, error: 'status' },
      { webhookId: 'whk_2', deliveryId: 'dlv_1', attempt: 1, status: 500, durationMs: 7, error: 'status' },
      { webhookId: 'whk_2', deliveryId: 'dlv_1', attempt: 2, status: null, durationMs: 7, error: 'timeout' },
      { webhookId: 'whk_1', deliveryId: 'dlv_0', attempt: 2, status: null, durationMs: 7, error: 'timeout' },
    ]);
    expect(JSON.stringify(timeline)).not.toContain('secret');
  });

  it('shows attempts that were put off where they belong by time, and the 250 after the commit', () => {
    const refusal = (at: number, reply: string) => ({
      ...{ at, reply, address: 'a@mayfly.test', mailFrom: '', helo: '', remoteAddress: '192.0.2.1' },
    });
    const fault = { rule: 1, at: 'rcpt' as const, delayMs: 5, disconnect: true };
    const attempts = [
      { ...refusal(T - 9_000, '451 4.7.1 Later'), fault },
      refusal(T - 8_000, ''),
      refusal(T + 3, '452 4.2.2 Inbox is full'),
    ];
    const facts = { ...NOTHING, attempts, repliedAt: T + 40 };
    const timeline = timelineOf(messageOf([date('Wed, 4 Mar 2026 05:05:00 +0000')]), facts);
    expect(timeline.map(({ event }) => event)).toEqual([
      ...['date-header', 'earlier-attempt', 'earlier-attempt', 'connected', 'mail-from', 'rcpt-to'],
      ...['data', 'earlier-attempt', 'end-of-data', 'parsed', 'committed', 'replied'],
    ]);
    expect(timeline.filter(({ event }) => event === 'earlier-attempt').map(({ detail }) => detail)).toEqual([
      'The same sender, from 192.0.2.1: 451 4.7.1 Later, connection closed, delayed by 5 ms (fault rule 1 at rcpt)',
      'The same sender, from 192.0.2.1: the connection ended in the middle of the message',
      'The same sender, from 192.0.2.1: 452 4.2.2 Inbox is full',
    ]);
    expect(timeline.at(-1)?.sincePreviousMs).toBe(25);
  });

  it('of a message stored without a trail has its headers and the commit', () => {
    const message = messageOf([['Received', OURS], date('Wed, 4 Mar 2026 05:06:07 +0000')], []);
    expect(rows(message)).toEqual([
      ['date-header', null],
      ['received-header', 0],
      ['committed', 15],
    ]);
  });

  it('is short for a message with a hundred thousand Received headers', () => {
    const many = Array.from({ length: 100_000 }, (): [string, string] => ['Received', 'x'.repeat(10_000)]);
    const timeline = timelineOf(messageOf(many), NOTHING);
    expect(timeline.length).toBeLessThan(120);
    expect(JSON.stringify(timeline).length).toBeLessThan(64 * 1024);
  });
});

describe('a stored trail', () => {
  it('takes about 170 bytes for a plain session', () => {
    expect(encodeTrail(SESSION).length).toBeLessThan(180);
  });

  it('is empty where none was stored, and where it is damaged', () => {
    expect(decodeTrail('')).toEqual([]);
    expect(decodeTrail('[["connected",')).toEqual([]);
  });
});
