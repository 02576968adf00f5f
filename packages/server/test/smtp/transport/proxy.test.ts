import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { expect, test } from 'vitest';
import { isInside, parseCidrs } from '../../../src/text/networks.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { playSmtp, SmtpClient } from '../../support/smtp-script.ts';
import { trustedCertificate } from '../../support/tls/certificates.ts';
import { clientOfTest, connectedOfTest, mailTo, type StartedSmtp, smtpOfTest } from '../start-smtp.ts';
import { FROM_IPV4, proxyHeader } from './proxy-header.ts';

let smtp: StartedSmtp;
let client: SmtpClient;

const mail = ['EHLO c → 250', ...mailTo('a@mayfly.test')];

async function begin(network = '127.0.0.1/32', clock?: FakeClock): Promise<void> {
  ({ smtp, client } = await connectedOfTest({ smtpProxyFrom: parseCidrs(network) }, clock));
}

const V1 = Buffer.from('PROXY TCP6 2001:db8::7 2001:db8::1 40000 25\r\n');
const V2 = proxyHeader(FROM_IPV4);

/** What the header of each version says is tested in proxy-header.test.ts. */
test.each([
  ['version 1', V1, '2001:db8::7'],
  ['version 1 that tells no address', Buffer.from('PROXY UNKNOWN\r\n'), '127.0.0.1'],
  ['version 2', V2, '198.51.100.7'],
  ['version 2 of the load balancer itself', proxyHeader({ command: 0, protocol: 0 }), '127.0.0.1'],
])('a PROXY header of a trusted network tells the client’s address: %s', async (_name, header, address) => {
  await begin('10.0.0.0/8, 127.0.0.0/24');
  await client.play([{ send: header, expect: 220 }, ...mail]);
  expect(smtp.receiver.mails[0]?.envelope.remoteAddress).toBe(address);
});

test.each([
  ['version 1', V1, '2001:db8::7'],
  ['version 2', V2, '198.51.100.7'],
])('it works before the handshake of the TLS port: %s', async (_name, header, remoteAddress) => {
  const { tls, trust } = trustedCertificate();
  smtp = await smtpOfTest({ smtpProxyFrom: parseCidrs('127.0.0.1/32'), smtpsPort: 0, tls });
  const plain = connect(smtp.tlsPort ?? 0, '127.0.0.1');
  plain.write(header);
  client = new SmtpClient(connectTls({ ...trust, socket: plain }));
  await client.play(['→ 220', ...mail]);
  expect(smtp.receiver.mails[0]?.envelope).toMatchObject({ remoteAddress, tls: true });
});

test.each([
  ['version 1 with commands', Buffer.concat([V1, Buffer.from('EHLO c\r\n')])],
  ['version 2', V2],
  ['version 2 with commands', Buffer.concat([V2, Buffer.from('EHLO c\r\n')])],
])('a header from anywhere else is an error that ends the session: %s', async (_name, send) => {
  await begin('10.0.0.0/8');
  await client.play(['→ 220', { send }]);
  expect(await client.reply()).toMatch(/^500 5\.5\.1 PROXY is not allowed/);
  expect(await client.closed()).toBe('');
});

test('a header may come in pieces', async () => {
  await begin();
  await client.send(V2.subarray(0, 20));
  // By the time that another one is greeted the server has read this piece.
  await playSmtp(smtp.port, [{ send: V2, expect: 220 }]);
  await client.play([{ send: V2.subarray(20), expect: 220 }, ...mail]);
  expect(smtp.receiver.mails[0]?.envelope.remoteAddress).toBe('198.51.100.7');
});

test('all may come at once, and the end with it: a script through a load balancer gets its replies', async () => {
  await begin();
  const commands = 'EHLO c\r\nMAIL FROM:<s@example.com>\r\nRCPT TO:<a@mayfly.test>\r\nQUIT\r\n';
  client.socket.end(Buffer.concat([V2, Buffer.from(commands)]));
  await client.play([{ expect: [220, 250, 250, 250, 221] }]);
});

test('a header of version 2 from anywhere else ends the session also when it comes byte by byte', async () => {
  await begin('10.0.0.0/8');
  await client.play(['→ 220']);
  for (const byte of V2) await client.send(Uint8Array.of(byte));
  expect(await client.closed()).not.toMatch(/^250/m);
});

test.each([
  ['no header', Buffer.from('EHLO c\r\n')],
  ['a malformed one', Buffer.from('PROXY TCP4 not-an-address 192.0.2.1 1 2\r\n')],
  ['an endless one', Buffer.from('x'.repeat(2000))],
  ['a malformed one of version 2', proxyHeader({ ...FROM_IPV4, version: 3 })],
  ['one of version 2 that is too long', proxyHeader({ ...FROM_IPV4, more: Buffer.alloc(60_000) })],
])('a trusted peer that sends %s is not served', async (_what, bytes) => {
  await begin();
  await client.send(Buffer.concat([bytes, Buffer.from('\r\nEHLO c\r\n')]));
  expect(await client.closed()).not.toContain('220');
});

test('a client that disconnects before its header is complete leaves nothing open', async () => {
  await begin();
  for (const go of ['end', 'resetAndDestroy'] as const) {
    client = await clientOfTest(smtp.port);
    await client.send(V2.subarray(0, 20));
    client.socket[go]();
    expect(await client.closed()).toBe('');
  }
  await playSmtp(smtp.port, [{ send: V2, expect: 220 }]);
});

test('a PROXY header of either version that does not come whole ends the connection, by the clock of the server', async () => {
  const clock = new FakeClock();
  await begin(undefined, clock);
  const other = await clientOfTest(smtp.port);
  await client.send('PRO');
  await other.send(V2.subarray(0, 20));
  // By the time that another one is greeted the server has read these pieces.
  await playSmtp(smtp.port, ['PROXY UNKNOWN → 220']);
  await clock.advance(31_000);
  for (const one of [client, other]) expect(await one.closed()).toBe('');
});

test('networks are matched by their prefix, in both families', () => {
  const networks = parseCidrs('10.1.0.0/16, 2001:db8::/32, 192.0.2.9/32');
  const isTrusted = (address: string) => networks.some((network) => isInside(network, address));
  const trusted = ['10.1.255.255', '2001:db8:1::1', '192.0.2.9'];
  const others = ['10.2.0.0', '2001:db9::1', '192.0.2.8', '::1', '', 'nonsense'];
  expect(trusted.filter((address) => !isTrusted(address))).toEqual([]);
  expect(others.filter((address) => isTrusted(address))).toEqual([]);
});
