import { expect, it } from 'vitest';
import { receivedLine } from '../../src/inbound/receiver.ts';

it.each([
  [false, false, 'ESMTP'],
  [true, false, 'ESMTPS'],
  [false, true, 'ESMTPA'],
  [true, true, 'ESMTPSA'],
])(
  'the Received line names the protocol by RFC 3848: TLS %s, AUTH %s, with %s',
  (tls, authenticated, protocol) => {
    const trace = { id: 'session', protocol: 'SMTP' as const, authenticated };
    const sender = { mailFrom: 's@example.com', helo: 'app.example.org', remoteAddress: '192.0.2.1', tls };
    const line = receivedLine('mx.mayfly.test', trace, sender, Date.UTC(2026, 0, 2, 3, 4, 5));
    expect(line).toBe(
      `Received: from app.example.org ([192.0.2.1])\r\n\tby mx.mayfly.test with ${protocol} id session;\r\n\tFri, 02 Jan 2026 03:04:05 +0000\r\n`,
    );
  },
);
