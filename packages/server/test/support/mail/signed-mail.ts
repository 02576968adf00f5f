import { generateKeyPairSync } from 'node:crypto';
import { createTransport } from 'nodemailer';
import type Mail from 'nodemailer/lib/mailer/index.js';

/** A domain that signs its mails with DKIM (RFC 6376). */
export type Signer = ReturnType<typeof createSigner>;

export function createSigner(domainName: string, keySelector = 's1') {
  const pair = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const privateKey = pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  return {
    /** Name and text of the TXT record with the public key. */
    keyName: `${keySelector}._domainkey.${domainName}`,
    keyText: `v=DKIM1; k=rsa; p=${pair.publicKey.export({ type: 'spki', format: 'der' }).toString('base64')}`,
    /** DKIM options of nodemailer. */
    options: { domainName, keySelector, privateKey },
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
