import { generateKeyPairSync, sign, X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContext } from 'node:tls';
import ipaddr from 'ipaddr.js';
import { type Clock, DAY_MS } from '../clock.ts';
import { codeOf, messageOf } from '../errors.ts';

/** A certificate and its key, in PEM. */
export interface KeyPair {
  key: string;
  cert: string;
}

/** The TLS certificate of a server. If no certificate was set, generates a self-signed one at first use. */
export class Certificate {
  readonly #generate: () => KeyPair;
  #context: SecureContext | undefined;

  constructor(hostname: string, clock: Pick<Clock, 'now'>, pair: KeyPair | null) {
    if (pair) this.set(pair);
    this.#generate = () => selfSignedCertificate(hostname, clock.now());
  }

  get context(): SecureContext {
    this.#context ??= createSecureContext({ ...this.#generate() });
    return this.#context;
  }

  /** Sets the certificate for new connections. @throws Error if it is not usable; the previous one is kept */
  set({ cert, key }: KeyPair) {
    try {
      this.#context = createSecureContext({ cert, key });
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
}

/** Encodes an element in DER (ITU-T X.690 sections 8.1 and 10.1). The content must be shorter than 64 KiB. */
function der(tag: number, ...content: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(content);
  const { length } = body;
  const long = length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...(length < 128 ? [length] : long)]), body]);
}

const sequence = (...content: readonly Uint8Array[]): Buffer => der(0x30, ...content);
const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'));

/** Creates a certificate for one host name or address (RFC 5280 section 4.1), valid for a year. */
export function selfSignedCertificate(hostname: string, now: number): KeyPair {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  const ecdsaWithSha256 = sequence(oid('2a8648ce3d040302'));
  const commonName = sequence(oid('550403'), der(0x0c, Buffer.from(hostname)));
  const name = sequence(der(0x31, commonName));
  // Valid since yesterday, for clients whose clock is behind. UTCTime has the form YYMMDDhhmmssZ.
  const [from = '', to = ''] = [now - DAY_MS, now + 366 * DAY_MS].map(
    (at) => `${new Date(at).toISOString().replaceAll(/\D/g, '').slice(2, 14)}Z`,
  );
  const altName = ipaddr.isValid(hostname)
    ? der(0x87, Buffer.from(ipaddr.parse(hostname).toByteArray()))
    : der(0x82, Buffer.from(hostname));
  const subjectAltName = sequence(oid('551d11'), der(0x04, sequence(altName)));
  const signed = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    // The serial number is a part of the public key, which is random.
    der(0x02, Buffer.from([1]), spki.subarray(-15)),
    ...[
      ecdsaWithSha256,
      name,
      sequence(der(0x17, Buffer.from(from)), der(0x17, Buffer.from(to))),
      name,
      spki,
    ],
    der(0xa3, sequence(subjectAltName)),
  );
  const signature = der(0x03, Buffer.from([0]), sign('sha256', signed, privateKey));
  const certificate = new X509Certificate(sequence(signed, ecdsaWithSha256, signature));
  return { key: String(privateKey.export({ type: 'pkcs8', format: 'pem' })), cert: certificate.toString() };
}

/** Explanations of OpenSSL's error reasons. An alert was sent by the client (RFC 8446 section 6.2). */
const KINDS: readonly [RegExp, string][] = [
  [/alert .*(?:certificate|unknown ca)/, 'The client rejected the certificate'],
  [/wrong version number|http request|packet length|record type/, 'The client did not send a TLS handshake'],
  [/protocol|version|cipher|alert handshake failure/, 'The client has no TLS version or cipher in common'],
];

export interface Handshake {
  /** The client's HELO name; '' on the TLS port. */
  helo: string;
  /** Bytes that the client had sent before the handshake. */
  bytesBefore: number;
  isDone: boolean;
  error?: Error;
}

export function handshakeFailure({ isDone, error }: Handshake, tookTooLong: boolean): string {
  if (isDone)
    return 'The client closed the connection directly after the handshake; it may not trust the certificate';
  if (tookTooLong) return 'The handshake took too long';
  const reason = error && 'reason' in error ? String(error.reason) : undefined;
  if (reason !== undefined) {
    const kind = KINDS.find(([pattern]) => pattern.test(reason))?.[1] ?? 'The handshake failed';
    return `${kind} (${reason})`;
  }
  const code = codeOf(error);
  return code.startsWith('ERR_')
    ? `The handshake failed (${code})`
    : 'The client closed the connection during the handshake';
}
