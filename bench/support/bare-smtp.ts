/** The baseline of intake: the SMTP library alone, which throws every mail away. */
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';

const server = new SMTPServer({
  authOptional: true,
  disabledCommands: ['AUTH', 'STARTTLS'],
  disableReverseLookup: true,
  onData(stream, _session, callback) {
    stream.on('end', () => callback());
    stream.resume();
  },
});
const listening = server.listen(0, '127.0.0.1', () => {
  console.log(`ready on ${(listening.address() as AddressInfo).port}`);
});
process.once('SIGTERM', () => process.exit());
