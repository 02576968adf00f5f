import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { type Cidr, parseCidrs } from '../../../src/text/networks.ts';
import { checkUrl } from '../../../src/webhooks/outbound/address-guard.ts';
import { createResolve } from '../../../src/webhooks/outbound/resolve.ts';
import { createSender, type Sender } from '../../../src/webhooks/outbound/send.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { type NameServer, startNameServer } from '../../support/name-server.ts';
import { type Receiver, startHttp, startTcp } from '../receivers.ts';

/** Stands for a public address in answers; none of these tests lets anything be sent there. */
const PUBLIC = '93.184.215.14';
const REFUSED = { ok: false, error: { code: 'address_refused' } };

describe('an inner address', () => {
  let canary: Receiver;
  let dns: NameServer;
  let sender: Sender | undefined;
  beforeEach(async () => {
    canary = await startTcp();
    dns = await startNameServer();
    return async () => {
      await sender?.close();
      sender = undefined;
      dns.close();
      await canary.close();
    };
  });

  const closeWithTest = (...receivers: Receiver[]) =>
    onTestFinished(async () => void (await Promise.all(receivers.map((one) => one.close()))));
  const guardOf = (allow: Cidr[]) => ({ allow, resolve: createResolve({ servers: [dns.address] }) });
  function send(url: string, allow: Cidr[] = []) {
    sender ??= createSender({ ...guardOf(allow), clock: new FakeClock(), userAgent: 'Mayfly/test' });
    return sender.send({ url, headers: {}, body: '{}' });
  }

  it.each([
    ...['127.0.0.1', '127.1', '127.0.1', '2130706433', '0x7f000001', '0x7f.1', '0177.0.0.1', '017700000001'],
    ...['127.0.0.1.', '0', '0.0.0.0', '127.8.8.8', '①②⑦.⓪.⓪.①', '127。0。0。1', '%31%32%37.0.0.1'],
    ...['[::1]', '[0:0:0:0:0:0:0:1]', '[::]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::127.0.0.1]'],
    ...['[64:ff9b::127.0.0.1]', '[2002:7f00:1::1]', 'localhost', 'LOCALHOST.', 'x.localhost'],
  ])('is never connected to, however it is spelt: %s', async (host) => {
    const url = `http://${host}:${canary.port}/`;
    await expect(checkUrl(url, guardOf([]))).rejects.toMatchObject({ code: 'webhook_url_refused' });
    for (const one of [url, url.replace('http', 'https')])
      expect(await send(one)).toMatchObject({ ...REFUSED, status: null });
    expect(canary.connections()).toBe(0);
  });

  it('is never connected to by a name that has it alone, among others, or in the other family', async () => {
    dns.zone = {
      'inner.test': { A: ['127.0.0.1'] },
      'mixed.test': { A: [PUBLIC, '127.0.0.1'] },
      'mixed-first.test': { A: ['127.0.0.1', PUBLIC] },
      'mixed-family.test': { A: [PUBLIC], AAAA: ['::1'] },
      'inner-family.test': { A: ['127.0.0.1'], AAAA: ['2606:4700:4700::1111'] },
      'mapped.test': { AAAA: ['::ffff:127.0.0.1'] },
      'nat64.test': { AAAA: ['64:ff9b::7f00:1'] },
      'metadata.test': { A: ['169.254.169.254'] },
    };
    for (const name of Object.keys(dns.zone)) {
      const url = `http://${name}:${canary.port}/`;
      await expect(checkUrl(url, guardOf([])), name).rejects.toMatchObject({ code: 'webhook_url_refused' });
      expect(await send(url), name).toMatchObject(REFUSED);
    }
    expect(canary.connections()).toBe(0);
  });

  it('is not connected to by a name that was public at registration and changed (rebinding)', async () => {
    dns.zone['rebind.test'] = { A: (earlier) => [earlier === 0 ? PUBLIC : '127.0.0.1'] };
    const url = await checkUrl(`http://rebind.test:${canary.port}/`, guardOf([]));
    for (let attempt = 0; attempt < 3; attempt++) expect(await send(url)).toMatchObject(REFUSED);
    expect(canary.connections()).toBe(0);
    expect(dns.questions.filter((question) => question === 'A rebind.test')).toHaveLength(4);
  });

  it('is not connected to by a name that changes between the check and the connection', async () => {
    const allow = parseCidrs('127.0.0.1/32');
    const receiver = await startHttp();
    const neighbour = await startTcp(undefined, { host: '127.0.0.2', port: receiver.port });
    closeWithTest(receiver, neighbour);
    dns.zone['pinned.test'] = { A: (earlier) => [earlier === 0 ? '127.0.0.1' : '127.0.0.2'] };
    expect(await send(`http://pinned.test:${receiver.port}/`, allow)).toMatchObject({ ok: true });
    const lookUp = ['A pinned.test', 'AAAA pinned.test'];
    expect(dns.questions.toSorted(), 'one look-up a connection').toEqual(lookUp);
    expect(neighbour.connections()).toBe(0);
  });

  it('inside a network that the operator allows is reached, and its neighbours are not', async () => {
    const allow = parseCidrs('127.0.0.1/32');
    const receiver = await startHttp();
    const neighbour = await startTcp(undefined, { host: '127.0.0.2' });
    closeWithTest(receiver, neighbour);
    dns.zone = { 'good.test': { A: ['127.0.0.1'] }, 'bad.test': { A: ['127.0.0.2'] } };
    for (const host of ['127.0.0.1', 'good.test'])
      expect(await send(`http://${host}:${receiver.port}/`, allow)).toMatchObject({ ok: true });
    for (const host of ['127.0.0.2', 'bad.test'])
      expect(await send(`http://${host}:${neighbour.port}/`, allow)).toMatchObject(REFUSED);
    expect(neighbour.connections()).toBe(0);
  });
});
