import { ByteBudget, IN_FLIGHT_BYTES } from '../inbound/in-flight/byte-budget.ts';
import { TRACE_HEADROOM_BYTES } from '../inbound/received-line.ts';
import { createReceiver } from '../inbound/receiver.ts';
import { Authenticator } from '../reading/sender-checks/authenticator.ts';
import { firstDomain } from './deps.ts';
import type { Shared } from './shared.ts';

/** What takes mail in, over SMTP and over HTTP. */
export type Receiving = ReturnType<typeof openReceiving>;

/** The rules of receiving, with the checks of senders where mail comes in over SMTP, and the memory for it. */
export function openReceiving(shared: Shared) {
  const { config, clock, log, opened, store, parsing, events, plans } = shared;
  const receiver = createReceiver({
    store,
    parsing,
    authenticating:
      config.mailAuth === 'on' && config.roles.includes('smtp') ? openSenderChecks(shared) : null,
    events,
    clock,
    plans,
    hostname: config.smtpName ?? firstDomain(config),
    domains: config.domains,
    sink: config.sink === 'on',
    onRefusalsLost: (err) => log.error({ err }, 'Refusals could not be stored'),
  });
  opened.onClose(() => receiver.settled());
  // A recorded message that is imported has a Received line already.
  const budget = new ByteBudget({
    capacity: IN_FLIGHT_BYTES + TRACE_HEADROOM_BYTES,
    largest: plans.largestMessageBytes + TRACE_HEADROOM_BYTES,
    clock,
  });
  return { receiver, budget };
}

/** SPF, DKIM and DMARC. */
function openSenderChecks({ config, clock, log, opened, metrics, gauges }: Shared): Authenticator {
  const authenticator = new Authenticator({
    clock,
    dnsServers: config.dnsServers,
    onThreadLost: (err) => log.warn({ err }, 'The thread that checks senders was terminated'),
    onChecked: metrics.authentication,
  });
  opened.onClose(() => authenticator.close());
  gauges.senderChecks = () => authenticator.checks;
  return authenticator;
}
