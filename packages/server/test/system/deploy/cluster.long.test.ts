/*
 * HAProxy with deploy/haproxy.cfg in front of three nodes on one PostgreSQL database, as deploy/compose.yaml starts them
 * with the profile "cluster".
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ApiClient, apiClient } from '../../support/api-client.ts';
import { findProgram, reportAbsent } from '../../support/find-program.ts';
import { useFolder } from '../../support/folder.ts';
import { freePort, startProgram } from '../../support/ports.ts';
import { smtpClient } from '../../support/smtp-script.ts';
import { ROOT } from '../docs/code-blocks.ts';
import { MailQueue } from '../nodes/mail-queue.ts';
import { POSTGRES, useSite } from '../nodes/nodes.ts';
import { assertTruth } from '../nodes/truth.ts';

const program = POSTGRES ? findProgram('haproxy') : undefined;
if (!program) reportAbsent('HAProxy (or PostgreSQL for this machine)', 'haproxy');
const absent = program ? '' : ' (skipped: not installed, Debian: apt-get install haproxy)';
/** The address of the SMTP client, which neither nodes nor HAProxy use. */
const CLIENT = '127.0.0.77';
const NODES = 3;

describe.skipIf(!program)(`three nodes behind HAProxy with deploy/haproxy.cfg${absent}`, () => {
  const folder = useFolder();
  const ports: { http: number; smtp: number }[] = [];
  const site = useSite(0, {
    env: { MAYFLY_SMTP_PROXY_FROM: '127.0.0.0/8', MAYFLY_HTTP_MAX_CONNECTIONS_PER_ADDRESS: '10000' },
  });
  let smtpPort: number;
  let stopHaProxy: () => Promise<void>;
  let api: ApiClient;

  const startNode = (place: number) => {
    const { http, smtp } = ports[place] as (typeof ports)[number];
    return site().startNode({ env: { MAYFLY_HTTP_PORT: `${http}`, MAYFLY_SMTP_PORT: `${smtp}` } }, place);
  };
  const createInbox = async () => (await api('POST', '/v1/inboxes')).body;

  beforeAll(async () => {
    for (let n = 0; n < NODES; n++) ports.push({ http: await freePort(), smtp: await freePort() });
    for (let place = 0; place < NODES; place++) await startNode(place);
    const http = await freePort();
    smtpPort = await freePort();
    // Only addresses and ports are replaced.
    let text = readFileSync(join(ROOT, 'deploy/haproxy.cfg'), 'utf8')
      .replace('maxconn 8000', 'maxconn 200')
      .replace('bind :2525', `bind 127.0.0.1:${smtpPort}`)
      .replace('bind :8025', `bind 127.0.0.1:${http}`);
    for (const [index, of] of ports.entries())
      text = text
        .replace(`node${index + 1}:2525`, `127.0.0.1:${of.smtp} port ${of.http}`)
        .replace(`node${index + 1}:8025`, `127.0.0.1:${of.http} port ${of.http}`);
    const file = join(folder(), 'haproxy.cfg');
    writeFileSync(file, text);
    stopHaProxy = await startProgram(program ?? '', ['-db', '-f', file], smtpPort);
    api = apiClient(`http://127.0.0.1:${http}`, site().node(0).key);
  });
  afterAll(() => stopHaProxy?.());

  test('a message has the address of the client, by PROXY protocol version 2', async () => {
    const inbox = await createInbox();
    const client = await smtpClient(smtpPort, { localAddress: CLIENT });
    await client.play(['→ 220', 'EHLO c → 250', 'MAIL FROM:<a@example.org> → 250']);
    await client.play([`RCPT TO:<${inbox.address}> → 250`, 'DATA → 354', 'Subject: Hello\r\n\r\n. → 250']);
    client.close();
    const path = `/v1/inboxes/${inbox.id}/messages`;
    const [{ id }] = (await api('GET', path)).body.messages;
    expect((await api('GET', `${path}/${id}`)).body.envelope.remoteAddress).toBe(CLIENT);
    expect((await api('GET', `${path}/${id}/raw`)).body).toContain(`[${CLIENT}]`);
  });

  test('the metrics are not public', async () => {
    expect((await api('GET', '/metrics')).status).toBe(404);
  });

  test('a rolling restart refuses no read and loses no mail', async () => {
    const inbox = await createInbox();
    let made = 0;
    const next = () => ({ id: `mail-${++made}`, to: [inbox.address] });
    const queue = new MailQueue({ nodes: [{ smtpPort }] }, next, 2);
    let restarting = true;
    const failures: (number | string)[] = [];
    const reader = async () => {
      while (restarting) {
        const path = `/v1/inboxes/${inbox.id}/messages?limit=1`;
        const outcome = await api('GET', path).then(({ status }) => status, String);
        if (outcome !== 200) failures.push(outcome);
      }
    };
    const reading = reader();
    for (let place = 0; place < NODES; place++) {
      expect((await site().node(place).end('SIGTERM')).code).toBe(0);
      await startNode(place);
      // HAProxy checks every 2 s whether a node is up.
      await delay(2_500);
    }
    restarting = false;
    await Promise.all([reading, queue.drained()]);
    expect(failures).toEqual([]);
    await assertTruth(site().node(0), [inbox], queue);
    expect(made).toBeGreaterThan(10);
  });
});
