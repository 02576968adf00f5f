import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { isIP, type Socket } from 'node:net';
import { connect } from 'node:tls';
import type { Command } from 'commander';
import ipaddr from 'ipaddr.js';
import { DAY_MS } from '../clock.ts';
import { parseConfig } from '../config/config.ts';
import { codeOf, messageOf } from '../errors.ts';
import { quoted } from '../text/nearest.ts';
import { ArgumentError, type Edge, readDomain } from './arguments.ts';
import { openDialog } from './mail.ts';
import { plain } from './text.ts';

/** Time limit of one connection with all its commands, and of one HTTP request. Real senders wait longer. */
const CONNECTION_MS = 10_000;
const DNS = { timeout: 2_000, tries: 2 };
/** Fewer days cause a warning: ACME clients renew 30 days before the expiry, so the renewal has failed. */
const MIN_VALID_DAYS = 14;
/** Warns long before a difference of 5 minutes, at which receivers often reject webhooks as too old. */
const MAX_CLOCK_DIFFERENCE_MS = 30_000;

type Finding = { result: 'ok' | 'warning' | 'problem'; text: string; advice?: string };

type Findings = AsyncGenerator<Finding, void>;

interface Visit {
  now(): number;
  port: number;
  domain: string;
  url: string | null;
  resolver: Resolver;
  /** Whether the domain has an MTA-STS policy (RFC 8461). If so, senders check the certificate. */
  hasPolicy?: boolean;
}

const ok = (text: string): Finding => ({ result: 'ok', text });
const warning = (text: string, advice: string): Finding => ({ result: 'warning', text, advice });
const problem = (text: string, advice: string): Finding => ({ result: 'problem', text, advice });

const records = <T>(query: Promise<T[]>): Promise<T[]> =>
  query.catch((error) => {
    if (['ENOTFOUND', 'ENODATA'].includes(codeOf(error))) return [];
    throw error;
  });

/** @returns the hosts that senders connect to, the preferred one first */
async function* checkMx({ domain, resolver }: Visit): AsyncGenerator<Finding, string[]> {
  const found = await records(resolver.resolveMx(domain));
  if (found.length === 0)
    yield problem(`MX of ${domain}: none`, 'Publish an MX record with the name of this server.');
  const hosts: string[] = [];
  for (const { exchange } of found.sort((a, b) => a.priority - b.priority)) {
    const what = `MX of ${domain}: ${quoted(exchange)}`;
    if (exchange === '' || isIP(exchange)) {
      yield problem(what, 'An MX record names a host. Give the address a name, and put the name there.');
      continue;
    }
    hosts.push(exchange);
    const [target] = await records(resolver.resolveCname(exchange));
    yield target
      ? problem(`${what}, a CNAME of ${target}`, `Some senders give up on it: name ${target} itself.`)
      : ok(what);
  }
  return hosts;
}

async function* checkHost(host: string, visit: Visit): Findings {
  const { resolver } = visit;
  const v4 = await records(resolver.resolve4(host));
  const addresses = [...v4, ...(await records(resolver.resolve6(host)))];
  if (addresses.length === 0) yield problem(`Address of ${host}: none`, `Publish an A record of ${host}.`);
  for (const address of addresses) {
    const what = `Address of ${host}: ${address}`;
    yield ipaddr.parse(address).range() === 'unicast'
      ? ok(what)
      : warning(what, 'It is not a public address: senders on the internet cannot reach it.');
    yield* checkServer(address, host, visit);
  }
}

