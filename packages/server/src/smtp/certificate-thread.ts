import { isIP } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import { generate } from 'selfsigned';
import type { CertificateRequest, KeyPair } from './certificate.ts';

/** A certificate that is made at each start need not outlive the process by much; a year is plenty. */
const VALID_MS = 366 * 24 * 60 * 60 * 1000;
/** Clocks differ: valid from a day ago. */
const BACKDATE_MS = 24 * 60 * 60 * 1000;

/** An elliptic key, because it is made in milliseconds. */
async function make({ hostname, now }: CertificateRequest): Promise<KeyPair> {
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

/** The entry of the thread that makes one certificate; see certificate.ts. */
parentPort?.postMessage(await make(workerData));
