import type { ConnectionOptions } from 'node:tls';
import { type KeyPair, selfSignedCertificate } from '../../../src/smtp/tls.ts';

/** For tests about the generated certificate, which no client can know beforehand. */
export const ANY_CERTIFICATE: ConnectionOptions = { rejectUnauthorized: false };

/** A certificate for a server, and what a client is given so that it trusts it, and no other. */
export function trustedCertificate(hostname = 'mx.mayfly.test'): { tls: KeyPair; trust: ConnectionOptions } {
  const tls = selfSignedCertificate(hostname, Date.now());
  return { tls, trust: { ca: tls.cert, servername: hostname } };
}
