import { setTimeout as pause } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { RETRY_DELAYS_MS } from '../../packages/server/src/webhooks/schedule.ts';
import { type HttpReceiver, startHttp } from '../../packages/server/test/webhooks/receivers.ts';
import type { Findings } from './findings.ts';
import { request } from './lanes.ts';
import { HonestSender } from './senders.ts';
import type { Target } from './target.ts';

/** Of ten attempts of a webhook, so many are answered 500. */
const FAILURES_OF_TEN = 3;
const MAIL_EVERY_MS = 500;
const READ_EVERY_MS = 100;
/** A first attempt that comes later than this after the 250 is a wrong answer, also on a busy machine. */
const FIRST_ATTEMPT_MS = 5_000;
/** What a first attempt's delay is called among the durations. */
export const FIRST_ATTEMPT = 'other account: 250 until the webhook';
/** The jitter of a retry's delay, and how much earlier and later a retry may reach the receiver. */
const JITTER = 0.2;
const EARLY_MS = 50;
const RETRY_LATE_MS = 10_000;

/** An account beside the busy one: it must not notice the load. */
export interface OtherAccount {
  /** Sends, reads and receives webhooks until the signal. */
  run(signal: AbortSignal): Promise<void>;
  /** After the run: every mail had its webhook attempts. */
  checkWebhooks(): Promise<void>;
}

export async function openOtherAccount(target: Target, findings: Findings): Promise<OtherAccount> {
  const signUp = { method: 'POST', path: '/v1/accounts', body: { name: 'other' }, expected: [201] };
  const { key } = await request(target, findings, signUp);
  const api = (method: string, path: string, body?: object, expected = [200]) =>
    request(target, findings, { as: key, method, path, expected, ...(body && { body }) });
  const inbox = await api('POST', '/v1/inboxes', { ttlMinutes: 600 }, [201]);
  const events = new Map<string, Event>();
  const receiver = await startReceiver(events, () => webhook.secret, findings);
  const url = `http://127.0.0.1:${receiver.port}/hook`;
  const webhook = await api('POST', '/v1/webhooks', { url }, [201]);
  const acceptedAt = new Map<string, number>();

  async function send(signal: AbortSignal): Promise<void> {
    const sender = new HonestSender(target.smtpPort, findings);
    for (let mail = 0; !signal.aborted; mail++) {
      const subject = `other-${String(mail).padStart(6, '0')}`;
      await sender.send(inbox.address, subject, 'other account: reply to the final dot');
      acceptedAt.set(subject, performance.now());
      await pause(MAIL_EVERY_MS);
    }
    sender.close();
  }

  async function read(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const begun = performance.now();
      await api('GET', `/v1/inboxes/${inbox.id}/messages?limit=20`);
      findings.time('other account: a list', performance.now() - begun);
      await pause(READ_EVERY_MS);
    }
  }

  return {
    async run(signal) {
      await Promise.all([send(signal), read(signal)]);
    },
    async checkWebhooks() {
      const newest = Math.max(0, ...acceptedAt.values());
      const isComplete = () => events.size >= acceptedAt.size;
      while (!isComplete() && performance.now() < newest + FIRST_ATTEMPT_MS) await pause(100);
      checkEvents(events, acceptedAt, findings);
      await receiver.close();
    },
  };
}

/** The attempts of an event, in their order. */
interface Event {
  subject: string;
  attempts: { at: number; failed: boolean }[];
}

/** Compares the attempts with what is promised: the first at once, retries by the schedule, none after a 200. */
function checkEvents(
  events: ReadonlyMap<string, Event>,
  acceptedAt: ReadonlyMap<string, number>,
  findings: Findings,
): void {
  const bySubject = new Map([...events.values()].map((event) => [event.subject, event]));
  const missing = [...acceptedAt.keys()].filter((subject) => !bySubject.has(subject));
  if (missing.length > 0) {
    findings.fail(`no webhook was attempted for ${missing.length}: ${missing.slice(0, 5)}`);
  }
  const end = performance.now();
  for (const { subject, attempts } of events.values()) {
    const [first] = attempts;
    const late = (first?.at ?? 0) - (acceptedAt.get(subject) ?? 0);
    findings.time(FIRST_ATTEMPT, Math.max(0, late));
    if (late > FIRST_ATTEMPT_MS) findings.fail(`the webhook for ${subject} came ${Math.round(late)} ms late`);
    for (const [index, { at, failed }] of attempts.entries()) {
      const next = attempts[index + 1];
      findings.count(failed ? 'webhook attempts answered 500' : 'webhook attempts answered 200');
      if (failed) checkRetry(subject, index, (next?.at ?? end) - at, next !== undefined, findings);
      else if (next) findings.fail(`the webhook for ${subject} was repeated after a 200`);
    }
  }
  findings.count('webhook events', events.size);
  findings.count(
    'webhook events delivered',
    [...events.values()].filter(({ attempts }) => attempts.some(({ failed }) => !failed)).length,
  );
}

/** @param ms from the failed attempt to the next one, or to the end of the run when there was none */
function checkRetry(subject: string, index: number, ms: number, wasMade: boolean, findings: Findings): void {
  const delay = RETRY_DELAYS_MS[index];
  if (delay === undefined) return;
  const [least, most] = [delay * (1 - JITTER) - EARLY_MS, delay * (1 + JITTER) + RETRY_LATE_MS];
  if (wasMade && ms < least)
    findings.fail(`retry ${index + 1} of ${subject} came after ${Math.round(ms)} ms`);
  if (ms > most) {
    const what = wasMade ? 'came' : 'had not come';
    findings.fail(`retry ${index + 1} of ${subject} ${what} after ${Math.round(ms)} ms`);
  }
  if (wasMade) findings.count('webhook retries in their time');
}

/**
 * A receiver that answers the first three of ten attempts with 500. It checks each signature, with the
 * timestamp that was sent: the clock of the server is stepped, and this one is not.
 */
async function startReceiver(
  events: Map<string, Event>,
  secret: () => string,
  findings: Findings,
): Promise<HttpReceiver> {
  let number = 0;
  const receiver = await startHttp((response, { headers, body }) => {
    const at = performance.now();
    number++;
    const failed = number % 10 < FAILURES_OF_TEN;
    response.writeHead(failed ? 500 : 200).end();
    // Nothing of the run is kept but what is counted here.
    receiver.requests.length = 0;
    const { 'webhook-id': id = '', 'webhook-timestamp': seconds, 'webhook-signature': signature } = headers;
    const text = body.toString();
    const expected = new Webhook(secret()).sign(id, new Date(Number(seconds) * 1000), text);
    if (signature !== expected) return findings.fail(`a webhook with a wrong signature: ${signature}`);
    findings.count('webhook signatures checked');
    const { subject } = JSON.parse(text).data.message;
    const event: Event = events.get(id) ?? { subject, attempts: [] };
    event.attempts.push({ at, failed });
    events.set(id, event);
  });
  return receiver;
}
