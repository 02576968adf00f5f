/* nginx with deploy/nginx.conf in front of Mayfly, with a default read timeout of 1 s instead of 60 s. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { MAX_WAIT } from '../../../../client/src/contract/messages/messages.ts';
import { STREAM_QUIET_MS } from '../../../src/http/limits.ts';
import type { Body } from '../../support/api-client.ts';
import { findProgram, reportAbsent } from '../../support/find-program.ts';
import { useFolder } from '../../support/folder.ts';
import { freePort, startProgram } from '../../support/ports.ts';
import { TEST_KEY, useApp } from '../../support/start-app.ts';
import { type TestCertificate, testCertificate } from '../../support/tls/test-authority.ts';
import { ROOT } from '../docs/code-blocks.ts';

const program = findProgram('openssl') && findProgram('nginx');
if (!program) reportAbsent('nginx or openssl', 'nginx openssl');
const absent = program ? '' : ' (skipped: not installed, Debian: apt-get install nginx openssl)';
const CONFIGURATION = readFileSync(join(ROOT, 'deploy/nginx.conf'), 'utf8');
/** The read timeout of every `location` that does not set its own. */
const DEFAULT_READ_TIMEOUT_S = 1;
const LONGER_THAN_DEFAULT_S = DEFAULT_READ_TIMEOUT_S + 1;
const MIB = 1024 * 1024;

type Nginx = { url: string; stop(): Promise<void> };
type Call = { method?: string; headers?: Record<string, string>; body?: Buffer };

