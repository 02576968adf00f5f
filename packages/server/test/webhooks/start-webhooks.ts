import { setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import { Webhook } from 'standardwebhooks';
import { vi } from 'vitest';
import type { Overrides } from '../../src/app.ts';
import type { Answer, Body } from '../support/api-client.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { startApp } from '../support/start-app.ts';
import type { ReceivedRequest } from './receivers.ts';

export type WebhookApp = Awaited<ReturnType<typeof startWebhookApp>>;

/** The body of an answer. @throws Error when it has another status */
export function bodyOf(answer: Answer, status = 200): Body {
  if (answer.status !== status) throw new Error(`${answer.status}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

/** The production app with webhooks to loopback allowed, in a time that the test moves. */
export async function startWebhookApp(
  env: Record<string, string> = {},
  overrides: Overrides = {},
  dataDir?: string,
) {
  const clock = new FakeClock();
  const logged: string[] = [];
  const log = pino({ level: 'trace' }, { write: (line: string) => logged.push(line) });
  const app = await startApp(
    { MAYFLY_WEBHOOK_ALLOW: '127.0.0.1/32', ...env },
    { clock, log, ...overrides },
    dataDir,
  );
  const deliveries = async (id: string) =>
    bodyOf(await app.api('GET', `/v1/webhooks/${id}/deliveries?limit=200`)).deliveries;
  return {
    ...app,
    clock,
    logged,
    async register(port: number, body: object = {}): Promise<{ id: string; secret: string; url: string }> {
      const url = `http://127.0.0.1:${port}/hook`;
      return bodyOf(await app.api('POST', '/v1/webhooks', { body: { url, ...body } }), 201);
    },
    /** The log of deliveries once `done` says so of it; time stands still meanwhile. */
    async untilDeliveries(id: string, done: (log: Body[]) => boolean): Promise<Body[]> {
      for (;;) {
        const log: Body[] = await deliveries(id);
        if (done(log)) return log;
        await pause(1);
      }
    },
    async mail(to: string, subject = 'hello') {
      await app.send({ from: 'shop@example.org', to, subject, text: `This is ${subject}` });
    },
  };
}

/**
 * The event of a request, if the reference library accepts it; throws otherwise.
 * @param now the time at which it is received; the library takes no other than the global one
 */
export function verified(secret: string, request: ReceivedRequest | undefined, now: number): Body {
  if (!request) throw new Error('nothing was received');
  vi.useFakeTimers({ toFake: ['Date'], now });
  try {
    return new Webhook(secret).verify(request.body.toString(), request.headers);
  } finally {
    vi.useRealTimers();
  }
}
