import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import type Mail from 'nodemailer/lib/mailer/index.js';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import {
  Authenticator,
  type AuthenticatorOptions,
  CHECK_TIME_LIMIT_MS,
  HURRY_MS,
  MAX_BYTES_PER_SOURCE,
  MAX_CHECKS_PER_SOURCE,
} from '../../../src/reading/sender-checks/authenticator.ts';
import { authenticateMail } from '../../../src/reading/sender-checks/worker.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { compose, createSigner } from '../../support/mail/signed-mail.ts';
import { startNameServer, type Zone } from '../../support/name-server.ts';

const OUTSIDE = '198.51.100.7';
const ENVELOPE = { mailFrom: 'hello@shop.test', helo: 'mx.shop.test', remoteAddress: OUTSIDE, tls: false };
const MAIL: Mail.Options = {
  from: 'Shop <hello@shop.test>',
  to: 'ada@mayfly.test',
  subject: 'Welcome',
  text: 'Hello Ada,\nyour code is 482913.\n',
};
const shop = createSigner('shop.test');
const other = createSigner('other.test');
/** All that a well-kept domain publishes. */
const SHOP: Zone = {
  'shop.test': { TXT: ['v=spf1 ip4:198.51.100.0/24 -all'] },
  [shop.keyName]: { TXT: [shop.keyText] },
  '_dmarc.shop.test': { TXT: ['v=DMARC1; p=reject'] },
  'other.test': { TXT: ['v=spf1 ip4:198.51.100.0/24 -all'] },
  [other.keyName]: { TXT: [other.keyText] },
};
const NOTHING_IN_TIME = { spf: 'temperror', dkim: 'temperror', dmarc: 'temperror' };
const ALL_PASS = { spf: 'pass', dkim: 'pass', dmarc: 'pass' };
const text = (bytes: Buffer) => bytes.toString('latin1');
const bytes = (mail: string) => Buffer.from(mail, 'latin1');

let clock: FakeClock;
let lost: string[];
let checking: Authenticator;

const start = (options: Partial<AuthenticatorOptions>): Authenticator => {
  lost = [];
  const onThreadLost = ({ message }: Error) => void lost.push(message);
  return new Authenticator({ clock, dnsServers: [names.address], onThreadLost, ...options });
};
const check = (raw: Buffer, envelope: Partial<typeof ENVELOPE> = {}) =>
  checking.check({ ...ENVELOPE, ...envelope }, Buffer.from(raw));

const names = await startNameServer();
const signed = await compose(MAIL, shop);
const unsigned = await compose(MAIL);
const ofOther = await compose(MAIL, other);
const ofUnknownKey = await compose(MAIL, createSigner('shop.test', 'unpublished'));
const ofStrict = await compose({ ...MAIL, from: 'a@strict.test' });
const ofBroken = await compose({ ...MAIL, from: 'a@broken.test' });
const ofUnheard = await compose({ ...MAIL, from: 'a@unheard-of.test' });
const [signature = ''] = /^DKIM-Signature:.*?\r\n(?=\S)/s.exec(text(signed)) ?? [];
afterAll(() => names.close());

/** Checks with this zone beside that of the shop, from before the cases of a `describe`, or before each. */
function useChecking(
  [before, after]: readonly [typeof beforeAll | typeof beforeEach, typeof afterAll | typeof afterEach],
  zone: Zone = {},
  options: Partial<AuthenticatorOptions> = {},
): void {
  before(() => {
    clock = new FakeClock();
    names.zone = { ...SHOP, ...zone };
    checking = start(options);
  });
  beforeEach(() => {
    names.questions.length = 0;
  });
  after(() => checking.close());
}
const FOR_ALL = [beforeAll, afterAll] as const;
const FOR_EACH = [beforeEach, afterEach] as const;
const SILENT: Zone = { 'silent.test': 'silent' };
const FROM_SILENT = { mailFrom: 'x@silent.test' };

/** What is remembered of a name would mix the cases up: a domain of its own for each. */
let cases = 0;
const ownDomain = () => `case${++cases}.test`;

