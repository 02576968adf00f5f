import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startHttp, type TestHttp } from '../http/start-http.ts';
import { RECORDING, zipOf } from '../support/recording-archive.ts';

describe('an import that is refused', () => {
  let http: TestHttp;
  beforeAll(async () => {
    http = await startHttp();
  });
  afterAll(() => http.stop());

  it('because its replay would outlive the inbox creates none: its address stays free for every account', async () => {
    const message = (file: string, receivedAt: string) => ({
      ...{ file, receivedAt, size: 1 },
      envelope: { mailFrom: '', rcptTo: [], helo: 'h', remoteAddress: '192.0.2.1', tls: false },
    });
    const messages = [message('1', '2026-01-01T00:00:00.000Z'), message('2', '2026-01-01T00:05:00.000Z')];
    const index = JSON.stringify({ ...RECORDING, messages });
    const archive = await zipOf({ 'inbox.json': index, 1: 'a: b', 2: 'a: b' });
    const place = 'speed=1&ttlMinutes=1&localPart=too-long';
    const refused = await http.api('POST', `/v1/inboxes/import?${place}`, {
      ...{ body: archive, headers: { 'content-type': 'application/zip' } },
    });
    expect([refused.status, refused.body.code]).toEqual([400, 'invalid_request']);
    const other = await http.createInbox({ localPart: 'too-long' }, http.keys.foreign);
    expect(other.address).toMatch(/^too-long@/);
  });
});
