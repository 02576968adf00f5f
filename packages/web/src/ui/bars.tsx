/** One kind of what a bar counts; `pattern` tells kinds apart without their colours. */
export interface Series {
  name: string;
  kind: 'plain' | 'ok' | 'bad' | 'open' | 'off';
}

/** Values with their label, for a plot: one for each series, stacked in their order. */
export interface Bar {
  label: string;
  values: readonly number[];
}

const WIDTH = 620;
const HEIGHT = 140;
/** A value above 0 is always seen, and so is the place of an empty bar. */
const LEAST = 3;
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** Bars of a plot, oldest left; the figures also stand in a table or a legend beside it. */
export function Bars({
  bars,
  series,
  label,
}: {
  bars: readonly Bar[];
  series: readonly Series[];
  label: string;
}) {
  const most = Math.max(1, ...bars.map(({ values }) => sum(values)));
  const step = WIDTH / Math.max(1, bars.length);
  const scale = (value: number) =>
    value === 0 ? 0 : Math.max(LEAST, Math.round((value / most) * (HEIGHT - 8)));
  return (
    <svg
      class="bars"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      role="img"
      aria-label={label}
      preserveAspectRatio="none"
    >
      <defs>
        <pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <rect width="6" height="6" class="hatch-ground" />
          <rect width="2.5" height="6" class="hatch-line" />
        </pattern>
      </defs>
      <rect class="axis" x="0" width={WIDTH} y={HEIGHT - 1} height="1" />
      {bars.map(({ label: name, values }, index) => {
        let y = HEIGHT - 1;
        const words = series.map((one, at) => `${values[at] ?? 0} ${one.name}`).join(', ');
        return (
          <g key={name}>
            <title>{`${name}: ${words}`}</title>
            <rect class="hover" x={index * step} width={step} y="0" height={HEIGHT} />
            {series.map((one, at) => {
              const height = scale(values[at] ?? 0);
              y -= height;
              return (
                <rect
                  key={one.name}
                  class={`bar-${one.kind}`}
                  x={index * step + step * 0.14}
                  width={step * 0.72}
                  y={y}
                  height={height}
                />
              );
            })}
          </g>
        );
      })}
    </svg>
  );
}

/** What the kinds of bars mean, with their sums. */
export const Legend = ({ bars, series }: { bars: readonly Bar[]; series: readonly Series[] }) => (
  <ul class="legend">
    {series.map((one, at) => (
      <li key={one.name}>
        <svg viewBox="0 0 12 12" aria-hidden="true">
          <rect class={`bar-${one.kind}`} width="12" height="12" rx="2" />
        </svg>
        {sum(bars.map(({ values }) => values[at] ?? 0))} {one.name}
      </li>
    ))}
  </ul>
);

/** A share of a whole as a bar, such as the time that is left. */
export function Meter({
  share,
  label,
  kind,
}: {
  share: number;
  label: string;
  kind?: 'warn' | 'bad' | undefined;
}) {
  const percent = Math.round(Math.min(1, Math.max(0, share)) * 100);
  return (
    <span class={`meter ${kind ?? ''}`} role="img" aria-label={label} title={label}>
      <svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
        <rect class="rest" width="100" height="4" rx="2" />
        <rect width={percent} height="4" rx="2" />
      </svg>
    </span>
  );
}
