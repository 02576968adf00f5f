/** A sample of the text exposition format. */
export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

/** A metric with all its samples. */
export interface Metric {
  name: string;
  type: string;
  help: string;
  samples: Sample[];
}

const NAME = '[a-zA-Z_:][a-zA-Z0-9_:]*';
const SAMPLE = new RegExp(`^(${NAME})(?:\\{(.*)\\})? (\\S+)$`);
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/gy;
/** As Go's ParseFloat reads them, for which case does not count. */
const VALUE = /^(?:[+-]?Inf|NaN|[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)$/i;
const TYPES = ['counter', 'gauge', 'histogram', 'summary', 'untyped'];
/** What a histogram or a summary adds to its name. */
const SUFFIX = /_(?:bucket|sum|count)$/;

function labelsOf(text: string): Record<string, string> {
  const labels: Record<string, string> = {};
  let end = 0;
  for (const [all, name = '', value = ''] of text.matchAll(LABEL)) {
    if (name in labels) throw new Error(`the label ${name} twice: ${text}`);
    labels[name] = value;
    end += all.length;
  }
  if (end !== text.length) throw new Error(`no labels: ${text}`);
  return labels;
}

const numberOf = (text: string): number => {
  if (!VALUE.test(text)) throw new Error(`no value: ${text}`);
  return Number(text.replace('Inf', 'Infinity'));
};

/** Buckets of each series are cumulative, and the last one, +Inf, is the count. */
function checkHistogram({ name, samples }: Metric): void {
  const series = Map.groupBy(samples, ({ labels: { le: _, ...rest } }) => JSON.stringify(rest));
  for (const [key, all] of series) {
    const buckets = all.filter((one) => one.name === `${name}_bucket`);
    const bounds = buckets.map(({ labels }) => numberOf(labels.le ?? ''));
    const counts = buckets.map(({ value }) => value);
    const count = all.find((one) => one.name === `${name}_count`)?.value;
    const isSorted = (list: number[]) =>
      list.every((value, index) => index === 0 || value >= (list[index - 1] ?? 0));
    if (!isSorted(bounds) || !isSorted(counts)) throw new Error(`${name}${key}: buckets out of order`);
    if (bounds.at(-1) !== Number.POSITIVE_INFINITY || counts.at(-1) !== count) {
      throw new Error(`${name}${key}: the last bucket is not the count`);
    }
    if (!all.some((one) => one.name === `${name}_sum`)) throw new Error(`${name}${key}: no sum`);
  }
}

/**
 * Reads the text exposition format of Prometheus, version 0.0.4, strictly.
 * https://prometheus.io/docs/instrumenting/exposition_formats/
 * @throws Error for what Prometheus, or `promtool check metrics`, rejects
 */
export function parsePrometheus(text: string): Map<string, Metric> {
  if (!text.endsWith('\n')) throw new Error('the last line does not end');
  const metrics = new Map<string, Metric>();
  const seen = new Set<string>();
  let current: Metric | undefined;
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const [, kind, name = '', rest = ''] = new RegExp(`^# (HELP|TYPE) (${NAME}) (.+)$`).exec(line) ?? [];
    if (kind === 'HELP') {
      if (metrics.has(name)) throw new Error(`${name} is in two groups`);
      current = { name, type: '', help: rest, samples: [] };
      metrics.set(name, current);
    } else if (kind === 'TYPE') {
      if (current?.name !== name || current.type !== '' || !TYPES.includes(rest)) throw new Error(line);
      current.type = rest;
    } else {
      const [, sampleName = '', labels = '', value = ''] = SAMPLE.exec(line) ?? [];
      const base = ['histogram', 'summary'].includes(current?.type ?? '')
        ? sampleName.replace(SUFFIX, '')
        : sampleName;
      if (!current?.type || base !== current.name) throw new Error(`not in its group: ${line}`);
      const key = `${sampleName}{${JSON.stringify(Object.entries(labelsOf(labels)).sort())}}`;
      if (seen.has(key)) throw new Error(`twice: ${key}`);
      seen.add(key);
      current.samples.push({ name: sampleName, labels: labelsOf(labels), value: numberOf(value) });
    }
  }
  for (const metric of metrics.values()) if (metric.type === 'histogram') checkHistogram(metric);
  return metrics;
}
