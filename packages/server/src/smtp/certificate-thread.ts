import { isIP } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import { generate } from 'selfsigned';
import { DAY_MS } from '../clock.ts';
import type { KeyPair } from './tls.ts';

// Uses an elliptic curve key, because it is generated in milliseconds.
async function make({ hostname, now }: { hostname: string; now: number }): Promise<KeyPair> {
  const name = isIP(hostname)
    ? ({ type: 7, ip: hostname } as const)
    : ({ type: 2, value: hostname } as const);
  const made = await generate([{ name: 'commonName', value: hostname }], {
    keyType: 'ec',
    curve: 'P-256',
    algorithm: 'sha256',
    // Tolerates clients whose clock is behind.
    notBeforeDate: new Date(now - DAY_MS),
    notAfterDate: new Date(now + 366 * DAY_MS),
    extensions: [
      { name: 'basicConstraints', cA: false },
      { name: 'subjectAltName', altNames: [name] },
    ],
  });
  return { key: made.private, cert: made.cert };
}

void make(workerData).then((made) => parentPort?.postMessage(made));