describe('the sender of a mail from outside', () => {
  // One thread for all: as in the server, what one mail does must not trouble the next.
  useChecking(FOR_ALL, {
    'mx1.shop.test': { TXT: ['v=spf1 ip4:198.51.100.7 -all'] },
    'bounces.shop.test': { TXT: ['v=spf1 ip4:198.51.100.7 -all'] },
    'both.test': { TXT: ['v=spf1 ip6:2001:db8::/32 ip4:198.51.100.7 -all'] },
    'bounces.strict.test': { TXT: ['v=spf1 ip4:198.51.100.7 -all'] },
    '_dmarc.strict.test': { TXT: ['v=DMARC1; p=reject; aspf=s'] },
    'broken.test': 'servfail',
    '_dmarc.broken.test': 'servfail',
  });

  it.each([
    ['pass', 'v=spf1 ip4:198.51.100.7 -all'],
    ['fail', 'v=spf1 ip4:203.0.113.0/24 -all'],
    ['softfail', 'v=spf1 ip4:203.0.113.0/24 ~all'],
    ['neutral', 'v=spf1 ip4:203.0.113.0/24 ?all'],
    ['none', 'some other text'],
    ['permerror', 'v=spf1 ipv4:198.51.100.7 -all'],
  ])('gets %s by SPF where the domain says so', async (word, policy) => {
    const domain = ownDomain();
    names.zone[domain] = { TXT: [policy] };
    expect(await check(unsigned, { mailFrom: `x@${domain}` })).toMatchObject({ spf: word });
  });

  const body = bytes(text(signed).replace('482913', '482914'));
  const header = bytes(text(signed).replace('Welcome', 'Warning'));
  const broken = signature.replace(/bh=\w/, 'bh=x').replace('s=s1', 's=s2');
  const ofNone = signature.replace('d=shop', 'd=none');
  const BOUNCE = { mailFrom: '', helo: 'mx1.shop.test' };
  const FOREIGN = { mailFrom: 'x@other.test' };
  const STRICT = { mailFrom: 'x@bounces.strict.test' };
  const ELSEWHERE = { remoteAddress: '203.0.113.9' };
  const both = (remoteAddress: string) => ({ mailFrom: 'x@both.test', remoteAddress });

  it.each([
    ['whose host, signature and author belong together', signed, {}, 'pass pass pass'],
    ['that is a bounce, by its HELO name', unsigned, BOUNCE, 'pass none pass'],
    ['that is a bounce without a name', unsigned, { ...BOUNCE, helo: '[198.51.100.7]' }, 'none none fail'],
    ['from an IPv6 address', unsigned, both('2001:db8::7'), 'pass none fail'],
    ['from an IPv4 address as IPv6', unsigned, both('::ffff:198.51.100.7'), 'pass none fail'],
    ['from another IPv6 address', unsigned, both('2001:db9::7'), 'fail none fail'],
    // What senders of a private network publish is what is tested.
    ['from a private network', unsigned, both('10.0.0.7'), 'fail none fail'],
    ['with another byte in its body', body, {}, 'pass fail pass'],
    ['with another byte in its body, from elsewhere', body, ELSEWHERE, 'fail fail fail'],
    ['with another byte in a signed header', header, {}, 'pass fail pass'],
    ['with another byte in a signed header, from elsewhere', header, ELSEWHERE, 'fail fail fail'],
    ['without a signature', unsigned, {}, 'pass none pass'],
    ['without a signature, by another domain', unsigned, FOREIGN, 'pass none fail'],
    ['whose key is not published', ofUnknownKey, {}, 'pass neutral pass'],
    ['with several signatures of which one is right', bytes(broken + text(signed)), {}, 'pass pass pass'],
    ['with the signature of no domain', bytes(ofNone + text(unsigned)), {}, 'pass neutral pass'],
    ['of its author, sent by another domain', signed, FOREIGN, 'pass pass pass'],
    ['signed and sent by another domain', ofOther, FOREIGN, 'pass pass fail'],
    ['by a subdomain', unsigned, { mailFrom: 'x@bounces.shop.test' }, 'pass none pass'],
    ['by a subdomain of a strict one', ofStrict, STRICT, 'pass none fail'],
    ['without a policy', ofUnheard, {}, 'pass none none'],
    // What could not be read is never a fail.
    ['by a broken zone', unsigned, { mailFrom: 'x@broken.test' }, 'temperror none temperror'],
    ['of an author with a broken zone', ofBroken, {}, 'pass none temperror'],
    ['of two authors', bytes(`From: ceo@other.test\r\n${text(unsigned)}`), {}, 'pass none permerror'],
    ['of no author', bytes('Subject: x\r\n\r\nHello\r\n'), {}, 'pass none permerror'],
  ])('is checked by SPF, DKIM and DMARC: one %s', async (_, mail, envelope, expected) => {
    const [spf, dkim, dmarc] = expected.split(' ');
    expect(await check(mail, envelope)).toEqual({ spf, dkim, dmarc });
  });

  it('of a mail that is no mail is checked as well', async () => {
    const odd = ['', '\r\n', '\r\n\r\n', 'no header at all', 'From', '\0\xff', 'From: \r\n\r\n'];
    for (const raw of [...odd, 'DKIM-Signature:'])
      expect(await check(bytes(raw))).toMatchObject({ spf: 'pass' });
    expect(lost).toEqual([]);
  });

  it('is checked by three kinds of records and nothing else, whatever the message and its domain refer to', async () => {
    const inviting = createSigner('inviting.test');
    let connections = 0;
    const server = createServer(() => connections++).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const web = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    Object.assign(names.zone, {
      'inviting.test': { TXT: ['v=spf1 ip4:198.51.100.7 -all'] },
      [inviting.keyName]: { TXT: [inviting.keyText] },
      '_dmarc.inviting.test': { TXT: [`v=DMARC1; p=reject; rua=${web}/r,mailto:a@inviting.test`] },
      'default._bimi.inviting.test': { TXT: [`v=BIMI1; l=${web}/a.svg; a=${web}/a.pem`] },
      '_mta-sts.inviting.test': { TXT: ['v=STSv1; id=1'] },
    });
    const headers = { 'BIMI-Selector': 'v=BIMI1; s=default', 'List-Unsubscribe': `<${web}/u>` };
    const mail = await compose({ ...MAIL, from: 'a@inviting.test', headers }, inviting);
    expect(await check(mail, { mailFrom: 'a@inviting.test', helo: 'inviting.test' })).toEqual(ALL_PASS);
    expect([...names.questions].sort()).toEqual([
      'TXT _dmarc.inviting.test',
      'TXT inviting.test',
      `TXT ${inviting.keyName}`,
    ]);
    expect(connections).toBe(0);
  });
});

