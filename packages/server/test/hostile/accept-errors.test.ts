import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Server } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { startHttp } from '../http/start-http.ts';
import { startSmtp } from '../smtp/start-smtp.ts';
import { FakeClock } from '../support/fake-clock.ts';

/** Node publishes here each server that listens. */
const LISTENING = 'tracing:net.server.listen:asyncEnd';
let servers: Server[];
const note = (message: unknown): void => void servers.push((message as { server: Server }).server);
beforeEach(() => {
  servers = [];
  subscribe(LISTENING, note);
});
afterEach(() => void unsubscribe(LISTENING, note));

/** A server, its log and its clock. */
async function startedSmtp() {
  const clock = new FakeClock();
  return { ...(await startSmtp({}, clock)), clock };
}

it.each([
  ['HTTP', () => startHttp()],
  ['SMTP', startedSmtp],
])(
  'connections that the system does not give to the %s server are logged once a minute, with their number',
  async (protocol, start) => {
    const { clock, logged, stop } = await start();
    const failure = Object.assign(new Error('accept EMFILE'), { code: 'EMFILE', syscall: 'accept' });
    const fail = (times: number): void => {
      for (const server of servers) for (let n = 0; n < times; n++) server.emit('error', failure);
    };
    const reports = () => logged.map((line) => JSON.parse(line)).filter(({ err }) => err);
    const first = { msg: `${protocol} connections were not accepted`, count: 1, err: { code: 'EMFILE' } };
    fail(50);
    expect(reports()).toMatchObject([first]);
    await clock.advance(60_000);
    fail(2);
    expect(reports()).toMatchObject([first, { ...first, count: 50 }]);
    await stop();
  },
);
