import { readFileSync } from 'node:fs';
import { Authenticator } from '../../../src/reading/sender-checks/authenticator.ts';
import { FakeClock } from '../../support/fake-clock.ts';

/** A process that checks the sender of one mail, for a trace of its system calls. */
const [nameServer = '', file = ''] = process.argv.slice(2);
const checking = new Authenticator({
  // A clock that stands still, because a check may exceed its time limit under strace.
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
