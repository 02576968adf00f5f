import { once } from 'node:events';
import type { Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parseCidrs } from '../../src/text/networks.ts';
import { clientOfTest, type SmtpTestOptions, smtpOfTest, turns, upToData } from '../smtp/start-smtp.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { rawClient } from '../support/raw-client.ts';
import type { SmtpClient } from '../support/smtp-script.ts';
import { trustedCertificate } from '../support/tls/certificates.ts';

let smtp: Awaited<ReturnType<typeof smtpOfTest>>;
let clock: FakeClock;

async function start(options: SmtpTestOptions = {}): Promise<void> {
  clock = new FakeClock();
  smtp = await smtpOfTest({ smtpProxyFrom: parseCidrs('127.0.0.1/32'), ...options }, clock);
}

/** A client whose load balancer says that it comes from there. */
async function clientFrom(address: string): Promise<SmtpClient> {
  const client = await clientOfTest(smtp.port);
  const [family, here] = address.includes(':') ? ['TCP6', '2001:db8::1'] : ['TCP4', '192.0.2.1'];
  await client.send(`PROXY ${family} ${address} ${here} 1000 25\r\n`);
  return client;
}

/** One that was greeted and says no more. */
async function idleFrom(address: string): Promise<SmtpClient> {
  const client = await clientFrom(address);
  await client.reply();
  return client;
}

const mail = [...upToData, 'DATA → 354', 'x\r\n. → 250'];

describe('idle connections from many addresses', () => {
  it.each([40, 200])(
    'that fill the server, from %i addresses, do not keep a new client out',
    async (count) => {
      await start({ smtpMaxConnections: 200 });
      for (let i = 0; i < 200; i++) await idleFrom(`198.51.100.${i % count}`);
      await (await clientFrom('203.0.113.9')).play(mail);
    },
  );

  it('from this machine, where all clients share an address, do not keep another client of it out', async () => {
    await start({ smtpMaxConnections: 20, smtpProxyFrom: [] });
    const idle: SmtpClient[] = [];
    for (let i = 0; i < 20; i++) {
      idle.push(await clientOfTest(smtp.port));
      await idle[i]?.reply();
    }
    await idle[0]?.play(['NOOP → 250']);
    await (await clientOfTest(smtp.port)).play(mail);
    expect(await idle[1]?.closed()).toMatch(/^421 4\.3\.2 /);
    await idle[0]?.play(['NOOP → 250']);
  });

  it('give way to others of their own address where no other address has more', async () => {
    await start({ smtpMaxConnections: 6 });
    const idle: SmtpClient[] = [];
    for (let i = 0; i < 6; i++) idle.push(await idleFrom(`198.51.100.${i % 2}`));
    await idleFrom('198.51.100.1');
    expect(await idle[1]?.closed()).toMatch(/^421 4\.3\.2 /);
    await idle[0]?.play(['NOOP → 250']);
  });

  it('give way, and a client that is sending or waits for its 250 does not', async () => {
    await start({ smtpMaxConnections: 3 });
    const storing = smtp.receiver.holdStoring();
    const busy = [await clientFrom('198.51.100.1'), await clientFrom('198.51.100.1')];
    await busy[0]?.play([...upToData, 'DATA → 354', { send: 'x\r\n.' }]);
    await busy[1]?.play([...upToData, 'DATA → 354', { send: 'part of a mail' }]);
    const idle = await idleFrom('198.51.100.1');
    await storing.begun;
    await (await clientFrom('203.0.113.9')).play(['→ 220']);
    expect(await idle.closed()).toMatch(/^421 4\.3\.2 /);
    storing.goOn();
    await busy[0]?.play(['→ 250']);
    await busy[1]?.play(['\r\n. → 250']);
  });
});

it('one IPv6 network counts as one client', async () => {
  await start({ smtpMaxConnectionsPerAddress: 2 });
  const sending = mail.slice(0, -1);
  for (const host of [1, 2]) await (await clientFrom(`2001:db8:1:2::${host}`)).play(sending);
  await (await clientFrom('2001:db8:1:2::3')).play(['→ 421 4.7.0']);
  await (await clientFrom('2001:db8:1:3::1')).play(['→ 220']);
});

/** A client that never closes its side. */
async function halfOpen(port: number) {
  const client = rawClient(port, '127.0.0.1', true);
  onTestFinished(() => void client.socket.destroy());
  await once(client.socket, 'connect');
  return client;
}

/** Writes again and again, until the system of the server rejects what is written. */
async function meetsClosedSocket(socket: Socket): Promise<void> {
  while (!socket.destroyed) {
    socket.write('x');
    await turns(1);
  }
}

describe('after the last reply', () => {
  it('a client that was turned away at once is read no more: its next bytes meet a closed socket', async () => {
    await start({ smtpMaxConnections: 1, smtpProxyFrom: [] });
    const first = await clientOfTest(smtp.port);
    await first.play([...upToData, 'DATA → 354']);
    const { socket } = await halfOpen(smtp.port);
    await once(socket, 'end');
    await meetsClosedSocket(socket);
  });

  it('a client that does not close its side is cut off two seconds later', async () => {
    await start({ smtpProxyFrom: [] });
    const { socket } = await halfOpen(smtp.port);
    socket.write('QUIT\r\n');
    await once(socket, 'end');
    await clock.advance(4_000);
    await meetsClosedSocket(socket);
  });
});

it('the TLS port counts a connection before its handshake: a silent one gives way to the next of its address', async () => {
  const { tls } = trustedCertificate();
  await start({ smtpsPort: 0, tls, smtpMaxConnectionsPerAddress: 2 });
  const silentFrom = async (address: string) => {
    const raw = await halfOpen(smtp.tlsPort ?? 0);
    raw.socket.write(`PROXY TCP4 ${address} 192.0.2.1 1000 25\r\n`);
    return raw;
  };
  const first = await silentFrom('198.51.100.7');
  const second = await silentFrom('198.51.100.7');
  await silentFrom('198.51.100.7');
  await first.closed();
  const other = await silentFrom('198.51.100.8');
  await turns(50);
  for (const { socket } of [second, other]) expect(socket.readableEnded || socket.destroyed).toBe(false);
});
