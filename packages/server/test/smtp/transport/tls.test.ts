import { connect } from 'node:net';
import type { ConnectionOptions, TLSSocket } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../support/fake-clock.ts';
import type { SmtpClient } from '../../support/smtp-script.ts';
import { ANY_CERTIFICATE, trustedCertificate } from '../../support/tls/certificates.ts';
import {
  clientOfTest,
  connectedOfTest,
  hello,
  mailTo,
  type SmtpTestOptions,
  type StartedSmtp,
  smtpOfTest,
  withSender,
} from '../start-smtp.ts';

const certificate = trustedCertificate();
const WITHOUT_STARTTLS = /^(?!.*STARTTLS)250-/s;

/** For tests about the certificate that the server makes for itself. */
const GENERATED = { tls: null, smtpStarttls: 'self-signed' } as const;

let smtp: StartedSmtp;
let client: SmtpClient;

async function begin(options: SmtpTestOptions = {}, clock?: FakeClock): Promise<void> {
  ({ smtp, client } = await connectedOfTest({ tls: certificate.tls, ...options }, clock));
}
async function encrypt(trust: ConnectionOptions = ANY_CERTIFICATE): Promise<void> {
  await client.play([...hello, 'STARTTLS → 220']);
  await client.startTls(trust);
}
const peerCertificate = () => (client.socket as TLSSocket).getPeerCertificate();

describe('STARTTLS is offered', () => {
  test.each([
    ['auto', false, false],
    ['auto', true, true],
    ['self-signed', false, true],
    ['self-signed', true, true],
    ['off', false, false],
    ['off', true, false],
  ] as const)('by `%s`, with a certificate configured: %s, offered: %s', async (startTls, given, offered) => {
    await begin({ smtpStarttls: startTls, ...(!given && { tls: null }) });
    await client.play([
      '→ 220',
      { send: 'EHLO c', expect: offered ? /STARTTLS/ : WITHOUT_STARTTLS },
      { send: 'STARTTLS', expect: offered ? 220 : '502 5.5.1' },
    ]);
  });

  test('not on the TLS port, and not because the TLS port has generated a certificate', async () => {
    await begin({ smtpsPort: 0, tls: null });
    await client.play(['→ 220', { send: 'EHLO c', expect: WITHOUT_STARTTLS }]);
  });
});

describe('STARTTLS', () => {
  test('encrypts the session, which starts anew', async () => {
    await begin();
    await client.play([...withSender, 'STARTTLS → 220']);
    await client.startTls(ANY_CERTIFICATE);
    await client.play([
      'MAIL FROM:<s@example.com> → 503 5.5.1',
      { send: 'EHLO after.test', expect: WITHOUT_STARTTLS },
      'RCPT TO:<a@mayfly.test> → 503 5.5.1',
      ...mailTo('a@mayfly.test'),
      'STARTTLS → 503 5.5.1',
    ]);
    expect(smtp.receiver.mails[0]?.envelope).toMatchObject({ tls: true, helo: 'after.test' });
  });

  test.each([
    'RSET\r\n',
    'EHLO evil.test\r\nMAIL FROM:<evil@example.com>\r\n',
    'NOO',
    `${'NOOP\r\n'.repeat(500)}`,
  ])('throws away what was sent in plaintext behind it: %j', async (injected) => {
    await begin();
    await client.play([...hello, { send: Buffer.from(`STARTTLS\r\n${injected}`), expect: 220 }]);
    await client.startTls(ANY_CERTIFICATE);
    // The first reply inside is the one to the first command inside.
    await client.play(['RCPT TO:<a@mayfly.test> → 503 5.5.1 Send HELO or EHLO first', 'EHLO x → 250']);
  });

  test('takes no argument', async () => {
    await begin();
    await client.play([...hello, 'STARTTLS now → 501', 'NOOP → 250']);
  });

  test('that is done in time is not ended later', async () => {
    const clock = new FakeClock();
    await begin({}, clock);
    await encrypt();
    await client.play(['EHLO c → 250']);
    await clock.advance(60_000);
    await client.play(['NOOP → 250']);
  });

  test('shows the certificate that was given', async () => {
    const { tls, trust } = trustedCertificate('mx.given.test');
    await begin({ tls });
    await encrypt(trust);
    expect(peerCertificate().subject.CN).toBe('mx.given.test');
  });

  test('shows all clients one certificate of its own name where none was given', async () => {
    await begin(GENERATED);
    const shown = new Set<string>();
    for (let clients = 0; clients < 5; clients++) {
      client = await clientOfTest(smtp.port);
      await encrypt();
      const { subjectaltname, valid_from, valid_to, fingerprint256 } = peerCertificate();
      expect(subjectaltname).toBe('DNS:mx.mayfly.test');
      expect(Date.parse(valid_from)).toBeLessThan(Date.now());
      expect(Date.parse(valid_to)).toBeGreaterThan(Date.now());
      shown.add(fingerprint256);
    }
    expect(shown.size).toBe(1);
  });

  test('does not hold up a stop', async () => {
    await begin(GENERATED);
    await client.play([...hello, 'STARTTLS → 220']);
    await smtp.stop();
    expect(await client.closed()).toBe('');
  });
});

describe('a certificate that is replaced', () => {
  test('is used for new connections of both ports; one that cannot be used changes neither', async () => {
    const [first, second] = [trustedCertificate(), trustedCertificate()];
    const smtp = await smtpOfTest({ tls: first.tls, smtpsPort: 0 });
    const { port, tlsPort, certificate: used } = smtp;
    const broken = { ...second.tls, key: first.tls.key };
    const trusts = async (trust: typeof first.trust) => {
      client = await clientOfTest(port);
      await encrypt(trust);
      client.close();
      await (await clientOfTest(tlsPort ?? 0, { tls: trust })).play(['→ 220']);
    };
    await trusts(first.trust);
    expect(() => used.set(broken)).toThrow(/MAYFLY_SMTP_TLS_CERT/);
    await trusts(first.trust);
    expect(used.set(second.tls).subject).toBe('CN=mx.mayfly.test');
    await trusts(second.trust);
    await expect(trusts(first.trust)).rejects.toThrow(/certificate/);
  });
});

describe('the TLS port', () => {
  test('speaks TLS from the first byte and offers no STARTTLS', async () => {
    smtp = await smtpOfTest({ smtpsPort: 0 });
    client = await clientOfTest(smtp.tlsPort ?? 0, { tls: ANY_CERTIFICATE });
    await client.play(['→ 220', { send: 'EHLO c', expect: WITHOUT_STARTTLS }, ...mailTo('a@mayfly.test')]);
    expect(smtp.receiver.mails[0]?.envelope.tls).toBe(true);
  });

  test('outlives clients that reset at each moment of the handshake, and stops among them', async () => {
    const { tls } = trustedCertificate();
    for (let round = 0; round < 20; round++) {
      smtp = await smtpOfTest({ smtpsPort: 0, tls });
      const socket = connect(smtp.tlsPort ?? 0, '127.0.0.1');
      socket.on('error', () => undefined);
      await new Promise((resolve) => socket.once('connect', resolve));
      for (let turns = 0; turns < round % 5; turns++) await new Promise((resolve) => setImmediate(resolve));
      socket.resetAndDestroy();
      await smtp.stop();
    }
    await expect.poll(() => smtp.metrics.open).toBe(0);
  });
});