describe('a hostile mail', () => {
  useChecking(FOR_ALL);
  const next = async () => {
    expect(await check(signed)).toEqual(ALL_PASS);
    expect(lost).toEqual([]);
  };

  it('with hundreds of signatures is a permerror, without a question for any of them', async () => {
    const folded = signature.replace('DKIM-Signature:', 'dkim-signature\r\n :');
    for (const one of [signature, folded]) {
      const flood = Array.from({ length: 300 }, (_, i) => one.replace('s=s1', `s=s${i}`)).join('');
      const refused = { spf: 'pass', dkim: 'permerror', dmarc: 'permerror' };
      expect(await check(bytes(flood + text(signed)))).toEqual(refused);
    }
    expect(names.questions.filter((question) => question.includes('_domainkey'))).toEqual([]);
    await next();
  });

  it('with ten signatures of different lengths over a large body is checked without holding up the others', async () => {
    const flood = Array.from({ length: 10 }, (_, i) => signature.replace('s=s1', `s=s1; l=${i}`)).join('');
    const large = bytes(`${flood}${text(unsigned)}${`${'x y  z'.repeat(12)}\r\n`.repeat(20_000)}`);
    const hostile = check(large);
    await next();
    expect(await hostile).toMatchObject({ spf: 'pass' });
  });

  it.each([
    ['bytes', `X-Long: ${'a'.repeat(70_000)}\r\n`],
    ['lines', `X-Folded: a\r\n${' a\r\n'.repeat(5_000)}`],
    ['fields', 'X: y\r\n'.repeat(5_000)],
    ['bytes without an end', `${'a'.repeat(3_000_000)}`],
  ])('with a header of too many %s is a permerror', async (_of, header) => {
    expect(await check(bytes(header + text(signed)))).toMatchObject({ spf: 'pass', dkim: 'permerror' });
    await next();
  });

  it('from a domain whose policies include each other ends after a few questions', async () => {
    names.zone['loop-a.test'] = { TXT: ['v=spf1 include:loop-b.test -all'] };
    names.zone['loop-b.test'] = { TXT: ['v=spf1 include:loop-a.test -all'] };
    expect(await check(unsigned, { mailFrom: 'x@loop-a.test' })).toMatchObject({ spf: 'permerror' });
    expect(names.questions.length).toBeLessThan(10);
    await next();
  });

  it('from a domain that asks for a hundred look-ups costs ten', async () => {
    const terms = Array.from({ length: 100 }, (_, i) => `a:h${i}.many.test`).join(' ');
    names.zone['many.test'] = { TXT: [`v=spf1 ${terms} -all`] };
    for (let i = 0; i < 100; i++) names.zone[`h${i}.many.test`] = { A: ['203.0.113.1'] };
    expect(await check(unsigned, { mailFrom: 'x@many.test' })).toMatchObject({ spf: 'permerror' });
    expect(names.questions.filter((question) => question.startsWith('A h'))).toHaveLength(10);
    await next();
  });

  it('from a domain that multiplies look-ups by its mail exchangers gets sixty questions, not more', async () => {
    const hosts = Array.from({ length: 10 }, (_, i) => `m${i}`);
    const terms = hosts.map((host) => `mx:${host}.wide.test`).join(' ');
    names.zone['wide.test'] = { TXT: [`v=spf1 ${terms} -all`] };
    for (const host of hosts) {
      names.zone[`${host}.wide.test`] = { MX: hosts.map((exchanger) => `${exchanger}.${host}.wide.test`) };
      for (const exchanger of hosts) names.zone[`${exchanger}.${host}.wide.test`] = { A: ['203.0.113.1'] };
    }
    expect(await check(unsigned, { mailFrom: 'x@wide.test' })).toMatchObject({ spf: 'temperror' });
    expect(names.questions.length).toBeLessThanOrEqual(60);
    await next();
  });
});

