import { createFindCaptureTarget } from '../inbound/smtp-credentials.ts';
import type { SmtpServer } from '../smtp/server.ts';
import { firstDomain, listening } from './deps.ts';
import type { Receiving } from './receiving.ts';
import type { Shared } from './shared.ts';

/** Where the SMTP server listens; `tlsPort` is null where it has no port with implicit TLS. */
export interface SmtpEndpoint {
  host: string;
  port: number;
  tlsPort: number | null;
}

/** Starts the SMTP server. It is loaded only by processes with this role. */
export async function startSmtp(
  { config, store, plans, metrics, gauges, clock, log, opened }: Shared,
  { receiver, budget }: Receiving,
): Promise<{ server: SmtpServer; endpoint: SmtpEndpoint }> {
  const { createSmtpServer } = await import('../smtp/server.ts');
  const { smtpTlsCert: cert, smtpTlsKey: key } = config;
  const server = createSmtpServer(
    {
      host: config.smtpHost,
      port: config.smtpPort,
      tlsPort: config.smtpsPort,
      domains: config.domains,
      name: config.smtpName ?? firstDomain(config),
      tls: cert && key ? { cert, key } : null,
      startTls: config.smtpStartTls,
      auth: config.smtpAuth,
      authPlaintext: config.smtpAuthPlaintext === 'on',
      proxyFrom: config.smtpProxyFrom,
      bareLineEndings: config.smtpBareLineEndings,
      maxMessageBytes: plans.largestMessageBytes,
      postmaster: config.postmaster,
      limits: {
        maxConnections: config.smtpMaxConnections,
        maxConnectionsPerAddress: config.smtpMaxConnectionsPerAddress,
      },
    },
    {
      receiver,
      budget,
      findCaptureTarget: createFindCaptureTarget({ store, clock }),
      clock,
      log,
      metrics: metrics.smtp,
    },
  );
  opened.addListener(server);
  gauges.smtpBytes = () => budget.held;
  const ports = await listening('smtp', config, server.start());
  return { server, endpoint: { host: config.smtpHost, ...ports } };
}
