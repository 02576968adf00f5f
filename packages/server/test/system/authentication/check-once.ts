import { readFileSync } from 'node:fs';
import { systemClock } from '../../../src/clock.ts';
import { Authenticator } from '../../../src/reading/sender-checks/authenticator.ts';

/** Checks the sender of a mail in a process of its own, so that its system calls can be read. */
const [nameServer = '', file = ''] = process.argv.slice(2);
const checking = new Authenticator({
  clock: systemClock,
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