function failed(error: unknown, where: string, isIpv6: boolean): Finding {
  const code = codeOf(error);
  if (isIpv6 && ['ENETUNREACH', 'EADDRNOTAVAIL', 'EHOSTUNREACH'].includes(code))
    return warning(`${where}: not tried`, 'There is no IPv6 here. Try again from a machine that has it.');
  if (code === 'ECONNREFUSED')
    return problem(
      `${where}: refused`,
      'Set MAYFLY_SMTP_HOST=0.0.0.0 and MAYFLY_SMTP_PORT=25, or forward the port to that of Mayfly.',
    );
  if (!['ABORT_ERR', 'ETIMEDOUT', 'ENETUNREACH', 'EHOSTUNREACH'].includes(code))
    return problem(`${where}: ${messageOf(error)}`, 'Try again, and read the log of the server.');
  return problem(
    `${where}: no answer`,
    'Open the port in the firewalls of the machine and of the provider. Many networks block it on the way out: try from another one.',
  );
}

/** Runs an SMTP dialog with the server as a sender does, without sending a message. */
async function* checkServer(address: string, host: string, visit: Visit): Findings {
  const { domain, port } = visit;
  const where = `Port ${port} of ${address}`;
  const { socket, next, say } = openDialog({ host: address, port }, CONNECTION_MS);
  try {
    const greeting = await next();
    const greeted = `${where}: ${quoted(greeting)}`;
    yield greeting.startsWith(`220 ${host} `)
      ? ok(greeted)
      : warning(greeted, `Set MAYFLY_SMTP_NAME=${host}, the name in the MX record.`);
    const extensions = await say('EHLO mayfly-doctor.invalid');
    await say('MAIL FROM:<>');
    yield aboutRecipient(await say(`RCPT TO:<mayfly-doctor@${domain}>`), address);
    await say('RSET');
    if (!/^250[ -]STARTTLS\s*$/m.test(extensions)) {
      yield warning(
        `STARTTLS of ${address}: not offered`,
        'Senders that insist on TLS do not deliver. Set MAYFLY_SMTP_TLS_CERT_FILE and MAYFLY_SMTP_TLS_KEY_FILE.',
      );
    } else if ((await say('STARTTLS')).startsWith('220')) yield* checkCertificate(socket, host, visit);
  } catch (error) {
    yield failed(error, where, isIP(address) === 6);
  } finally {
    socket.destroy();
  }
}

/** @param reply the server's reply to RCPT TO for an address that has no inbox */
function aboutRecipient(reply: string, address: string): Finding {
  const what = `Mail without an inbox at ${address}: ${quoted(reply)}`;
  if (reply === '550 5.1.1 No such inbox here') return ok(what);
  if (reply.startsWith('25'))
    return warning(what, 'The sink or a catch-all inbox takes it, and spam too; or this is another server.');
  return problem(what, 'Mayfly does not reply so. Point the MX record, or the forwarded port, to Mayfly.');
}

async function* checkCertificate(socket: Socket, host: string, { hasPolicy, now }: Visit): Findings {
  const secure = connect({ socket, servername: host, rejectUnauthorized: false });
  await once(secure, 'secureConnect');
  const { valid_to: end, subject } = secure.getPeerCertificate();
  const { authorized, authorizationError } = secure;
  secure.destroy();
  const days = Math.floor((Date.parse(end) - now()) / DAY_MS);
  const seen = `Certificate of ${host}: ${quoted(String(subject.CN ?? ''))}, valid until ${end}`;
  const renew = 'Renew it and send SIGHUP to Mayfly: a hook of the ACME client does both (docs/internet.md).';
  if (days < 0) yield problem(seen, renew);
  else if (authorized) yield days < MIN_VALID_DAYS ? warning(seen, renew) : ok(seen);
  else {
    const text = `${seen} (${authorizationError})`;
    const advice = `Get a certificate of a public authority for ${host}.`;
    yield hasPolicy
      ? problem(text, `${advice} The domain has an MTA-STS policy: senders that follow it do not deliver.`)
      : warning(text, `${advice} Most senders encrypt without checking it; some do not deliver.`);
  }
}

