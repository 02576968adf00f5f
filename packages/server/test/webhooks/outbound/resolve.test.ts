import { afterEach, describe, expect, it, vi } from 'vitest';
import { createResolve } from '../../../src/webhooks/outbound/resolve.ts';
import { type NameServer, startNameServer, type Zone } from '../../support/name-server.ts';

describe('the look-up of a name', () => {
  let dns: NameServer | undefined;
  afterEach(() => dns?.close());
  /** Look-ups at a name server that has this zone. */
  const resolveIn = async (zone: Zone, options: Parameters<typeof createResolve>[0] = {}) => {
    dns = await startNameServer(zone);
    return createResolve({ servers: [dns.address], ...options });
  };

  it('finds all addresses of both families', async () => {
    const records = { A: ['1.1.1.1', '1.0.0.1'], AAAA: ['2606:4700:4700::1111'] };
    const found = await (await resolveIn({ 'hook.test': records }))('hook.test');
    expect(found.toSorted()).toEqual(['1.0.0.1', '1.1.1.1', '2606:4700:4700::1111']);
  });

  it('takes a bounded number of them', async () => {
    const A = Array.from({ length: 25 }, (_, i) => `1.1.1.${i}`);
    expect(await (await resolveIn({ 'hook.test': { A } }))('hook.test')).toHaveLength(16);
  });

  it('is content with one family when the other fails', async () => {
    const resolve = await resolveIn({ 'hook.test': { A: ['1.1.1.1'], AAAA: 'servfail' } });
    expect(await resolve('hook.test')).toEqual(['1.1.1.1']);
  });

  it('knows localhost and names below it without asking (RFC 6761)', async () => {
    const resolve = await resolveIn({ '*': { A: ['1.1.1.1'] } });
    for (const name of ['localhost', 'LOCALHOST.', 'app.localhost'])
      expect(await resolve(name)).toEqual(['127.0.0.1', '::1']);
    expect(await resolve('notlocalhost')).toContain('1.1.1.1');
    expect(dns?.questions.filter((question) => !question.includes('notlocalhost'))).toEqual([]);
  });

  it('ends when name servers are silent', async () => {
    const resolve = await resolveIn({ 'hook.test': 'silent' }, { timeoutMs: 50 });
    await expect(resolve('hook.test')).rejects.toMatchObject({ code: 'ETIMEOUT' });
  });

  it('asks the fallback for a name that DNS does not know, and only then', async () => {
    const fallback = vi.fn(async (_host: string) => ['10.0.0.9']);
    const zone: Zone = { 'known.test': { A: ['1.1.1.1'] }, 'broken.test': 'servfail' };
    const resolve = await resolveIn(zone, { fallback });
    expect(await resolve('host.docker.internal')).toEqual(['10.0.0.9']);
    expect(await resolve('known.test')).toContain('1.1.1.1');
    await expect(resolve('broken.test')).rejects.toMatchObject({ code: 'ESERVFAIL' });
    expect(fallback.mock.calls.map(([host]) => host)).toEqual(['host.docker.internal']);
    const withoutFallback = createResolve({ servers: [dns?.address ?? ''] });
    await expect(withoutFallback('nosuch.test')).rejects.toMatchObject({ code: 'ENOTFOUND' });
  });
});
