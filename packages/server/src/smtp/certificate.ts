import { isIP } from 'node:net';
import { generate } from 'selfsigned';

export interface KeyPair {
  /** PEM. */
  key: string;
  /** PEM. */
  cert: string;
}

/** A certificate that is made at each start need not outlive the process by much; a year is plenty. */
const VALID_MS = 366 * 24 * 60 * 60 * 1000;
/** Clocks differ: valid from a day ago. */
const BACKDATE_MS = 24 * 60 * 60 * 1000;

/**
 * A self-signed certificate for STARTTLS where none was given: it hides mail from a listener and
 * proves nothing. An elliptic key, because it is made in milliseconds.
 * @param now epoch milliseconds
 */
export async function selfSignedCertificate(hostname: string, now: number): Promise<KeyPair> {
  const name = isIP(hostname)
    ? ({ type: 7, ip: hostname } as const)
    : ({ type: 2, value: hostname } as const);
  const made = await generate([{ name: 'commonName', value: hostname }], {
    keyType: 'ec',
    curve: 'P-256',
    algorithm: 'sha256',
    notBeforeDate: new Date(now - BACKDATE_MS),
    notAfterDate: new Date(now + VALID_MS),
    extensions: [
      { name: 'basicConstraints', cA: false },
      { name: 'subjectAltName', altNames: [name] },
    ],
  });
  return { key: made.private, cert: made.cert };
}
