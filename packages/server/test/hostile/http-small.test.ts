import { once } from 'node:events';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { BUILT_IN_PLANS } from '../../src/accounts/plans.ts';
import { httpOfTest, useHttp } from '../http/start-http.ts';

describe('requests that are wrong in small ways', () => {
  const http = useHttp();

  it('with a Content-Encoding get 415, and are told to send the body as it is', async () => {
    const post = (encoding: string, body: Uint8Array | string) =>
      http.api('POST', '/v1/inboxes', { body, headers: { 'content-encoding': encoding } });
    const answer = await post('gzip', gzipSync('{"ttlMinutes": 5}'));
    expect([answer.status, answer.body.code]).toEqual([415, 'unsupported_media_type']);
    expect(answer.body.detail).toContain('Content-Encoding "gzip"');
    expect(answer.headers.get('accept-encoding')).toBe('identity');
    expect((await post('identity', '{"ttlMinutes": 5}')).status).toBe(201);
  });

  it('aborted in the middle of their body, or reset at once, are no errors in the log', async () => {
    const inbox = await http.createInbox();
    const before = http.logged.length;
    for (const [path, type] of [
      ['/v1/inboxes', 'application/json'],
      [`/v1/inboxes/${inbox.id}/messages`, 'message/rfc822'],
    ]) {
      const socket = connect(http.port, '127.0.0.1');
      socket.write(
        `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${http.keys.own}\r\nContent-Type: ${type}\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n`,
      );
      // The 100 response: the server reads the body now.
      await once(socket, 'data');
      await new Promise((resolve) => socket.write('{"ttl', resolve));
      socket.resetAndDestroy();
    }
    const aborted = () =>
      http.logged.slice(before).filter((line) => /aborted|closed the connection/.test(line));
    await expect.poll(aborted).toHaveLength(2);
    const reset = async (): Promise<void> => {
      const socket = connect(http.port, '127.0.0.1');
      socket.on('error', () => undefined);
      await once(socket, 'connect');
      const wait = `POST /v1/inboxes/${inbox.id}/wait HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n`;
      const end = () => socket.resetAndDestroy();
      socket.write(`${wait}Authorization: Bearer ${http.keys.own}\r\n\r\n`, end);
      await once(socket, 'close');
    };
    await Promise.all(Array.from({ length: 50 }, reset));
    await http.api('GET', `/v1/inboxes/${inbox.id}`);
    const loud = http.logged.slice(before).filter((line) => JSON.parse(line).level >= 40);
    expect(loud).toEqual([]);
  });
});

it('a plan whose lifetimes are shorter than the default creates an inbox without a lifetime with its longest one', async () => {
  const brief = { ...BUILT_IN_PLANS.unlimited, maxTtlMinutes: 5 };
  const http = await httpOfTest({}, 'brief', { brief });
  const made = await http.api('POST', '/v1/inboxes');
  expect([made.status, made.body.ttlMinutes]).toEqual([201, 5]);
  const tooLong = await http.api('POST', '/v1/inboxes', { body: { ttlMinutes: 6 } });
  expect([tooLong.status, tooLong.body.code]).toEqual([400, 'invalid_request']);
});