describe('before the libraries see a message, it is a permerror for', () => {
  const SIGNATURE = 'DKIM-Signature: v=1; a=rsa-sha256; d=b.test; s=x; h=from; bh=YWJj; b=';
  const nothing = async () => {
    throw Object.assign(new Error('none'), { code: 'ENOTFOUND' });
  };
  it.each([
    ['60 KB of spaces in a signature', `${SIGNATURE}${' '.repeat(60_000)}x`],
    ['a thousand folds in a signature', `${SIGNATURE}${'\r\n x'.repeat(1_000)}`],
    ['3 KB of spaces in a signature', `${SIGNATURE}${' '.repeat(3_000)}x`],
    ['a signature of 5 KB', `${SIGNATURE}${'YWJj'.repeat(1_250)}`],
    ['eleven signatures', Array.from({ length: 11 }, () => `${SIGNATURE}YWJj`).join('\r\n')],
    ['a signature with a space before its colon', `dkim-signature : ${' '.repeat(60_000)}x`],
    ['a From field of 60 KB', `From: ${'a@b.test,'.repeat(6_600)}a@b.test`],
  ])('%s', async (_, fields) => {
    const raw = bytes(`${fields}\r\nFrom: a@b.test\r\n\r\nx\r\n`);
    const found = await authenticateMail({ ...ENVELOPE, raw }, nothing, new AbortController().signal);
    expect(found).toMatchObject({ dkim: 'permerror', dmarc: 'permerror' });
  });
});

describe('a source that keeps many checks waiting for its name servers', () => {
  useChecking(FOR_EACH, SILENT);

  it.each([
    ['', 300, 100, MAX_CHECKS_PER_SOURCE],
    [' of large messages', 6, MAX_BYTES_PER_SOURCE / 2, 2],
  ])('takes no check%s from another source', async (_, count, size, atOnce) => {
    const hostile = Array.from({ length: count }, () =>
      check(Buffer.alloc(size, 'x'), { mailFrom: 'x@silent.test', remoteAddress: '203.0.113.66' }),
    );
    expect(checking.checks).toBe(atOnce);
    expect(await check(signed)).toEqual(ALL_PASS);
    await clock.advance(CHECK_TIME_LIMIT_MS - HURRY_MS);
    expect((await Promise.all(hostile)).at(-1)).toMatchObject({ spf: 'temperror' });
  });
});

