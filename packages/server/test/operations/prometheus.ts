/** A sample of the text exposition format. */
interface Sample {
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

/** Reads the text format of Prometheus; promtool checks that it is valid. @throws Error for a line of another form */
export function parsePrometheus(text: string): Map<string, Metric> {
  const metrics = new Map<string, Metric>();
  let current: Metric = { name: '', type: '', help: '', samples: [] };
  for (const line of text.split('\n').filter(Boolean)) {
    const [, kind, described = '', rest = ''] = /^# (HELP|TYPE) (\w+) (.+)$/.exec(line) ?? [];
    if (kind === 'HELP') {
      if (metrics.has(described)) throw new Error(`twice: ${line}`);
      current = { name: described, type: '', help: rest, samples: [] };
      metrics.set(described, current);
    } else if (kind === 'TYPE') current.type = rest;
    else {
      const [, name = '', list = '', value = ''] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
      if (current.name === '' || !name.startsWith(current.name)) throw new Error(`not in its group: ${line}`);
      const labels = [...list.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key, to]) => [key, to]);
      current.samples.push({ name, labels: Object.fromEntries(labels), value: Number(value) });
    }
  }
  return metrics;
}
