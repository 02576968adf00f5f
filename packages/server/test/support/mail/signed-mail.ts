import { generateKeyPairSync } from 'node:crypto';
import { createTransport } from 'nodemailer';
import type Mail from 'nodemailer/lib/mailer/index.js';

/** A domain that signs its mails with DKIM (RFC 6376). */
export interface Signer {
  /** Name and text of the TXT record with the public key. */
  keyName: string;
  keyText: string;
  /** DKIM options of nodemailer. */
  options: { domainName: string; keySelector: string; privateKey: string };
}

export function createSigner(domainName: string, keySelector = 's1'): Signer {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return {
    keyName: `${keySelector}._domainkey.${domainName}`,
    keyText: `v=DKIM1; k=rsa; p=${publicKey.export({ type: 'spki', format: 'der' }).toString('base64')}`,
    options: {
      domainName,
      keySelector,
      privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    },
  };
}

/** @returns the bytes of a mail as nodemailer composes it, signed if a signer is given */
export async function compose(mail: Mail.Options, signer?: Signer): Promise<Buffer> {
  const transport = createTransport({
    streamTransport: true,
    buffer: true,
    newline: 'windows',
    ...(signer && { dkim: signer.options }),
  });
  const { message } = await transport.sendMail(mail);
  if (!Buffer.isBuffer(message)) throw new Error('a buffer was asked for');
  return message;
}
