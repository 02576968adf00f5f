import { execFile, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { useFolder } from '../../support/folder.ts';
import { compose, createSigner } from '../../support/mail/signed-mail.ts';
import { startNameServer } from '../../support/name-server.ts';

const SCRIPT = join(import.meta.dirname, 'check-once.ts');
const CALLS = ['-e', 'trace=connect,sendto,sendmsg,sendmmsg'];
const stracing = spawnSync('strace', ['-o', '/dev/null', 'true']).status === 0;

/** @returns the IP addresses and ports in a trace */
const dialled = (log: string): string[] => [
  ...new Set(
    [...log.matchAll(/sin6?_port=htons\((\d+)\).*?"([\da-f.:]+)"/g)].map(
      ([, port, address]) => `${address}:${port}`,
    ),
  ),
];

describe.skipIf(!stracing)(
  'what the check of a sender dials, by strace (skipped where it cannot run)',
  () => {
    const folder = useFolder();

    test('connects only to the configured name server, whatever addresses the mail and its domain contain', async () => {
      const signer = createSigner('inviting.test');
      const web = 'https://127.0.0.1:9';
      const names = await startNameServer({
        'inviting.test': {
          TXT: ['v=spf1 a mx ptr exists:%{i}.inviting.test -all exp=why.inviting.test'],
          A: ['203.0.113.1'],
          MX: ['inviting.test'],
        },
        [signer.keyName]: { TXT: [signer.keyText] },
        '_dmarc.inviting.test': { TXT: [`v=DMARC1; p=reject; rua=${web}/r,mailto:a@inviting.test`] },
        'default._bimi.inviting.test': { TXT: [`v=BIMI1; l=${web}/a.svg; a=${web}/a.pem`] },
        '_mta-sts.inviting.test': { TXT: ['v=STSv1; id=1'] },
      });
      try {
        const [log, file] = [join(folder(), 'strace.log'), join(folder(), 'mail.eml')];
        const mail = { from: 'a@inviting.test', to: 'ada@mayfly.test', subject: 'x', text: 'hello' };
        writeFileSync(
          file,
          await compose({ ...mail, headers: { 'BIMI-Selector': 'v=BIMI1; s=default' } }, signer),
        );
        const args = ['-f', ...CALLS, '-o', log, process.execPath, SCRIPT, names.address, file];
        // On a busy machine the name server in this process may respond too late.
        await expect
          .poll(async () => JSON.parse((await promisify(execFile)('strace', args)).stdout))
          .toEqual({ spf: 'fail', dkim: 'pass', dmarc: 'pass' });
        expect(dialled(readFileSync(log, 'latin1'))).toEqual([names.address]);
      } finally {
        names.close();
      }
    });
  },
);

test('the analysis of a trace finds each IP address that was connected to', () => {
  const log = [
    '7 connect(20, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("192.0.2.1")}, 16) = 0',
    '7 connect(21, {sa_family=AF_INET6, sin6_port=htons(443), sin6_flowinfo=htonl(0), inet_pton(AF_INET6, "2001:db8::1", &sin6_addr), sin6_scope_id=0}, 28) = -1',
    '7 connect(22, {sa_family=AF_UNIX, sun_path="/run/x"}, 110) = 0',
  ].join('\n');
  expect(dialled(log)).toEqual(['192.0.2.1:53', '2001:db8::1:443']);
});
