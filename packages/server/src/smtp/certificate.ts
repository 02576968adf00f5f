import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { createSecureContext } from 'node:tls';
import { Worker } from 'node:worker_threads';
import { messageOf } from '../errors.ts';

export interface KeyPair {
  /** PEM. */
  key: string;
  /** PEM. */
  cert: string;
}

/** `auto`: with a configured certificate only; `self-signed`: also with a generated one; `off`: never. */
export type StartTlsMode = 'auto' | 'self-signed' | 'off';

/**
 * Whether STARTTLS is offered. A generated certificate is not offered by default, because libraries that
 * use STARTTLS when they see it (nodemailer, Go, PHPMailer, Ruby, aiosmtplib) then verify it and give up.
 */
export const offersStartTls = (mode: StartTlsMode, hasCertificate: boolean): boolean =>
  mode === 'self-signed' || (mode === 'auto' && hasCertificate);

/** Properties of a certificate for the log. */
export interface CertificateSummary {
  subject: string;
  /** As OpenSSL writes it. */
  validTo: string;
  fingerprint256: string;
}

/**
 * Checks that a certificate and its key can be used.
 * @throws Error with what to do, when they cannot be read or are not a pair
 */
export function checkKeyPair({ cert, key }: KeyPair): CertificateSummary {
  try {
    createSecureContext({ cert, key });
    const { subject, validTo, fingerprint256 } = new X509Certificate(cert);
    return { subject, validTo, fingerprint256 };
  } catch (cause) {
    const reason = messageOf(cause);
    throw new Error(
      `The SMTP certificate cannot be used with its key (${reason}). Check MAYFLY_SMTP_TLS_CERT and MAYFLY_SMTP_TLS_KEY.`,
      { cause },
    );
  }
}

/** What the thread is asked for. */
export interface CertificateRequest {
  hostname: string;
  /** Epoch milliseconds. */
  now: number;
}

/**
 * Generates a self-signed certificate: it encrypts, but proves nothing about the server. Made on a thread
 * of its own, so that the 250 modules it needs once are freed with the thread.
 * @param now epoch milliseconds
 */
export async function selfSignedCertificate(hostname: string, now: number): Promise<KeyPair> {
  const workerData: CertificateRequest = { hostname, now };
  const thread = new Worker(new URL('./certificate-thread.ts', import.meta.url), { workerData });
  const [made] = await once(thread, 'message');
  return made;
}
