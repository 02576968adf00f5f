import type { ConnectionOptions } from 'node:tls';
import { type KeyPair, selfSignedCertificate } from '../../../src/smtp/tls.ts';

/** For the generated certificate, which clients cannot know in advance. */
export const ANY_CERTIFICATE: ConnectionOptions = { rejectUnauthorized: false };

/** @returns a certificate for a server, and options of a client that trusts this certificate only */
export function trustedCertificate(hostname = 'mx.mayfly.test'): { tls: KeyPair; trust: ConnectionOptions } {
  const tls = selfSignedCertificate(hostname, Date.now());
  return { tls, trust: { ca: tls.cert, servername: hostname } };
}
