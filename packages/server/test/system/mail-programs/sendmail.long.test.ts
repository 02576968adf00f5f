import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { findProgramWith, reportAbsent } from '../../support/find-program.ts';
import { useFolder } from '../../support/folder.ts';
import { useApp } from '../../support/start-app.ts';

const MAYFLY = join(import.meta.dirname, '../../../bin/mayfly.js');
const run = promisify(execFile);
const php = await findProgramWith(['php'], ['-r', 'function_exists("mail") || exit(1);']);
if (!php) reportAbsent('PHP', 'php-cli');

const app = useApp({ MAYFLY_SINK: 'on' });
const folder = useFolder();
let sendmail: string;
beforeAll(async () => {
  // As in an image, where programs call sendmail by its path.
  sendmail = join(folder(), 'sendmail');
  const server = `MAYFLY_SMTP_PORT=${app.smtp.port}`;
  const script = `#!/bin/sh\n${server} exec ${process.execPath} ${MAYFLY} sendmail "$@"\n`;
  writeFileSync(sendmail, script, { mode: 0o755 });
});

async function newest() {
  const { body } = await app.api('GET', '/v1/messages');
  const [{ inboxId, id }] = body.messages;
  return (await app.api('GET', `/v1/inboxes/${inboxId}/messages/${id}`)).body;
}

describe('mayfly sendmail in place of sendmail(8)', () => {
  it('sends what a shell pipes into it', async () => {
    const script = 'printf "To: %s\\nSubject: From a shell\\n\\nHello\\n" "$1" | "$0" -t';
    const { stdout, stderr } = await run('sh', ['-c', script, sendmail, 'ada@example.org']);
    expect([stdout, stderr]).toEqual(['', '']);
    const sent = { subject: 'From a shell', rcptTo: ['ada@example.org'], text: 'Hello\n' };
    expect(await newest()).toMatchObject(sent);
  });

  it('ends with 75 and one line when no server listens', async () => {
    const ended = run('sh', ['-c', 'echo x | "$0" --server 127.0.0.1:1 ada@example.org', sendmail]);
    await expect(ended).rejects.toMatchObject({
      code: 75,
      stderr: expect.stringMatching(/^mayfly sendmail: No server can be reached at 127\.0\.0\.1:1 [^\n]*\n$/),
    });
  });

  it.skipIf(!php)("is the sendmail_path of PHP's mail() (skipped: needs php-cli)", async () => {
    const script = `
      $headers = ['From' => 'Shop <shop@example.com>', 'Bcc' => 'bob@example.org'];
      exit(mail('Ada <ada@example.org>', 'Grüße', "Hello\\n.\\nThere", $headers, '-fbounce@example.com') ? 0 : 1);`;
    await run(php ?? '', ['-d', `sendmail_path=${sendmail} -t -i`, '-r', script]);
    expect(await newest()).toMatchObject({
      subject: 'Grüße',
      from: { name: 'Shop', address: 'shop@example.com' },
      envelope: { mailFrom: 'bounce@example.com', rcptTo: ['ada@example.org', 'bob@example.org'] },
      text: 'Hello\n.\nThere\n',
    });
  });

  it.skipIf(!php)(
    "lets PHP's mail() return false when nothing was sent (skipped: needs php-cli)",
    async () => {
      const path = `sendmail_path=${sendmail} -t -i --server 127.0.0.1:1`;
      const script = 'var_dump(mail("a@example.org", "x", "y"));';
      const { stdout } = await run(php ?? '', ['-d', path, '-r', script]);
      expect(stdout).toContain('bool(false)');
    },
  );
});
