import { connect } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../support/fake-clock.ts';
import type { SmtpClient } from '../../support/smtp-script.ts';
import { ANY_CERTIFICATE, trustedCertificate } from '../../support/tls/certificates.ts';
import { clientOfTest, type StartedSmtp, smtpOfTest } from '../start-smtp.ts';

const certificate = trustedCertificate();
const WITHOUT_STARTTLS = /^(?!.*STARTTLS)250-/s;

/** For tests about the certificate that the server makes for itself. */
const GENERATED = { tls: null, smtpStarttls: 'self-signed' } as const;

let smtp: StartedSmtp | undefined;
let client: SmtpClient | undefined;

async function begin(options: Parameters<typeof smtpOfTest>[0] = {}): Promise<SmtpClient> {
  smtp = await smtpOfTest({ tls: certificate.tls, ...options });
  client = await clientOfTest(smtp.port);
  await client.play(['→ 220', { send: 'EHLO before.test', expect: /STARTTLS/ }]);
  return client;
}

describe('STARTTLS is offered', () => {
  test.each([
    ['auto', false, false],
    ['auto', true, true],
    ['self-signed', false, true],
    ['self-signed', true, true],
    ['off', false, false],
    ['off', true, false],
  ] as const)('by `%s`, with a certificate configured: %s, offered: %s', async (startTls, given, offered) => {
    smtp = await smtpOfTest({ smtpStarttls: startTls, tls: given ? certificate.tls : null });
    client = await clientOfTest(smtp.port);
    await client.play([
      '→ 220',
      { send: 'EHLO c', expect: offered ? /STARTTLS/ : WITHOUT_STARTTLS },
      { send: 'STARTTLS', expect: offered ? 220 : '502 5.5.1' },
    ]);
  });

  test('not on the TLS port, and not because the TLS port has generated a certificate', async () => {
    smtp = await smtpOfTest({ smtpsPort: 0 });
    client = await clientOfTest(smtp.port);
    await client.play(['→ 220', { send: 'EHLO c', expect: WITHOUT_STARTTLS }]);
  });
});

describe('STARTTLS', () => {
  test('encrypts the session, which starts anew', async () => {
    const client = await begin();
    await client.play(['MAIL FROM:<plain@example.com> → 250', 'STARTTLS → 220']);
    await client.startTls(ANY_CERTIFICATE);
    await client.play([
      'MAIL FROM:<s@example.com> → 503 5.5.1',
      { send: 'EHLO after.test', expect: WITHOUT_STARTTLS },
      'RCPT TO:<a@mayfly.test> → 503 5.5.1',
      'MAIL FROM:<s@example.com> → 250',
      'RCPT TO:<a@mayfly.test> → 250',
      'DATA → 354',
      'x\r\n. → 250',
      'STARTTLS → 503 5.5.1',
    ]);
    expect(smtp?.receiver.mails[0]?.envelope).toMatchObject({ tls: true, helo: 'after.test' });
  });

  test.each([
    'RSET\r\n',
    'EHLO evil.test\r\nMAIL FROM:<evil@example.com>\r\n',
    'NOO',
    `${'NOOP\r\n'.repeat(500)}`,
  ])('throws away what was sent in plaintext behind it: %j', async (injected) => {
    const client = await begin();
    await client.play([{ send: Buffer.from(`STARTTLS\r\n${injected}`), expect: 220 }]);
    await client.startTls(ANY_CERTIFICATE);
    // The first reply inside is the one to the first command inside.
    await client.play([
      'RCPT TO:<a@mayfly.test> → 503 5.5.1 Send HELO or EHLO first',
      'EHLO good.test → 250',
    ]);
  });

  test('takes no argument', async () => {
    const client = await begin();
    await client.play(['STARTTLS now → 501', 'NOOP → 250']);
  });

  test('that is done in time is not ended later', async () => {
    const clock = new FakeClock();
    smtp = await smtpOfTest({ tls: certificate.tls }, clock);
    client = await clientOfTest(smtp.port);
    await client.play(['→ 220', 'EHLO c → 250', 'STARTTLS → 220']);
    await client.startTls(ANY_CERTIFICATE);
    await client.play(['EHLO c → 250']);
    await clock.advance(60_000);
    await client.play(['NOOP → 250']);
  });

  test('shows the certificate that was given', async () => {
    const { tls, trust } = trustedCertificate('mx.given.test');
    const client = await begin({ tls });
    await client.play(['STARTTLS → 220']);
    await client.startTls(trust);
    expect((client.socket as TLSSocket).getPeerCertificate().subject.CN).toBe('mx.given.test');
  });

  test('shows a certificate of its own name where none was given', async () => {
    const client = await begin(GENERATED);
    await client.play(['STARTTLS → 220']);
    await client.startTls(ANY_CERTIFICATE);
    const certificate = (client.socket as TLSSocket).getPeerCertificate();
    expect(certificate.subjectaltname).toBe('DNS:mx.mayfly.test');
    expect(Date.parse(certificate.valid_from)).toBeLessThan(Date.now());
    expect(Date.parse(certificate.valid_to)).toBeGreaterThan(Date.now());
  });

  test('shows all clients the same one', async () => {
    smtp = await smtpOfTest({ smtpStarttls: 'self-signed' });
    const { port } = smtp;
    const shown = await Promise.all(
      Array.from({ length: 5 }, async () => {
        const one = await clientOfTest(port);
        await one.play(['→ 220', 'EHLO c → 250', 'STARTTLS → 220']);
        await one.startTls(ANY_CERTIFICATE);
        const { fingerprint256 } = (one.socket as TLSSocket).getPeerCertificate();
        one.close();
        return fingerprint256;
      }),
    );
    expect(new Set(shown).size).toBe(1);
  });

  test('does not hold up a stop', async () => {
    const client = await begin(GENERATED);
    await client.play(['STARTTLS → 220']);
    await smtp?.stop();
    expect(await client.closed()).toBe('');
  });
});

describe('a certificate that is replaced', () => {
  test('is used for new connections of both ports; one that cannot be used changes neither', async () => {
    const [first, second] = [trustedCertificate(), trustedCertificate()];
    smtp = await smtpOfTest({ tls: first.tls, smtpsPort: 0 });
    const { port, tlsPort, certificate: used } = smtp;
    const broken = { ...second.tls, key: first.tls.key };
    const trusts = async (trust: typeof first.trust) => {
      client = await clientOfTest(port);
      await client.play(['→ 220', 'EHLO c → 250', 'STARTTLS → 220']);
      await client.startTls(trust);
      client.close();
      client = await clientOfTest(tlsPort ?? 0, { tls: trust });
      await client.play(['→ 220']);
      client.close();
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
    await client.play([
      '→ 220',
      { send: 'EHLO c', expect: WITHOUT_STARTTLS },
      'MAIL FROM:<s@example.com> → 250',
      'RCPT TO:<a@mayfly.test> → 250',
      'DATA → 354',
      'x\r\n. → 250',
    ]);
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
    await expect.poll(() => smtp?.metrics.open).toBe(0);
  });
});
