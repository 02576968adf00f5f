import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../../system/docs/code-blocks.ts';
import { findProgram } from '../find-program.ts';

const run = promisify(execFile);
const TRUST_STORE_PASSWORD = 'changeit';

export interface TestCertificate {
  /** PEM files of the certificate for localhost and its key. */
  cert: string;
  key: string;
  /** PEM file of the authority that signed it. */
  authority: string;
  /** Environment variables with which the programs of docs/sending.md trust the authority. */
  trust: Record<string, string>;
}

/** Creates a certificate authority and a certificate for localhost with the commands of docs/sending.md. */
export async function testCertificate(folder: string): Promise<TestCertificate> {
  await run('sh', [join(ROOT, 'docs/examples/sending/certificate.sh')], { cwd: folder });
  const ca = join(folder, 'ca.pem');
  const trust = { NODE_EXTRA_CA_CERTS: ca, SSL_CERT_FILE: ca, CURL_CA_BUNDLE: ca };
  const files = { authority: ca, cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
  if (!findProgram('keytool')) return { ...files, trust };
  const store = join(folder, 'trust.p12');
  await run('keytool', [
    ...['-importcert', '-noprompt', '-alias', 'test-authority', '-file', ca],
    ...['-keystore', store, '-storetype', 'PKCS12', '-storepass', TRUST_STORE_PASSWORD],
  ]);
  const javaOptions = `-Djavax.net.ssl.trustStore=${store} -Djavax.net.ssl.trustStorePassword=${TRUST_STORE_PASSWORD}`;
  return { ...files, trust: { ...trust, JAVA_TOOL_OPTIONS: javaOptions } };
}
