import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  Authenticator,
  CHECK_TIME_LIMIT_MS,
  HURRY_MS,
  MAX_BYTES_PER_SOURCE,
  MAX_CHECKS_PER_SOURCE,
} from '../../src/reading/sender-checks/authenticator.ts';
import { authenticateMail } from '../../src/reading/sender-checks/worker.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { compose, createSigner } from '../support/mail/signed-mail.ts';
import { type NameServer, startNameServer } from '../support/name-server.ts';

const ENVELOPE = {
  mailFrom: 'hello@shop.test',
  helo: 'mx.shop.test',
  remoteAddress: '198.51.100.7',
  tls: false,
};
const HOSTILE = { ...ENVELOPE, mailFrom: 'x@silent.test', remoteAddress: '203.0.113.66' };
const NOT_IN_TIME = { spf: 'temperror', dkim: 'temperror', dmarc: 'temperror' };
const ALL_PASS = { spf: 'pass', dkim: 'pass', dmarc: 'pass' };
const shop = createSigner('shop.test');
const SIGNATURE = 'DKIM-Signature: v=1; a=rsa-sha256; d=b.test; s=x; h=from; bh=YWJj; b=';

let names: NameServer;
let signed: Buffer;
let authenticator: Authenticator | undefined;
beforeAll(async () => {
  names = await startNameServer({
    'shop.test': { TXT: ['v=spf1 ip4:198.51.100.0/24 -all'] },
    [shop.keyName]: { TXT: [shop.keyText] },
    '_dmarc.shop.test': { TXT: ['v=DMARC1; p=reject'] },
    'silent.test': 'silent',
  });
  const mail = { from: 'hello@shop.test', to: 'a@mayfly.test', subject: 'Welcome', text: 'Hello\n' };
  signed = await compose(mail, shop);
});
afterEach(() => authenticator?.close());
afterAll(() => names.close());

function start(): { checks: Authenticator; clock: FakeClock } {
  const clock = new FakeClock();
  authenticator = new Authenticator({
    clock,
    dnsServers: [names.address],
    onThreadLost: (error) => {
      throw error;
    },
  });
  return { checks: authenticator, clock };
}

describe('before the libraries see a message, it is a permerror for', () => {
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
    const raw = Buffer.from(`${fields}\r\nFrom: a@b.test\r\n\r\nx\r\n`);
    const never = new AbortController().signal;
    const found = await authenticateMail({ ...HOSTILE, raw }, nothing, never);
    expect(found).toMatchObject({ dkim: 'permerror', dmarc: 'permerror' });
  });

  it('and not for a mail with a large key and a folded signature', async () => {
    const { checks } = start();
    expect(await checks.check(ENVELOPE, signed)).toEqual(ALL_PASS);
  });
});

describe('a source that keeps many checks waiting for its name servers', () => {
  it('takes no check from another source', async () => {
    const { checks, clock } = start();
    const hostile = Array.from({ length: 300 }, () =>
      checks.check(HOSTILE, Buffer.from('From: x@silent.test\r\n\r\nx')),
    );
    expect(checks.checks).toBe(MAX_CHECKS_PER_SOURCE);
    expect(await checks.check(ENVELOPE, signed)).toEqual(ALL_PASS);
    await clock.advance(CHECK_TIME_LIMIT_MS - HURRY_MS);
    expect(await hostile.at(-1)).toEqual(NOT_IN_TIME);
    await Promise.all(hostile);
  });

  it('nor with large messages', async () => {
    const { checks, clock } = start();
    const large = Buffer.alloc(MAX_BYTES_PER_SOURCE / 2, 'x');
    const hostile = Array.from({ length: 6 }, () => checks.check(HOSTILE, large));
    expect(checks.checks).toBe(2);
    await checks.check(ENVELOPE, signed);
    await clock.advance(CHECK_TIME_LIMIT_MS - HURRY_MS);
    await Promise.all(hostile);
  });
});
