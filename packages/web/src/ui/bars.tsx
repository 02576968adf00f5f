/** A value with its label, for a plot. */
export interface Bar {
  label: string;
  value: number;
  kind?: 'bad';
}

/** Bars of a plot, oldest left; the same figures stand in a table beside it for those who cannot see it. */
export function Bars({
  bars,
  label,
  limit,
}: {
  bars: readonly Bar[];
  label: string;
  limit?: number | undefined;
}) {
  const width = 620;
  const height = 140;
  const top = Math.max(1, ...bars.map(({ value }) => value), limit ?? 0);
  const step = width / Math.max(1, bars.length);
  const scale = (value: number) => Math.round((value / top) * (height - 8));
  return (
    <svg
      class="bars"
      viewBox={`0 0 ${width} ${height}`}
      role="img"
      aria-label={label}
      preserveAspectRatio="none"
    >
      {bars.map(({ label: name, value, kind }, index) => (
        <g key={name}>
          <title>{`${name}: ${value}`}</title>
          <rect
            class={kind ?? ''}
            x={index * step + step * 0.14}
            width={step * 0.72}
            y={height - Math.max(value > 0 ? 2 : 1, scale(value))}
            height={Math.max(value > 0 ? 2 : 1, scale(value))}
            rx="2"
          />
        </g>
      ))}
      {limit !== undefined && (
        <line x1="0" x2={width} y1={height - scale(limit)} y2={height - scale(limit)} />
      )}
    </svg>
  );
}

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
