import { createRequire } from 'node:module';
import type * as client from 'prom-client';
import type { MailAuthentication } from '../mail/mail.ts';

// The main module of prom-client also loads its push gateway, cluster support and OpenTelemetry: 27 ms and 10 MB.
const require = createRequire(import.meta.url);

export const Counter = require('prom-client/lib/counter') as typeof client.Counter;
export const Gauge = require('prom-client/lib/gauge') as typeof client.Gauge;
export const Histogram = require('prom-client/lib/histogram') as typeof client.Histogram;
const Registry = require('prom-client/lib/registry') as typeof client.Registry;

/** Collects metrics of the process from the first request for metrics on. */
class LazyRegistry extends Registry {
  #hasProcessMetrics = false;

  override metrics(): Promise<string> {
    if (!this.#hasProcessMetrics) {
      this.#hasProcessMetrics = true;
      const collect = require('prom-client/lib/defaultMetrics') as typeof client.collectDefaultMetrics;
      collect({ register: this });
      // Removes sums of other metrics: gauges with names of counters, which promtool rejects.
      for (const name of ['handles', 'requests', 'resources'])
        this.removeSingleMetric(`nodejs_active_${name}_total`);
    }
    return super.metrics();
  }
}

/** Buckets, seconds: from the fastest message to the parser's time limit. */
const MAIL_SECONDS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export interface SmtpMetrics {
  connection(): void;
  disconnection(): void;
  /** DATA ended. @param seconds from DATA to the reply, without the delays of fault rules */
  mail(result: 'accepted' | 'refused' | 'failed', bytes: number, seconds: number): void;
  /** RCPT or DATA was rejected. @param code the three digits */
  refusal(code: number): void;
  /** `captured`: credentials of an inbox; `accepted`: others. */
  authentication(result: 'captured' | 'accepted' | 'refused'): void;
  tlsHandshakeFailure(): void;
}

export interface WebhookMetrics {
  attempt(result: 'ok' | 'failed', seconds: number): void;
  delivery(outcome: 'delivered' | 'failed' | 'cancelled'): void;
  disabled(): void;
}

/** In a registry of its own, so that tests can run several servers. */
export interface Metrics {
  registry: client.Registry;
  smtp: SmtpMetrics;
  authentication(found: MailAuthentication): void;
  webhooks: WebhookMetrics;
}

export function createMetrics(): Metrics {
  const registry = new LazyRegistry();
  return {
    registry,
    authentication: createAuthenticationMetrics(registry),
    webhooks: createWebhookMetrics(registry),
    smtp: createSmtpMetrics(registry),
  };
}

function createSmtpMetrics(registry: client.Registry): SmtpMetrics {
  const registers = [registry];
  const connections = new Counter({
    name: 'mayfly_smtp_connections_total',
    help: 'SMTP connections accepted.',
    registers,
  });
  const open = new Gauge({
    name: 'mayfly_smtp_connections_open',
    help: 'SMTP connections that are open.',
    registers,
  });
  const mails = new Counter({
    name: 'mayfly_smtp_mails_total',
    help: 'Messages received after DATA, by result: accepted, refused, failed.',
    labelNames: ['result'],
    registers,
  });
  const bytes = new Counter({
    name: 'mayfly_smtp_mail_bytes_total',
    help: 'Bytes of messages received.',
    registers,
  });
  const seconds = new Histogram({
    name: 'mayfly_smtp_mail_seconds',
    help: 'Seconds from the DATA command to its reply.',
    buckets: MAIL_SECONDS,
    registers,
  });
  const refusals = new Counter({
    name: 'mayfly_smtp_refusals_total',
    help: 'RCPT and DATA commands rejected, by reply code.',
    labelNames: ['code'],
    registers,
  });
  const authentications = new Counter({
    name: 'mayfly_smtp_authentications_total',
    help: 'SMTP credentials checked, by result: captured (credentials of an inbox), accepted (any others, with MAYFLY_SMTP_AUTH=any), refused.',
    labelNames: ['result'],
    registers,
  });
  const handshakeFailures = new Counter({
    name: 'mayfly_smtp_tls_handshake_failures_total',
    help: 'TLS handshakes that failed, after STARTTLS and on the TLS port.',
    registers,
  });
  return {
    connection() {
      connections.inc();
      open.inc();
    },
    disconnection() {
      open.dec();
    },
    mail(result, size, duration) {
      mails.inc({ result });
      bytes.inc(size);
      seconds.observe(duration);
    },
    refusal(code) {
      refusals.inc({ code: String(code) });
    },
    authentication(result) {
      authentications.inc({ result });
    },
    tlsHandshakeFailure() {
      handshakeFailures.inc();
    },
  };
}

/** RFC 8601 section 2.7; other words are counted as `other`. */
const RESULTS = ['pass', 'fail', 'softfail', 'neutral', 'none', 'policy', 'temperror', 'permerror'];

function createAuthenticationMetrics(registry: client.Registry): Metrics['authentication'] {
  const results = new Counter({
    name: 'mayfly_authentication_results_total',
    help: 'Messages from other machines whose sender was checked, by method (spf, dkim, dmarc) and result.',
    labelNames: ['method', 'result'],
    registers: [registry],
  });
  return ({ spf, dkim, dmarc }) => {
    for (const [method, word] of Object.entries({ spf, dkim, dmarc })) {
      results.inc({ method, result: RESULTS.includes(word) ? word : 'other' });
    }
  };
}

/** Seconds; the last bucket is the time limit of an attempt. */
const ATTEMPT_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15];

function createWebhookMetrics(registry: client.Registry): WebhookMetrics {
  const registers = [registry];
  const seconds = new Histogram({
    name: 'mayfly_webhook_attempt_seconds',
    help: 'Seconds from the start of a webhook attempt to the end of its response, by result: ok, failed.',
    labelNames: ['result'],
    buckets: ATTEMPT_SECONDS,
    registers,
  });
  const deliveries = new Counter({
    name: 'mayfly_webhook_deliveries_total',
    help: 'Webhook deliveries that ended, by outcome: delivered, failed, cancelled.',
    labelNames: ['outcome'],
    registers,
  });
  const disabled = new Counter({
    name: 'mayfly_webhooks_disabled_total',
    help: 'Webhooks that the server disabled, after a 410 or after days of failures.',
    registers,
  });
  return {
    attempt: (result, duration) => seconds.observe({ result }, duration),
    delivery: (outcome) => deliveries.inc({ outcome }),
    disabled: () => disabled.inc(),
  };
}