describe('the time of a check', () => {
  useChecking(FOR_EACH, { ...SILENT, 'mute._domainkey.shop.test': 'silent' });

  it('ends with what is known by then: a silent name server costs its own result', async () => {
    expect(await check(signed)).toEqual(ALL_PASS);
    const mail = await compose(MAIL, createSigner('shop.test', 'mute'));
    const found = check(mail);
    await names.untilAsked('TXT mute._domainkey.shop.test');
    await clock.advance(CHECK_TIME_LIMIT_MS - HURRY_MS);
    expect(await found).toMatchObject({ spf: 'pass', dkim: 'temperror' });
    const other = check(unsigned, FROM_SILENT);
    await names.untilAsked('TXT silent.test');
    await clock.advance(CHECK_TIME_LIMIT_MS - HURRY_MS);
    expect(await other).toMatchObject({ spf: 'temperror', dkim: 'none' });
    expect(await check(signed)).toEqual(ALL_PASS);
    expect(lost).toEqual([]);
  });

  it('ends also while the thread still starts, which goes on and checks the next mail', async () => {
    const found = check(signed);
    await clock.advance(CHECK_TIME_LIMIT_MS);
    expect(await found).toEqual(NOTHING_IN_TIME);
    expect(lost).toEqual([]);
    expect(await check(signed)).toEqual(ALL_PASS);
  });

  it('is not spent in a queue: beyond the number of checks at once a mail is not checked', async () => {
    checking = start({ limits: { checks: 2 } });
    const silent = [1, 2].map(() => check(unsigned, FROM_SILENT));
    expect(await check(signed)).toEqual(NOTHING_IN_TIME);
    await names.untilAsked('TXT silent.test');
    await clock.advance(CHECK_TIME_LIMIT_MS - HURRY_MS);
    await Promise.all(silent);
    expect(await check(signed)).toEqual(ALL_PASS);
  });

  it('nor beyond the bytes at once', async () => {
    checking = start({ limits: { bytes: signed.length } });
    const first = check(signed);
    expect(await check(signed)).toEqual(NOTHING_IN_TIME);
    expect(await first).toEqual(ALL_PASS);
    expect(await check(signed)).toEqual(ALL_PASS);
  });

  it('ends at once when the server stops', async () => {
    const found = check(unsigned, FROM_SILENT);
    await checking.close();
    expect(await found).toEqual(NOTHING_IN_TIME);
    expect(await check(signed)).toEqual(NOTHING_IN_TIME);
    expect(clock.sleepers).toBe(0);
    expect(lost).toEqual([]);
  });
});

describe('the thread that checks', () => {
  const workerEntry = new URL('./spoilt-check-worker.ts', import.meta.url);
  useChecking(FOR_EACH, SILENT, { workerEntry });

  it.each(['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1', ''])(
    'is not started, and nobody asked, for mail of this machine (%j)',
    async (remoteAddress) => {
      expect(await check(signed, { remoteAddress })).toBeNull();
      expect(checking.running).toBe(false);
      expect(names.questions).toEqual([]);
      expect(clock.sleepers).toBe(0);
    },
  );

  it('is ended when a mail keeps it busy; what it had is temperror, and the next mail is checked again', async () => {
    expect(await check(signed)).toEqual(ALL_PASS);
    const waiting = check(unsigned, FROM_SILENT);
    await names.untilAsked('TXT silent.test');
    const hostile = check(signed, { mailFrom: 'endless@shop.test' });
    const behind = check(signed);
    await clock.advance(CHECK_TIME_LIMIT_MS);
    expect(await Promise.all([waiting, hostile, behind])).toEqual(Array(3).fill(NOTHING_IN_TIME));
    await expect.poll(() => lost).toEqual(['A message kept the thread busy for too long.']);
    expect(await check(signed)).toEqual(ALL_PASS);
  });

  it.each(['crash', 'throw', 'memory'])('may die by a %s: the next mail is checked again', async (fault) => {
    const waiting = check(unsigned, FROM_SILENT);
    await names.untilAsked('TXT silent.test');
    expect(await check(signed, { mailFrom: `${fault}@silent.test` })).toEqual(NOTHING_IN_TIME);
    expect(await waiting).toEqual(NOTHING_IN_TIME);
    expect(lost).toHaveLength(1);
    expect(await check(signed)).toEqual(ALL_PASS);
  });

  it('ends after a minute without mail, and starts again with the next', async () => {
    expect(await check(signed)).toEqual(ALL_PASS);
    await clock.advance(59_000);
    expect(await check(signed)).toEqual(ALL_PASS);
    await clock.advance(59_000);
    expect(checking.running).toBe(true);
    await clock.advance(1_000);
    expect(checking.running).toBe(false);
    expect(await check(signed)).toEqual(ALL_PASS);
    expect(lost).toEqual([]);
  });
});
