import { readFileSync } from 'node:fs';
import { Authenticator } from '../../../src/reading/sender-checks/authenticator.ts';
import { FakeClock } from '../../support/fake-clock.ts';

/** Checks the sender of a mail in a process of its own, so that its system calls can be read. */
const [nameServer = '', file = ''] = process.argv.slice(2);
const checking = new Authenticator({
  // It stands still: under strace, on a busy machine, a check may take longer than its time limit.
  clock: new FakeClock(),
  dnsServers: [nameServer],
  onThreadLost: (error) => {
    throw error;
  },
});
const envelope = {
  mailFrom: 'a@inviting.test',
  helo: 'inviting.test',
  remoteAddress: '198.51.100.7',
  tls: false,
};
const found = await checking.check(envelope, readFileSync(file));
await checking.close();
process.stdout.write(JSON.stringify(found));
