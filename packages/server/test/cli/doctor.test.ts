import { once } from 'node:events';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { Command } from 'commander';
import { afterAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { addDoctorCommand } from '../../src/cli/doctor.ts';
import { type NameServer, startNameServer, type Zone } from '../support/name-server.ts';
import { startApp } from '../support/start-app.ts';
import { trustedCertificate } from '../support/tls/certificates.ts';

const DOMAIN = 'mail.shop.example';
const HOST = 'mx.shop.example';
const DAY_MS = 86_400_000;
const GOOD: Zone = { [DOMAIN]: { MX: [HOST], TXT: ['v=spf1 -all'] }, [HOST]: { A: ['127.0.0.1'] } };
const CNAME: Zone = { [HOST]: { A: ['127.0.0.1'], CNAME: ['a.shop.example'] } };

const smtp = trustedCertificate(HOST).tls;
const app = await startApp({
  MAYFLY_DOMAINS: DOMAIN,
  MAYFLY_SMTP_NAME: HOST,
  MAYFLY_SMTP_TLS_CERT: smtp.cert,
  MAYFLY_SMTP_TLS_KEY: smtp.key,
});
const web = trustedCertificate('localhost').tls;
const authorities = getCACertificates();
setDefaultCACertificates([...authorities, smtp.cert, web.cert]);
const proxy = createHttpsServer(web, async (request, response) => {
  const answer = await fetch(app.url + request.url);
  response.writeHead(answer.status, { date: answer.headers.get('date') ?? '' });
  response.end(await answer.text());
}).listen(0, '127.0.0.1');
await once(proxy, 'listening');
const apiUrl = `https://localhost:${(proxy.address() as AddressInfo).port}`;
afterAll(async () => {
  setDefaultCACertificates(authorities);
  proxy.close();
  proxy.closeAllConnections();
  await app.stop();
});
let names: NameServer;
beforeEach(async () => {
  names = await startNameServer({ ...GOOD });
  return names.close;
});

interface Options {
  args?: string[];
  publicUrl?: string;
  port?: number;
  now?: number;
}

/** Runs `mayfly doctor`. @returns its lines, and the error that makes its exit code 1 */
async function doctor(options: Options = {}) {
  const { args = [], publicUrl = apiUrl, port = app.smtp.port, now = Date.now() } = options;
  const env = {
    MAYFLY_DOMAINS: DOMAIN,
    MAYFLY_PUBLIC_URL: publicUrl,
    MAYFLY_DNS_SERVERS: names.address,
  };
  const program = new Command().exitOverride();
  const lines: string[] = [];
  addDoctorCommand(program, { env, print: (text) => lines.push(text), now: () => now }, port);
  const error = await program.parseAsync(['doctor', ...args], { from: 'user' }).then(
    () => null,
    (reason: Error) => reason.message,
  );
  return { lines, text: lines.join('\n'), error };
}

/** Another mail server, with these replies one after the other, and then `end`. @returns its port */
async function otherServer(replies: string[]): Promise<number> {
  const server = createServer((socket) => {
    const rest = [...replies];
    const reply = () => socket.write(`${rest.shift() ?? '500 5.5.2 What?'}\r\n`);
    socket.on('error', () => undefined).on('data', reply);
    reply();
    if (rest[0] === 'end') socket.end();
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

describe('mayfly doctor', () => {
  it('says of each step of docs/internet.md that it is right, and fails for none', async () => {
    const { lines, error } = await doctor();
    expect(lines).toEqual([
      `ok       MX of ${DOMAIN}: "${HOST}"`,
      // The one thing that a test on loopback cannot have.
      `warning  Address of ${HOST}: 127.0.0.1\n         It is not a public address: senders on the internet cannot reach it.`,
      `ok       Port ${app.smtp.port} of 127.0.0.1: "220 ${HOST} ESMTP"`,
      `ok       Mail without an inbox at 127.0.0.1: "550 5.1.1 No such inbox here"`,
      expect.stringMatching(RegExp(`^ok       Certificate of ${HOST}: .*, valid until `)),
      `ok       SPF of ${DOMAIN}: "v=spf1 -all"`,
      `ok       API ${apiUrl}/readyz: ready`,
      expect.stringMatching(/^ok {7}Clock of the API: -?\d+ s from the one here$/),
    ]);
    expect(error).toBeNull();
  });

  it.each<[string, Zone, string, string]>([
    ['no MX record', { [DOMAIN]: {} }, `MX of ${DOMAIN}: none`, 'Publish an MX record'],
    ['an MX record that refuses mail', { [DOMAIN]: { MX: [''] } }, `MX of ${DOMAIN}: ""`, 'names a host'],
    ['an address as MX', { [DOMAIN]: { MX: ['127.0.0.1'] } }, `MX of ${DOMAIN}: "127.0.0.1"`, 'names a host'],
    ['a CNAME as MX', CNAME, 'a CNAME of a.shop.example', 'name a.shop.example itself'],
    ['a host without an address', { [HOST]: {} }, `Address of ${HOST}: none`, 'Publish an A record'],
    ['name servers that fail', { [DOMAIN]: 'servfail' }, 'DNS: queryMx ESERVFAIL', 'MAYFLY_DNS_SERVERS'],
  ])('finds %s', async (_, zone, seen, advice) => {
    Object.assign(names.zone, zone);
    const { lines, error } = await doctor();
    const [found = ''] = lines.filter((line) => line.startsWith('problem'));
    expect(found).toContain(seen);
    expect(found).toContain(advice);
    expect(error).toBe('1 check found a problem.');
  });

  it('finds a port where nothing listens, by IPv6 too', async () => {
    names.zone[HOST] = { A: ['127.0.0.2'], AAAA: ['::1'] };
    const { text, error } = await doctor();
    expect(text).toContain(`problem  Port ${app.smtp.port} of 127.0.0.2: refused\n`);
    expect(text).toMatch(/(problem|warning) {2}Port \d+ of ::1: (refused|not tried)\n/);
    expect(text).toContain('Set MAYFLY_SMTP_HOST=0.0.0.0');
    expect(error).not.toBeNull();
  });

  it('finds another mail server in our place, and one without STARTTLS', async () => {
    const replies = ['250 OK', '250 OK', '554 5.7.1 Relay access denied', '250 OK'];
    const port = await otherServer(['220 mail.host.example ESMTP', ...replies]);
    const { text, error } = await doctor({ port });
    expect(text).toContain(`"220 mail.host.example ESMTP"\n         Set MAYFLY_SMTP_NAME=${HOST}`);
    expect(text).toMatch(/^problem {2}Mail without an inbox .*Relay access denied"\n.*Point the MX record/m);
    expect(text).toMatch(/^warning {2}STARTTLS of 127\.0\.0\.1: not offered/m);
    expect(error).toBe('1 check found a problem.');
  });

  it('finds a server that ends the connection', async () => {
    const { text } = await doctor({ port: await otherServer(['421 4.3.2 Too many connections', 'end']) });
    expect(text).toMatch(/^problem {2}Port \d+ of 127\.0\.0\.1: The server closed.*\n.*Try again/m);
  });

  it('finds a certificate that is for another name, ends soon, or has ended', async () => {
    const named = 'localhost.shop.example';
    Object.assign(names.zone, { [DOMAIN]: { MX: [named] }, [named]: { A: ['127.0.0.1'] } });
    const other = /Certificate .*ERR_TLS_CERT_ALTNAME_INVALID\)\n.*/;
    expect((await doctor()).text).toMatch(RegExp(`^warning  ${other.source}public authority`, 'm'));
    names.zone[`_mta-sts.${DOMAIN}`] = { TXT: ['v=STSv1; id=1'] };
    expect((await doctor()).text).toMatch(RegExp(`^problem  ${other.source}MTA-STS`, 'm'));
    names.zone = { ...GOOD };
    const end = Date.parse(/valid until (.*)/.exec((await doctor()).text)?.[1] ?? '');
    for (const [days, found] of [
      [-15, /^ok {7}Certificate/m],
      [-13, /^warning {2}Certificate.*\n.*SIGHUP/m],
      [1, /^problem {2}Certificate.*\n.*SIGHUP/m],
    ] as const)
      expect((await doctor({ now: end + days * DAY_MS })).text).toMatch(found);
  });

  it('finds an API that is not reachable, that is another program, or that has no TLS', async () => {
    for (const [url, found] of [
      ['http://127.0.0.1:2', /^problem {2}API .*: ECONNREFUSED\n.*reverse proxy/m],
      [`${apiUrl}/v1`, /^problem {2}API .*\/v1\/readyz: 4\d\d/m],
      [`${app.url}/`, /^warning {2}API .*ready, without TLS/m],
    ] as const)
      expect((await doctor({ args: ['--url', url] })).text).toMatch(found);
    const { text } = await doctor({ publicUrl: '' });
    expect(text).toMatch(/^warning {2}API: not tried\n.*--url/m);
  });

  it('finds a clock that is wrong', async () => {
    const { text } = await doctor({ now: Date.now() - 3_600_000 });
    expect(text).toMatch(/^warning {2}Clock of the API: 3[56]\d\d s from the one here\n.*NTP/m);
  });

  it('checks another domain than that of the settings, and says what is no domain or URL', async () => {
    names.zone['other.example'] = { MX: [HOST] };
    const { text } = await doctor({ args: ['other.example'] });
    expect(text).toContain('MX of other.example');
    expect(text).toContain('warning  SPF of other.example: none');
    expect((await doctor({ args: ['not a domain'] })).error).toContain('"not a domain" is not a domain name');
    expect((await doctor({ args: ['--url', 'mayfly'] })).error).toContain('"mayfly" is not a URL');
  });
});
