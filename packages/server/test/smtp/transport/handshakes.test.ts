import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parseCidrs } from '../../../src/text/networks.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { type SmtpClient, smtpClient } from '../../support/smtp-script.ts';
import { trustedCertificate } from '../../support/tls/certificates.ts';
import { clientOfTest, hello, inData, type StartedSmtp, smtpOfTest, turns } from '../start-smtp.ts';

/*
 * Handshakes that fail, by STARTTLS and on the TLS port: each is reported once, with the client's address and
 * a reason.
 */

let smtp: StartedSmtp;

const { tls, trust } = trustedCertificate('localhost');

async function start(options: Parameters<typeof smtpOfTest>[0] = {}, clock?: FakeClock): Promise<void> {
  smtp = await smtpOfTest({ tls, smtpsPort: 0, ...options }, clock);
}

/** Resolves when something was reported; what was. */
async function reported() {
  await expect.poll(() => smtp.receiver.unaddressed).not.toEqual([]);
  expect(smtp.metrics.handshakeFailures).toBe(smtp.receiver.unaddressed.length);
  return smtp.receiver.unaddressed;
}

/** A connection that the server has told to begin a handshake. */
async function readyForTls(): Promise<SmtpClient> {
  const client = await clientOfTest(smtp.port);
  await client.play([...hello, 'STARTTLS → 220']);
  return client;
}

/** A connection to the TLS port, before its handshake. */
async function connected(): Promise<Socket> {
  const socket = connect(smtp.tlsPort ?? 0, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

const BEGINNING_OF_HELLO = Buffer.from([0x16, 3, 1, 0, 200, 1]);
const CLOSED = /^The client closed the connection during the handshake$/;
const ways: [string, (socket: Socket) => void, RegExp][] = [
  ['plain text', (socket) => socket.write('EHLO there\r\n'), /^The client did not send a TLS handshake \(/],
  ['an HTTP request', (socket) => socket.write('GET / HTTP/1.1\r\n\r\n'), /^The client did not send/],
  ['one that is closed in the middle', (socket) => socket.end(BEGINNING_OF_HELLO), CLOSED],
  ['one that is reset', (socket) => socket.write(BEGINNING_OF_HELLO, () => socket.resetAndDestroy()), CLOSED],
];

describe.each(['STARTTLS', 'the TLS port'])('a failed handshake by %s is reported', (by) => {
  const socketForTls = async () => (by === 'STARTTLS' ? (await readyForTls()).socket : connected());

  test.each(ways)('for %s', async (_name, fail, reason) => {
    await start();
    fail(await socketForTls());
    const helo = by === 'STARTTLS' ? 'client.test' : '';
    const from = { at: expect.any(Number), address: '', mailFrom: '', remoteAddress: '127.0.0.1', helo };
    expect(await reported()).toEqual([{ ...from, reply: expect.stringMatching(reason) }]);
  });

  test('for a client that verifies the certificate after the handshake, as Node.js does', async () => {
    await start();
    const socket = await socketForTls();
    socket.removeAllListeners();
    const [error] = await once(connectTls({ socket, servername: 'localhost' }), 'error');
    expect(error).toMatchObject({ code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
    expect(await reported()).toMatchObject([{ reply: expect.stringMatching(/^The client closed/) }]);
  });

  test('for a client that is too old', async () => {
    await start();
    const socket = await socketForTls();
    socket.removeAllListeners();
    const options = { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' } as const;
    await once(connectTls({ socket, ...options }), 'error');
    const reply = expect.stringMatching(/^The client has no TLS version or cipher in common \(/);
    expect(await reported()).toMatchObject([{ reply }]);
  });

  test('for one that takes too long, whose connection is closed by the clock of the server', async () => {
    const clock = new FakeClock();
    await start({}, clock);
    const socket = await socketForTls();
    const closed = once(socket, 'close');
    await expect.poll(() => smtp.metrics.open).toBe(1);
    // The server has begun the handshake by then.
    await turns(5);
    await clock.advance(30_000);
    expect(await reported()).toMatchObject([{ reply: 'The handshake took too long', at: clock.now() }]);
    await closed;
  });

  test('and not for one that succeeds and sends a command, a stop, or a client that is turned away', async () => {
    await start({ smtpMaxConnections: 1 });
    const byCommand = by === 'STARTTLS';
    const client = byCommand ? await readyForTls() : await smtpClient(smtp.tlsPort ?? 0, { tls: trust });
    await (byCommand ? client.startTls(trust) : client.play(['→ 220']));
    // An idle client would give way.
    await client.play(inData.slice(1));
    await expect(smtpClient(smtp.tlsPort ?? 0, { tls: trust })).rejects.toThrow('disconnected');
    await client.play(['x\r\n. → 250']);
    client.close();
    await expect.poll(() => smtp.metrics.open).toBe(0);
    await readyForTls();
    await connected();
    await smtp.stop();
    expect(smtp.receiver.unaddressed).toEqual([]);
  });
});

test('a health check of the TLS port, which sends no byte, is not reported', async () => {
  await start();
  (await connected()).end();
  (await connected()).resetAndDestroy();
  const socket = await connected();
  socket.write('x'.repeat(20));
  expect(await reported()).toHaveLength(1);
});

test('a health check by a load balancer that sends a PROXY header is not reported, and a handshake with the address that it names', async () => {
  await start({ smtpProxyFrom: parseCidrs('127.0.0.1/32') });
  (await connected()).end('PROXY TCP4 198.51.100.7 192.0.2.1 40000 25\r\n');
  (await connected()).write('PROXY TCP4 198.51.100.8 192.0.2.1 40000 25\r\nEHLO not a handshake\r\n');
  expect(await reported()).toMatchObject([{ remoteAddress: '198.51.100.8' }]);
});
