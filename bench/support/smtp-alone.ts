/** The SMTP server alone, before a receiver that throws every mail away: what the rest of the way costs. */
import { systemClock } from '../../packages/server/src/clock.ts';
import { parseConfig } from '../../packages/server/src/config/config.ts';
import { ByteBudget, IN_FLIGHT_BYTES } from '../../packages/server/src/inbound/incoming-mail.ts';
import type { SmtpReceiver } from '../../packages/server/src/inbound/receiver.ts';
import { createLog } from '../../packages/server/src/log.ts';
import { createSmtpServer } from '../../packages/server/src/smtp/server.ts';

const LARGEST = 50 * 1024 * 1024;
const budget = new ByteBudget({ capacity: IN_FLIGHT_BYTES, largest: LARGEST, clock: systemClock });
const nothing = () => undefined;
const receiver: SmtpReceiver = {
  async accept(address) {
    const inbox = { inboxId: 'inb_1', accountId: 'acc_1', address };
    return { ...inbox, rcptTo: address, maxMessages: Infinity, maxMessageBytes: Infinity };
  },
  async meetFault() {
    return undefined;
  },
  async deliver() {
    return [];
  },
  replied: nothing,
  refused: nothing,
};
const metrics = {
  connection: nothing,
  disconnection: nothing,
  mail: nothing,
  refusal: nothing,
  authentication: nothing,
  tlsHandshakeFailure: nothing,
};
const server = createSmtpServer(
  parseConfig({ MAYFLY_SMTP_PORT: '0', MAYFLY_SMTP_AUTH: 'off', MAYFLY_SMTP_STARTTLS: 'off' }),
  {
    ...{ receiver, budget, metrics, clock: systemClock, log: createLog('warn') },
    ...{ hostname: 'bench.mayfly.test', maxMessageBytes: LARGEST },
    findCaptureTarget: async () => undefined,
  },
);
const { port } = await server.start();
console.log(`ready on ${port}`);
process.once('SIGTERM', () => process.exit());
