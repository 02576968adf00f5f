import { addGauges } from '../operations/gauges.ts';
import { listening, urlOf } from './deps.ts';
import type { Shared } from './shared.ts';

/** Adds the gauges of the parts that run, and starts the listener for metrics alone. @returns null without one */
export async function startMetrics(shared: Shared): Promise<{ url: string } | null> {
  const { config, overrides, metrics, gauges, log, opened } = shared;
  addGauges(metrics.registry, gauges);
  if (config.metricsPort === null) return null;
  const { createMetricsServer } = await import('../operations/metrics-server.ts');
  const server = createMetricsServer(
    { host: config.metricsHost, port: config.metricsPort },
    { registry: metrics.registry, log },
  );
  try {
    const { port } = await listening('metrics', config, server.start());
    opened.addListener(server);
    return { url: `${urlOf(config.metricsHost, port)}/metrics` };
  } catch (error) {
    if (!overrides.mayLackMetrics) throw error;
    log.info({ err: error }, 'The metrics are not served on a port of their own');
    return null;
  }
}
