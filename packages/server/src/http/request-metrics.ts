import type { MetricType, Histogram as PrometheusHistogram, Registry } from 'prom-client';
import { Histogram } from '../operations/metrics.ts';

/** Seconds: from a response from memory (1 ms) to the longest held one. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const NAME = 'mayfly_http_request_seconds';

const METRIC = {
  name: NAME,
  help: 'Seconds from the headers of a request to the end of its response, by method, route and status.',
  // The types declare a numeric enum; the value is a string.
  type: 'histogram' as unknown as MetricType,
  aggregator: 'sum' as const,
  collect: () => undefined,
};

/** `le` is the bound of a bucket. */
type Labels = 'method' | 'route' | 'status' | 'le';
type Shown = Awaited<ReturnType<PrometheusHistogram<Labels>['get']>>;

/** The requests that share their labels. */
interface Counted {
  labels: Record<Exclude<Labels, 'le'>, string>;
  /** How many fell into each bucket; the last one is beyond all. */
  buckets: number[];
  sum: number;
}

/**
 * The durations of requests for `/metrics`. The library's own look-up of labels took a
 * twentieth of the time of a request, so requests are counted here and passed to it when metrics are read.
 */
export class RequestSeconds extends Histogram<Labels> {
  readonly #counted = new Map<string, Counted>();

  constructor(registry: Registry) {
    super({
      name: METRIC.name,
      help: METRIC.help,
      labelNames: ['method', 'route', 'status'],
      buckets: BUCKETS,
      registers: [registry],
    });
  }

  count(method: string, route: string, status: number, seconds: number): void {
    const key = `${method} ${status} ${route}`;
    let counted = this.#counted.get(key);
    if (!counted) {
      const labels = { method, route, status: String(status) };
      counted = { labels, buckets: new Array<number>(BUCKETS.length + 1).fill(0), sum: 0 };
      this.#counted.set(key, counted);
    }
    let bucket = 0;
    while (bucket < BUCKETS.length && seconds > (BUCKETS[bucket] ?? 0)) bucket += 1;
    counted.buckets[bucket] = (counted.buckets[bucket] ?? 0) + 1;
    counted.sum += seconds;
  }

  /** As the library's own: cumulative buckets (Prometheus exposition format), sum and count. */
  override async get(): Promise<Shown> {
    const values: Shown['values'] = [];
    for (const { labels, buckets, sum } of this.#counted.values()) {
      let total = 0;
      buckets.forEach((count, index) => {
        total += count;
        const le = BUCKETS[index] ?? '+Inf';
        values.push({ metricName: `${NAME}_bucket`, labels: { ...labels, le }, value: total });
      });
      values.push({ metricName: `${NAME}_sum`, labels, value: sum });
      values.push({ metricName: `${NAME}_count`, labels, value: total });
    }
    return { ...METRIC, values };
  }

  /** The registry calls this instead of `get`. */
  getForPromString(): Promise<Shown> {
    return this.get();
  }
}
