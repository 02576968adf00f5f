import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { createServer as createHttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import { getCACertificates, setDefaultCACertificates, type TLSSocket } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { selfSignedCertificate } from '../../../src/smtp/tls.ts';
import { parseCidrs } from '../../../src/text/networks.ts';
import {
  ATTEMPT_TIMEOUT_MS,
  CONNECTIONS_PER_ORIGIN,
  createSender,
  RESPONSE_START_BYTES,
  type Sender,
} from '../../../src/webhooks/outbound/send.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { type Receiver, startHttp, startTcp } from '../receivers.ts';

const ALLOW = parseCidrs('127.0.0.0/8');
const body = '{"id":"evt_1"}';
const OK = 'HTTP/1.1 200 OK\r\n';

let clock: FakeClock;
let sender: Sender;
let open: Receiver[];
beforeEach(() => {
  clock = new FakeClock();
  // Every name of these tests is this machine; what a name server may do is in ssrf.test.ts.
  const resolve = async () => ['127.0.0.1'];
  sender = createSender({ allow: ALLOW, resolve, clock, userAgent: 'Mayfly/test' });
  open = [];
});
afterEach(async () => {
  await sender.close();
  for (const receiver of open) await receiver.close();
});
const keep = <T extends Receiver>(receiver: T): T => {
  open.push(receiver);
  return receiver;
};
const answering = async (status: number, headers = {}, text: string | Buffer = '') =>
  keep(await startHttp((response) => response.writeHead(status, headers).end(text)));
const at = (receiver: Receiver, host = 'hook.test') => `http://${host}:${receiver.port}/in`;
const send = (url: string) => sender.send({ url, headers: {}, body });

/** A raw HTTP receiver: `answer` gets the socket once the request's head is there. */
const startRaw = (answer: (socket: Socket) => void) =>
  startTcp((socket) => socket.once('data', () => answer(socket))).then(keep);

describe('an attempt', () => {
  it('delivers exactly these bytes', async () => {
    const receiver = await answering(202, {}, 'thanks');
    const payload = JSON.stringify({ subject: 'Grüße 🦋' });
    const headers = { 'webhook-id': 'evt_1' };
    const outcome = await sender.send({ url: `${at(receiver)}?x=%41`, headers, body: payload });
    const expected = { status: 202, durationMs: 0, error: null, responseStart: 'thanks', retryAfter: null };
    expect(outcome).toEqual({ ok: true, ...expected });
    const [request] = receiver.requests;
    expect(request).toMatchObject({ method: 'POST', path: '/in?x=%41', body: Buffer.from(payload) });
    expect(request?.headers).toMatchObject({
      host: `hook.test:${receiver.port}`,
      'webhook-id': 'evt_1',
      'content-type': 'application/json',
      'user-agent': 'Mayfly/test',
      'accept-encoding': 'identity',
    });
  });

  it('uses a connection again for the next one', async () => {
    const receiver = keep(await startHttp());
    for (let i = 0; i < 5; i++) expect(await send(at(receiver))).toMatchObject({ ok: true });
    expect(receiver.requests).toHaveLength(5);
    // undici opens a second one when a request follows in the same turn that ended the one before.
    expect(receiver.connections()).toBeLessThanOrEqual(2);
  });

  it.each([400, 410, 429, 500])('fails with the status %i and tells Retry-After', async (status) => {
    const receiver = await answering(status, { 'retry-after': '3600' }, 'not now');
    const error = { code: 'status', message: `The endpoint answered ${status}.` };
    const said = { responseStart: 'not now', retryAfter: '3600' };
    expect(await send(at(receiver))).toMatchObject({ ok: false, status, error, ...said });
  });

  it.each([301, 302, 303, 307, 308])('does not follow a %i, and says so', async (status) => {
    const canary = keep(await startTcp());
    const receiver = await answering(status, { location: at(canary) });
    expect(await send(at(receiver))).toMatchObject({ ok: false, status, error: { code: 'redirect' } });
    expect(canary.connections()).toBe(0);
  });
});

describe('a bad receiver', () => {
  it.each([
    ['never answers', ''],
    ['stops within its headers', `${OK}X-Slow: `],
  ])('that %s costs 15 seconds and no more', async (_how, start) => {
    const arrival = Promise.withResolvers<void>();
    const receiver = await startRaw((socket) => socket.write(start, () => arrival.resolve()));
    const outcome = send(at(receiver));
    await arrival.promise;
    await clock.advance(ATTEMPT_TIMEOUT_MS);
    const error = { code: 'timeout', message: 'The endpoint did not respond within 15 seconds.' };
    const expected = { ok: false, status: null, durationMs: ATTEMPT_TIMEOUT_MS, error };
    expect(await outcome).toMatchObject(expected);
  });

  it('whose name is looked up for ever costs 15 seconds, and is sent nothing after that', async () => {
    const receiver = keep(await startHttp());
    const asked = Promise.withResolvers<void>();
    const found = Promise.withResolvers<string[]>();
    const resolve = () => {
      asked.resolve();
      return found.promise;
    };
    const slow = createSender({ allow: ALLOW, resolve, clock, userAgent: 'Mayfly/test' });
    const outcome = slow.send({ url: at(receiver), headers: {}, body });
    await asked.promise;
    await clock.advance(ATTEMPT_TIMEOUT_MS);
    expect(await outcome).toMatchObject({ ok: false, error: { code: 'timeout' }, durationMs: 15_000 });
    found.resolve(['127.0.0.1']);
    // A later attempt goes through on the same connection pool; had the first been sent, it would show.
    const second = { url: at(receiver), headers: { 'x-attempt': '2' }, body };
    expect(await slow.send(second)).toMatchObject({ ok: true });
    expect(receiver.requests.map((request) => request.headers['x-attempt'])).toEqual(['2']);
    await slow.close();
    // Less than undici's own limit for a connection: that one must not be what ended it.
  }, 8000);

  it('that answers 2xx and then drips its body is cut after 15 seconds: the status has decided', async () => {
    const receiver = await startRaw((socket) => {
      socket.write(`${OK}Transfer-Encoding: chunked\r\n\r\n4\r\ndrip\r\n`);
    });
    const answered = Promise.withResolvers<void>();
    const listener = () => setImmediate(answered.resolve);
    subscribe('undici:request:headers', listener);
    const outcome = send(at(receiver));
    await answered.promise;
    unsubscribe('undici:request:headers', listener);
    await clock.advance(ATTEMPT_TIMEOUT_MS);
    expect(await outcome).toMatchObject({ ok: true, status: 200, responseStart: 'drip', durationMs: 15_000 });
  });

  it('that sends without end is cut, and its first KiB is kept', async () => {
    let written = 0;
    const closed = Promise.withResolvers<void>();
    const receiver = await startRaw((socket) => {
      socket.on('close', closed.resolve);
      socket.write('HTTP/1.1 500 Oops\r\n\r\n');
      const block = Buffer.alloc(16_384, 'x');
      const more = () => {
        while (!socket.destroyed && socket.write(block)) written += block.length;
      };
      socket.on('drain', more);
      more();
    });
    const responseStart = 'x'.repeat(RESPONSE_START_BYTES);
    expect(await send(at(receiver))).toMatchObject({ ok: false, status: 500, responseStart });
    await closed.promise;
    expect(written).toBeLessThan(64 * 1024 * 1024);
  });

  it.each([
    ['announces a terabyte', 2 ** 40, 'y'.repeat(100_000)],
    ['breaks off', 100, 'part'],
  ])('that %s after a 2xx status has accepted the delivery all the same', async (_how, length, start) => {
    const answer = `${OK}Content-Length: ${length}\r\n\r\n${start}`;
    const receiver = await startRaw((socket) => socket.end(answer));
    const responseStart = start.slice(0, RESPONSE_START_BYTES);
    expect(await send(at(receiver))).toMatchObject({ ok: true, status: 200, responseStart });
  });

  it('that sends a compressed bomb is not decompressed', async () => {
    const bomb = gzipSync(Buffer.alloc(32 * 1024 * 1024));
    const receiver = await answering(200, { 'content-encoding': 'gzip' }, bomb);
    expect(await send(at(receiver))).toMatchObject({ ok: true, status: 200, responseStart: '' });
  });

  it.each([
    ['closes without a word', '', 'connection_closed'],
    ['resets the connection', null, 'connection_closed'],
    ['closes within its headers', `${OK}X-`, 'connection_closed'],
    ['does not speak HTTP', 'SSH-2.0-OpenSSH_9.9\r\n', 'bad_answer'],
    ['sends too many headers', `${OK}${'X-More: 12345\r\n'.repeat(20_000)}`, 'bad_answer'],
    ['upgrades unasked', 'HTTP/1.1 101 Yes\r\nUpgrade: x\r\n\r\n', 'bad_answer'],
    ['smuggles two lengths', `${OK}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`, 'bad_answer'],
  ])('that %s fails clearly', async (_what, answer, code) => {
    const receiver = await startRaw((socket) =>
      answer === null ? socket.resetAndDestroy() : socket.end(answer),
    );
    const outcome = await send(at(receiver));
    expect(outcome).toMatchObject({ ok: false, status: null, error: { code }, responseStart: '' });
    expect(outcome?.error?.message).toMatch(/^The endpoint.*\.$/);
    expect(outcome?.error?.message).not.toContain('127.0.0.1');
  });

  it('that listens no more fails clearly', async () => {
    const gone = await startTcp();
    await gone.close();
    const error = { code: 'connect_failed', message: 'The endpoint refused the connection.' };
    expect(await send(at(gone))).toMatchObject({ ok: false, error });
  });

  it('with bytes that are no text is kept as harmless text, whole characters only', async () => {
    const [begin, end] = [Buffer.from('a\u0000\u001b[31m\r\n\t'), Buffer.from('€'.repeat(500))];
    const answer = Buffer.concat([begin, Buffer.from([0xff]), end]);
    const receiver = await answering(400, {}, answer);
    const outcome = await send(at(receiver));
    expect(outcome?.responseStart).toMatch(/^a\uFFFD\uFFFD\[31m\r\n\t\uFFFD€+$/);
  });

  it('gets a bounded number of connections, and what waits for one ends in time', async () => {
    const full = Promise.withResolvers<void>();
    let held = 0;
    const silent = await startRaw(() => {
      held += 1;
      if (held === CONNECTIONS_PER_ORIGIN) full.resolve();
    });
    const first = Array.from({ length: CONNECTIONS_PER_ORIGIN }, () => send(at(silent)));
    await full.promise;
    const queued = Array.from({ length: 20 }, () => send(at(silent)));
    await send(at(keep(await startHttp())));
    expect(silent.connections()).toBe(CONNECTIONS_PER_ORIGIN);
    await clock.advance(ATTEMPT_TIMEOUT_MS);
    for (const outcome of await Promise.all([...first, ...queued]))
      expect(outcome).toMatchObject({ ok: false, error: { code: 'timeout' } });
  });
});

describe('the sender', () => {
  it('stops an attempt when its caller wants no more, before or during it', async () => {
    const arrival = Promise.withResolvers<void>();
    const receiver = await startRaw(() => arrival.resolve());
    const stop = new AbortController();
    const outcome = sender.send({ url: at(receiver), headers: {}, body, signal: stop.signal });
    await arrival.promise;
    stop.abort();
    expect(await outcome).toBeUndefined();
    const late = await sender.send({ url: at(receiver), headers: {}, body, signal: stop.signal });
    expect(late).toBeUndefined();
    expect(receiver.connections()).toBe(1);
  });

  it('leaves no timer behind, may be closed twice, and sends no more', async () => {
    const receiver = keep(await startHttp());
    await send('http://hook.test:25/');
    expect(clock.sleepers).toBe(0);
    await sender.close();
    await sender.close();
    expect(await send(at(receiver))).toBeUndefined();
    expect(receiver.connections()).toBe(0);
  });

  it('does not send a URL that registration would refuse', async () => {
    for (const url of ['nonsense', 'ftp://hook.test/', 'http://hook.test:25/', 'http://u:p@hook.test/']) {
      const stop = new AbortController();
      const outcome = await sender.send({ url, headers: {}, body, signal: stop.signal });
      expect(outcome).toMatchObject({ ok: false, status: null, error: { code: 'url_refused' } });
      // An end of the process later on has nothing left to stop (vitest fails for a stray rejection).
      stop.abort();
    }
  });
});

describe('TLS', () => {
  async function startTls(name: string) {
    const { key, cert } = selfSignedCertificate(name, Date.now());
    const server = createHttpsServer({ key, cert });
    const greeted: (string | false | null)[] = [];
    server.on('secureConnection', (socket: TLSSocket & { servername?: string | false | null }) => {
      greeted.push(socket.servername ?? null);
    });
    return { ...keep(await startHttp(undefined, server)), cert, greeted };
  }
  /** Trusts a certificate as NODE_EXTRA_CA_CERTS would have at the start of the process. */
  async function trusting(cert: string, use: () => Promise<void>) {
    const before = getCACertificates('default');
    setDefaultCACertificates([...before, cert]);
    await use().finally(() => setDefaultCACertificates(before));
  }

  it('is spoken to the name of the URL, with its certificate verified', async () => {
    const receiver = await startTls('hook.test');
    const url = `https://hook.test:${receiver.port}/`;
    await trusting(receiver.cert, async () =>
      expect(await send(url)).toMatchObject({ ok: true, status: 200 }),
    );
    expect(receiver.greeted).toEqual(['hook.test']);
    expect(receiver.requests[0]?.headers.host).toBe(`hook.test:${receiver.port}`);
  });

  it.each([
    ['of another name', 'other.test', true, 'ERR_TLS_CERT_ALTNAME_INVALID'],
    ['of an unknown authority', 'hook.test', false, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
  ])('fails for a certificate %s', async (_what, name, isTrusted, code) => {
    const receiver = await startTls(name);
    const error = { code: 'tls_failed', message: `TLS with the endpoint failed (${code}).` };
    const fails = async () =>
      expect(await send(`https://hook.test:${receiver.port}/`)).toMatchObject({ ok: false, error });
    await (isTrusted ? trusting(receiver.cert, fails) : fails());
    expect(receiver.requests).toEqual([]);
  });

  it('fails where the receiver speaks plain HTTP', async () => {
    const { port } = keep(await startHttp());
    const error = { code: 'tls_failed' };
    expect(await send(`https://hook.test:${port}/`)).toMatchObject({ ok: false, error });
  });
});
