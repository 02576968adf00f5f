import { afterEach, expect, test } from 'vitest';
import { networkMatch } from '../../src/smtp/networks.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { type SmtpClient, smtpClient } from '../support/smtp-script.ts';
import { type StartedSmtp, startSmtp } from './start-smtp.ts';

let smtp: StartedSmtp;
let client: SmtpClient;
afterEach(async () => {
  client.close();
  await smtp.stop();
});

const mail = [
  { send: 'EHLO c', expect: 250 },
  { send: 'MAIL FROM:<s@example.com>', expect: 250 },
  { send: 'RCPT TO:<a@mayfly.test>', expect: 250 },
  { send: 'DATA', expect: 354 },
  { send: 'x\r\n.', expect: 250 },
];

test.each([
  ['IPv4', 'PROXY TCP4 198.51.100.7 192.0.2.1 40000 25', '198.51.100.7'],
  ['IPv6', 'PROXY TCP6 2001:db8::7 2001:db8::1 40000 25', '2001:db8::7'],
  ['an unknown protocol', 'PROXY UNKNOWN', '127.0.0.1'],
])('the PROXY line of a trusted network tells the client’s address: %s', async (_name, line, address) => {
  smtp = await startSmtp({ proxyFrom: ['10.0.0.0/8', '127.0.0.0/24'] });
  client = await smtpClient(smtp.port);
  await client.play([{ send: line, expect: 220 }, ...mail]);
  expect(smtp.receiver.mails[0]?.envelope.remoteAddress).toBe(address);
});

test('it works before the handshake of the TLS port', async () => {
  const { connect } = await import('node:net');
  const { connect: connectTls } = await import('node:tls');
  const { SmtpClient: Client } = await import('../support/smtp-script.ts');
  smtp = await startSmtp({ proxyFrom: ['127.0.0.1'], tlsPort: 0 });
  const plain = connect(smtp.tlsPort ?? 0, '127.0.0.1');
  plain.write('PROXY TCP4 198.51.100.7 192.0.2.1 40000 25\r\n');
  client = new Client(connectTls({ socket: plain, rejectUnauthorized: false }));
  await client.play([{ expect: 220 }, ...mail]);
  expect(smtp.receiver.mails[0]?.envelope).toMatchObject({ remoteAddress: '198.51.100.7', tls: true });
});

test('a PROXY line from anywhere else is an error that ends the session', async () => {
  smtp = await startSmtp({ proxyFrom: ['10.0.0.0/8'] });
  client = await smtpClient(smtp.port);
  await client.play([
    { expect: 220 },
    { send: 'PROXY TCP4 198.51.100.7 192.0.2.1 40000 25\r\nEHLO c', expect: '500 5.5.1' },
  ]);
  expect(await client.closed()).toBe('');
});

test.each(['EHLO c', 'PROXY TCP4 not-an-address 192.0.2.1 1 2', 'x'.repeat(2000)])(
  'a trusted peer that sends no PROXY line is not served: %s',
  async (line) => {
    smtp = await startSmtp({ proxyFrom: ['127.0.0.1/32'] });
    client = await smtpClient(smtp.port);
    await client.send(`${line}\r\n`);
    expect(await client.closed()).not.toContain('220');
  },
);

test('a PROXY line that does not come ends the connection, by the clock of the server', async () => {
  const clock = new FakeClock();
  smtp = await startSmtp({ proxyFrom: ['127.0.0.1/32'] }, clock);
  client = await smtpClient(smtp.port);
  await client.send('PRO');
  await clock.untilSleeping(2);
  await clock.advance(31_000);
  expect(await client.closed()).toBe('');
});

test('networks are matched by their prefix, in both families', () => {
  const isTrusted = networkMatch(['10.1.0.0/16', '2001:db8::/32', '192.0.2.9']);
  const trusted = ['10.1.255.255', '::ffff:10.1.2.3', '2001:db8:1::1', '192.0.2.9'];
  const others = ['10.2.0.0', '2001:db9::1', '192.0.2.8', '::1', '', undefined, 'nonsense'];
  expect(trusted.filter((address) => !isTrusted(address))).toEqual([]);
  expect(others.filter((address) => isTrusted(address))).toEqual([]);
  expect(networkMatch([])('10.1.2.3')).toBe(false);
  expect(() => networkMatch(['10.0.0.0/33'])).toThrow();
  expect(() => networkMatch(['example.com'])).toThrow();
});