async function* checkNoSending({ domain, resolver }: Visit): Findings {
  const texts = (await records(resolver.resolveTxt(domain))).map((parts) => parts.join(''));
  const spf = texts.find((text) => /^v=spf1( |$)/i.test(text));
  yield spf
    ? ok(`SPF of ${domain}: ${quoted(spf)}`)
    : warning(`SPF of ${domain}: none`, 'Nobody sends from it: publish the TXT record "v=spf1 -all".');
}

async function* checkApi({ url, now }: Visit): Findings {
  if (url === null)
    return yield warning('API: not tried', 'Set MAYFLY_PUBLIC_URL, or name the API with --url https://HOST.');
  const what = `API ${url}/readyz`;
  try {
    const signal = AbortSignal.timeout(CONNECTION_MS);
    const response = await fetch(`${url}/readyz`, { redirect: 'manual', signal });
    const text = await response.text();
    if (response.status !== 200 || !text.includes('"ready"')) throw new Error(String(response.status));
    yield url.startsWith('https:')
      ? ok(`${what}: ready`)
      : warning(`${what}: ready, without TLS`, 'Keys and mail can be read on the way. Use a reverse proxy.');
    const difference = Date.parse(response.headers.get('date') ?? '') - now();
    const clock = `Clock of the API: ${Math.round(difference / 1000)} s from the one here`;
    yield Math.abs(difference) <= MAX_CLOCK_DIFFERENCE_MS
      ? ok(clock)
      : warning(clock, 'Synchronise both machines by NTP (timedatectl).');
  } catch (error) {
    const cause = error instanceof Error && error.cause ? error.cause : error;
    yield problem(
      `${what}: ${codeOf(cause) || messageOf(cause)}`,
      'Check the reverse proxy, its certificate, and that Mayfly runs.',
    );
  }
}

async function* checkAll(visit: Visit): Findings {
  try {
    const hosts = yield* checkMx(visit);
    const hasPolicy = (await records(visit.resolver.resolveTxt(`_mta-sts.${visit.domain}`))).length > 0;
    for (const host of hosts) yield* checkHost(host, { ...visit, hasPolicy });
    yield* checkNoSending(visit);
  } catch (error) {
    yield problem(`DNS: ${messageOf(error)}`, 'Check the network, or set MAYFLY_DNS_SERVERS.');
  }
  yield* checkApi(visit);
}

function readVisit({ env, now }: Pick<Edge, 'env' | 'now'>, port: number, name?: string, urlOption?: string) {
  const { domains, publicUrl, dnsServers } = parseConfig(env);
  const resolver = new Resolver(DNS);
  if (dnsServers) resolver.setServers(dnsServers);
  const domain = readDomain(name ?? domains[0] ?? '');
  const url = urlOption?.replace(/\/+$/, '') ?? publicUrl;
  if (url !== null && !URL.canParse(url))
    throw new ArgumentError(`${quoted(url)} is not a URL, such as https://mayfly.example.com.`);
  return { now, port, domain, url, resolver };
}

/** @param port the SMTP port that senders connect to: 25 (RFC 5321 section 4.5.4.2), except in tests */
export function addDoctorCommand(program: Command, edge: Pick<Edge, 'env' | 'print' | 'now'>, port = 25) {
  program
    .command('doctor')
    .description('Check a server that receives mail from the internet: DNS, port 25, TLS, API')
    .argument('[domain]', 'Domain of the addresses (default: the first of MAYFLY_DOMAINS)')
    .option('--url <url>', 'URL of the API (default: MAYFLY_PUBLIC_URL)')
    .action(async (name: string | undefined, { url }: { url?: string }) => {
      let problems = 0;
      for await (const { result, text, advice } of checkAll(readVisit(edge, port, name, url))) {
        if (result === 'problem') problems += 1;
        edge.print(`${result.padEnd(8)} ${plain(text)}${advice ? `\n${' '.repeat(9)}${advice}` : ''}`);
      }
      if (problems > 0)
        throw new Error(`${problems} ${problems === 1 ? 'check' : 'checks'} found a problem.`);
    });
}