describe.skipIf(!program)(`behind nginx with deploy/nginx.conf${absent}`, () => {
  const folder = useFolder();
  let certificate: TestCertificate;
  let ca: Buffer;
  /** Ports of nginx and of Mayfly. */
  let ports: [number, number];
  const app = useApp(async () => {
    ports = [await freePort(), await freePort()];
    return { MAYFLY_PUBLIC_URL: `https://localhost:${ports[0]}`, MAYFLY_HTTP_PORT: String(ports[1]) };
  });
  let nginx: Nginx;
  beforeAll(async () => {
    certificate = await testCertificate(folder());
    ca = readFileSync(certificate.authority);
    nginx = await started('exact', CONFIGURATION, ports[0]);
  });
  afterAll(() => nginx?.stop());

  /** Starts nginx; only ports and certificate of the configuration are replaced. */
  async function started(name: string, configuration: string, listens: number): Promise<Nginx> {
    const own = join(folder(), name);
    mkdirSync(own);
    const site = configuration
      .replace('listen 443 ssl;', `listen 127.0.0.1:${listens} ssl;`)
      .replace('127.0.0.1:8025', `127.0.0.1:${ports[1]}`)
      .replace('/etc/ssl/mayfly.example.com/fullchain.pem', certificate.cert)
      .replace('/etc/ssl/mayfly.example.com/privkey.pem', certificate.key);
    writeFileSync(join(own, 'mayfly.conf'), site);
    const main = readFileSync(join(import.meta.dirname, 'nginx.conf'), 'utf8')
      .replaceAll('@FOLDER@', own)
      // By default, the worker of a root process runs as another user, who cannot write to the folder.
      .replace('@USER@', process.getuid?.() === 0 ? 'user root;' : '')
      .replace('@TIMEOUT@', String(DEFAULT_READ_TIMEOUT_S));
    writeFileSync(join(own, 'nginx.conf'), main);
    const args = ['-p', own, '-e', 'stderr', '-c', join(own, 'nginx.conf')];
    return { url: `https://localhost:${listens}`, stop: await startProgram(program ?? '', args, listens) };
  }

  /** Makes a request; resolves with the response headers. */
  function open(path: string, { method = 'GET', headers = {}, body }: Call = {}, proxy = nginx) {
    return new Promise<IncomingMessage>((resolve, reject) => {
      const all = { authorization: `Bearer ${TEST_KEY}`, ...headers };
      request(`${proxy.url}${path}`, { method, headers: all, ca, path }, resolve)
        .on('error', reject)
        .end(body);
    });
  }

  async function call(path: string, options?: Call, proxy?: Nginx) {
    const response = await open(path, options, proxy);
    const answer = await text(response);
    const isJson = /json/.test(response.headers['content-type'] ?? '');
    const body: Body = isJson ? JSON.parse(answer) : answer;
    return { status: response.statusCode, headers: response.headers, body };
  }

  const createInbox = async () => (await call('/v1/inboxes', { method: 'POST' })).body;
  const sendTo = (to: string, attachments: { filename: string; content: string }[] = []) =>
    app.send({ from: 'app@example.org', to, subject: 'Welcome', text: 'Hello.', attachments });

  test('does not end a wait before its timeout', async () => {
    const { id } = await createInbox();
    const path = `/v1/inboxes/${id}/messages?wait=${LONGER_THAN_DEFAULT_S}`;
    const without = CONFIGURATION.replaceAll(/ *proxy_read_timeout .*;\n/g, '');
    const withoutTimeouts = await started('no-timeouts', without, await freePort());
    onTestFinished(() => withoutTimeouts.stop());
    const [kept, cut] = await Promise.all([call(path), call(path, {}, withoutTimeouts)]);
    expect(kept).toMatchObject({ status: 200, body: { messages: [] } });
    expect(cut.status).toBe(504);
  });

  test('has a read timeout that is longer than the longest wait and the pauses of a stream', () => {
    const timeouts = [...CONFIGURATION.matchAll(/proxy_read_timeout (\d+)s;/g)].map(([, s]) => Number(s));
    expect(timeouts).toHaveLength(2);
    expect(Math.min(...timeouts)).toBeGreaterThan(Math.max(MAX_WAIT, STREAM_QUIET_MS / 1000) + 10);
  });

  test('passes each event on at once while the stream stays open', async () => {
    const { id, address } = await createInbox();
    for (const path of [`/v1/inboxes/${id}/events`, '/v1/events']) {
      const stream = await open(path);
      expect(stream.headers['content-type']).toMatch(/^text\/event-stream/);
      await sendTo(address);
      let seen = '';
      for await (const piece of stream) {
        seen += piece;
        if (seen.includes('"subject":"Welcome"')) break;
      }
      expect(seen).toContain('event: message.received');
    }
  });

  test('does not publish the metrics, however their path is written', async () => {
    const others = ['/%6detrics', '//metrics', '/./metrics', '/v1/../metrics', '/metrics/'];
    for (const path of ['/metrics', '/metrics?a=b', ...others]) {
      const { status, body } = await call(path);
      const metrics = JSON.stringify(body).includes('mayfly_');
      expect({ path, status, metrics }).toEqual({ path, status: 404, metrics: false });
    }
  });

  test('puts its own URL into responses, whatever headers a client sends', async () => {
    const { id, address } = await createInbox();
    await sendTo(address, [{ filename: 'a.txt', content: 'Hello.' }]);
    const forwarded = 'host=evil.example';
    const headers = { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'ftp', forwarded };
    const list = await call(`/v1/inboxes/${id}/messages`);
    const message = await call(`/v1/inboxes/${id}/messages/${list.body.messages[0].id}`, { headers });
    for (const url of [message.body.rawUrl, message.body.attachments[0].url]) {
      expect(url.startsWith(`${nginx.url}/v1/inboxes/${id}/messages/`)).toBe(true);
      expect((await call(url.slice(nginx.url.length))).status).toBe(200);
    }
  });

  test('passes on a body as large as the largest message', async () => {
    const { id } = await createInbox();
    const body = Buffer.alloc(50 * MIB, 'a');
    const headers = { 'content-type': 'message/rfc822' };
    const answer = await call(`/v1/inboxes/${id}/messages`, { method: 'POST', headers, body });
    // nginx does not set this header, also not with a 413 of its own.
    expect(answer.headers['x-request-id']).toEqual(expect.any(String));
  });
});
