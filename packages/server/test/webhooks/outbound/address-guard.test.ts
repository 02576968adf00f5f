import { beforeAll, describe, expect, it } from 'vitest';
import type { AppError } from '../../../src/errors.ts';
import { parseCidrs } from '../../../src/text/networks.ts';
import {
  checkUrl,
  type GuardSettings,
  isAllowedAddress,
  MAX_URL_LENGTH,
} from '../../../src/webhooks/outbound/address-guard.ts';
import { createResolve } from '../../../src/webhooks/outbound/resolve.ts';
import { startNameServer, type Zone } from '../../support/name-server.ts';
import CASES from './addresses.json' with { type: 'json' };

describe('an address that is not public', () => {
  it.each(CASES.notPublic)('is refused: %s', (_what, first, last) => {
    expect(isAllowedAddress(first, [])).toBe(false);
    expect(isAllowedAddress(last, [])).toBe(false);
  });

  it('is refused when it is no address at all', () => {
    const texts = ['', 'localhost', '127.1', '2130706433', '0x7f.0.0.1', '0177.0.0.1', '8.8.8.8 ', '8.8.8'];
    const all = parseCidrs('0.0.0.0/0 ::/0');
    expect([...texts, '[::1]', 'fe80::1%eth0'].filter((text) => isAllowedAddress(text, all))).toEqual([]);
  });
});

it('a public unicast address is allowed', () => {
  const addresses =
    '1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 172.15.255.255 172.32.0.0 ' +
    '223.255.255.255 2001:4860:4860::8888 2606:4700:4700::1111 2a00::1';
  expect(addresses.split(' ').filter((ip) => !isAllowedAddress(ip, []))).toEqual([]);
});

describe("the operator's networks", () => {
  it('are allowed, each in its own family, and nothing beside them', () => {
    expect([...parseCidrs(''), ...parseCidrs(' , \n')]).toEqual([]);
    const allow = parseCidrs('10.1.0.0/16, fd00:1::/32\n127.0.0.1/32,');
    expect(allow).toHaveLength(3);
    const inside = ['10.1.0.0', '10.1.255.255', 'fd00:1::1', '127.0.0.1'];
    const outside = ['10.2.0.0', '10.0.255.255', 'fd00:2::1', '127.0.0.2', '::1'];
    const hidden = ['::ffff:127.0.0.1', '::ffff:10.1.0.1'];
    expect([...inside, ...outside, ...hidden].filter((ip) => isAllowedAddress(ip, allow))).toEqual(inside);
    expect(isAllowedAddress('::ffff:127.0.0.1', parseCidrs('::ffff:127.0.0.0/104'))).toBe(true);
  });

  it.each(CASES.notNetworks)('are refused with what would be right: %s', (text, sentence) => {
    expect(() => parseCidrs(text)).toThrow(sentence);
  });

  it('are refused with all that is wrong at once', () => {
    expect(() => parseCidrs('10.0.0.0/8, nonsense, ::1')).toThrow(/"nonsense" is not.*; "::1" has no prefix/);
  });
});

describe('a webhook URL at registration', () => {
  let guard: GuardSettings;
  const zone: Zone = {
    'hooks.example.com': { A: ['93.184.215.14'], AAAA: ['2606:2800:21f:cb07::1'] },
    'v4only.example.com': { A: ['93.184.215.14'] },
    'v6only.example.com': { AAAA: ['2606:2800:21f:cb07::1'] },
    'mixed.example.com': { A: ['93.184.215.14', '10.0.0.5'] },
    'empty.example.com': {},
    'broken.example.com': 'servfail',
    'xn--bcher-kva.example': { A: ['93.184.215.14'] },
  };
  beforeAll(async () => {
    const { address, close } = await startNameServer(zone);
    guard = { allow: [], resolve: createResolve({ servers: [address] }) };
    return close;
  });

  async function refusal(url: string, settings = guard): Promise<string> {
    const error: AppError = await checkUrl(url, settings).then(
      (accepted) => expect.fail(`accepted as ${accepted}`),
      (thrown) => thrown,
    );
    expect(error).toMatchObject({ name: 'AppError', code: 'webhook_url_refused' });
    return error.message;
  }

  it.each(CASES.accepted)(
    'is accepted in its normal spelling when all its addresses are public: %s',
    async (url, normal) => {
      expect(await checkUrl(url, guard)).toBe(normal);
    },
  );

  it.each(CASES.refused)('is refused with the reason: %j', async (url, reason) => {
    expect(await refusal(url)).toContain(reason);
  });

  it('is refused with the setting that allows it; the address is named if the settings say so', async () => {
    const named = { ...guard, namesAddresses: true };
    expect(await refusal('https://mixed.example.com/')).not.toContain('10.0.0.5');
    expect(await refusal('https://mixed.example.com/', named)).toBe(
      'The host name "mixed.example.com" has the address 10.0.0.5, which is not public. Webhooks are sent to public addresses only, unless the operator allows their network with MAYFLY_WEBHOOK_ALLOW, for instance 10.0.0.5/32.',
    );
    const sentence = /^The address ::1 .* MAYFLY_WEBHOOK_ALLOW, .*::1\/128\.$/;
    expect(await refusal('http://[::1]:3000/hook')).toMatch(sentence);
  });

  it('is refused with the limit of its length, percent-encoded', async () => {
    const url = (path: string) => refusal(`https://hooks.example.com/${path}`);
    expect(await url('a'.repeat(MAX_URL_LENGTH))).toContain(`more than the limit of ${MAX_URL_LENGTH}`);
    expect(await url('é'.repeat(1000))).toContain('characters when percent-encoded, more than the limit');
  });

  it('never shows what may be a password or a token in it', async () => {
    for (const url of ['//u:s3cret@example.com', 'example.com/hook?token=s3cret', 'https://u:s3cret@'])
      expect(await refusal(url)).not.toContain('s3cret');
  });
});
