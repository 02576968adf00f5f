import { createRequire } from 'node:module';
import type * as client from 'prom-client';
import type { MailAuthentication } from '../mail/mail.ts';

// Not prom-client's main module, which also loads a push gateway and OpenTelemetry: 27 ms and 10 MB.
const require = createRequire(import.meta.url);

export const Counter = require('prom-client/lib/counter') as typeof client.Counter;
export const Gauge = require('prom-client/lib/gauge') as typeof client.Gauge;
export const Histogram = require('prom-client/lib/histogram') as typeof client.Histogram;
const Registry = require('prom-client/lib/registry') as typeof client.Registry;

/** Collects process metrics only from the first scrape on, because their timer and observer cost CPU time. */
class LazyRegistry extends Registry {
  #hasProcessMetrics = false;

  override metrics(): Promise<string> {
    if (!this.#hasProcessMetrics) {
      this.#hasProcessMetrics = true;
      const collect = require('prom-client/lib/defaultMetrics') as typeof client.collectDefaultMetrics;
      collect({ register: this });
      // These gauges are sums of others. promtool rejects their names, because `_total` is for counters.
      for (const name of ['handles', 'requests', 'resources'])
        this.removeSingleMetric(`nodejs_active_${name}_total`);
    }
    return super.metrics();
  }
}

const MAIL_SECONDS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export type Metrics = ReturnType<typeof createMetrics>;
export type SmtpMetrics = Metrics['smtp'];
export type WebhookMetrics = Metrics['webhooks'];

export function createMetrics() {
  const registry: client.Registry = new LazyRegistry();
  return {
    registry,
    authentication: createAuthenticationMetrics(registry),
    webhooks: createWebhookMetrics(registry),
    smtp: createSmtpMetrics(registry),
  };
}

const counters =
  (registry: client.Registry) =>
  <Label extends string = never>(name: string, help: string, ...labelNames: Label[]) =>
    new Counter({ name, help, labelNames, registers: [registry] });

function createSmtpMetrics(registry: client.Registry) {
  const counter = counters(registry);
  const connections = counter('mayfly_smtp_connections_total', 'SMTP connections accepted.');
  const open = new Gauge({
    name: 'mayfly_smtp_connections_open',
    help: 'SMTP connections that are open.',
    registers: [registry],
  });
  const mails = counter(
    'mayfly_smtp_mails_total',
    'Messages received after DATA, by result: accepted, refused, failed.',
    'result',
  );
  const bytes = counter('mayfly_smtp_mail_bytes_total', 'Bytes of messages received.');
  const seconds = new Histogram({
    name: 'mayfly_smtp_mail_seconds',
    help: 'Seconds from the DATA command to its reply.',
    buckets: MAIL_SECONDS,
    registers: [registry],
  });
  const refusals = counter(
    'mayfly_smtp_refusals_total',
    'RCPT and DATA commands rejected, by reply code.',
    'code',
  );
  const authentications = counter(
    'mayfly_smtp_authentications_total',
    'SMTP credentials checked, by result: captured (credentials of an inbox), accepted (any others, with MAYFLY_SMTP_AUTH=any), refused.',
    'result',
  );
  const handshakeFailures = counter(
    'mayfly_smtp_tls_handshake_failures_total',
    'TLS handshakes that failed, after STARTTLS and on the TLS port.',
  );
  return {
    connection(): void {
      connections.inc();
      open.inc();
    },
    disconnection: (): void => open.dec(),
    /** @param duration seconds from DATA to the reply, without the delays of fault rules */
    mail(result: 'accepted' | 'refused' | 'failed', size: number, duration: number): void {
      mails.inc({ result });
      bytes.inc(size);
      seconds.observe(duration);
    },
    refusal: (code: number): void => refusals.inc({ code: String(code) }),
    authentication: (result: 'captured' | 'accepted' | 'refused'): void => authentications.inc({ result }),
    tlsHandshakeFailure: (): void => handshakeFailures.inc(),
  };
}

/** Results of sender checks (RFC 8601 section 2.7); other words are counted as `other`. */
const RESULTS = ['pass', 'fail', 'softfail', 'neutral', 'none', 'policy', 'temperror', 'permerror'];

function createAuthenticationMetrics(registry: client.Registry) {
  const results = counters(registry)(
    'mayfly_authentication_results_total',
    'Messages from other machines whose sender was checked, by method (spf, dkim, dmarc) and result.',
    'method',
    'result',
  );
  return ({ spf, dkim, dmarc }: MailAuthentication): void => {
    for (const [method, word] of Object.entries({ spf, dkim, dmarc })) {
      results.inc({ method, result: RESULTS.includes(word) ? word : 'other' });
    }
  };
}

const ATTEMPT_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15];

function createWebhookMetrics(registry: client.Registry) {
  const counter = counters(registry);
  const seconds = new Histogram({
    name: 'mayfly_webhook_attempt_seconds',
    help: 'Seconds from the start of a webhook attempt to the end of its response, by result: ok, failed.',
    labelNames: ['result'],
    buckets: ATTEMPT_SECONDS,
    registers: [registry],
  });
  const deliveries = counter(
    'mayfly_webhook_deliveries_total',
    'Webhook deliveries that ended, by outcome: delivered, failed, cancelled.',
    'outcome',
  );
  const disabled = counter(
    'mayfly_webhooks_disabled_total',
    'Webhooks that the server disabled, after a 410 or after days of failures.',
  );
  return {
    attempt: (result: 'ok' | 'failed', duration: number): void => seconds.observe({ result }, duration),
    delivery: (outcome: 'delivered' | 'failed' | 'cancelled'): void => deliveries.inc({ outcome }),
    disabled: (): void => disabled.inc(),
  };
}
