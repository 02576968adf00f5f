import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

export interface KeyPair {
  /** PEM. */
  key: string;
  /** PEM. */
  cert: string;
}

/** What the thread is asked for. */
export interface CertificateRequest {
  hostname: string;
  /** Epoch milliseconds. */
  now: number;
}

/**
 * A self-signed certificate for STARTTLS where none was given: it hides mail from a listener and
 * proves nothing. Made on a thread of its own, which ends with it and takes the 250 modules along that
 * this needs once.
 * @param now epoch milliseconds
 */
export async function selfSignedCertificate(hostname: string, now: number): Promise<KeyPair> {
  const workerData: CertificateRequest = { hostname, now };
  const thread = new Worker(new URL('./certificate-thread.ts', import.meta.url), { workerData });
  const [made] = await once(thread, 'message');
  return made;
}
