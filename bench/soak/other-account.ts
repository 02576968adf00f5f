import { setTimeout as pause } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { type HttpReceiver, startHttp } from '../../packages/server/test/webhooks/receivers.ts';
import type { Findings } from './findings.ts';
import { request } from './lanes.ts';
import { HonestSender } from './senders.ts';
import type { Target } from './target.ts';

/** Of ten attempts of a webhook, so many are answered 500. */
const FAILURES_OF_TEN = 3;
const MAIL_EVERY_MS = 500;
const READ_EVERY_MS = 100;
/** A first attempt that comes later than this after the 250 is a wrong answer. */
const FIRST_ATTEMPT_MS = 30_000;

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
  const attempts = new Map<string, { at: number; failed: number; delivered: number; message: string }>();
  const receiver = await startReceiver(attempts, () => webhook.secret, findings);
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
      const isComplete = () => attempts.size >= acceptedAt.size;
      while (!isComplete() && performance.now() < newest + FIRST_ATTEMPT_MS) await pause(100);
      const byMessage = new Map([...attempts.values()].map((attempt) => [attempt.message, attempt]));
      const missing = [...acceptedAt.keys()].filter((subject) => !byMessage.has(subject));
      if (missing.length > 0)
        findings.fail(`no webhook was attempted for ${missing.length}: ${missing.slice(0, 5)}`);
      for (const [subject, at] of acceptedAt) {
        const first = byMessage.get(subject)?.at;
        if (first === undefined) continue;
        const late = Math.max(0, first - at);
        findings.time('other account: 250 until the webhook', late);
        if (late > FIRST_ATTEMPT_MS)
          findings.fail(`the webhook for ${subject} came ${Math.round(late)} ms late`);
      }
      const all = [...attempts.values()];
      findings.count('webhook events', all.length);
      findings.count('webhook events delivered', all.filter(({ delivered }) => delivered > 0).length);
      findings.count(
        'webhook attempts answered 500',
        all.reduce((sum, { failed }) => sum + failed, 0),
      );
      // Allowed, because webhooks are delivered at least once, but not expected without a restart.
      findings.count(
        'webhook events repeated after a 200',
        all.filter(({ delivered }) => delivered > 1).length,
      );
      await receiver.close();
    },
  };
}

/** Answers every third attempt or so with 500 and checks each signature. */
async function startReceiver(
  attempts: Map<string, { at: number; failed: number; delivered: number; message: string }>,
  secret: () => string,
  findings: Findings,
): Promise<HttpReceiver> {
  let number = 0;
  const receiver = await startHttp((response, { headers, body }) => {
    number++;
    const fails = number % 10 < FAILURES_OF_TEN;
    response.writeHead(fails ? 500 : 200).end();
    // Nothing of the run is kept but what is counted here.
    receiver.requests.length = 0;
    try {
      // The library compares the timestamp with this process's clock, which is not stepped.
      const now = String(Math.floor(Date.now() / 1000));
      if (Math.abs(Number(headers['webhook-timestamp']) - Number(now)) < 240) {
        new Webhook(secret()).verify(body.toString(), headers);
        findings.count('webhook signatures checked');
      }
      const event = JSON.parse(body.toString());
      const id = headers['webhook-id'] ?? '';
      const known = attempts.get(id) ?? {
        at: performance.now(),
        failed: 0,
        delivered: 0,
        message: event.data.message.subject,
      };
      if (fails) known.failed++;
      else known.delivered++;
      attempts.set(id, known);
    } catch (error) {
      findings.fail(`a webhook that cannot be verified: ${error}`);
    }
  });
  return receiver;
}
