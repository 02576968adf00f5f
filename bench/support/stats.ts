/** The value below which the share `p` (0 to 1) of the values lies; NaN for no values. */
export function percentile(values: readonly number[], p: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(p * sorted.length) - 1)] ?? Number.NaN;
}

export const median = (values: readonly number[]): number => percentile(values, 0.5);

/** A number as a reader wants it: three digits that mean something. */
export function short(value: number): string {
  if (!Number.isFinite(value)) return '?';
  if (Math.abs(value) >= 100) return value.toFixed(0);
  return value.toFixed(Math.abs(value) >= 10 ? 1 : 2);
}

/** `median (min–max)`. */
export function spread(values: readonly number[]): string {
  if (values.length < 2) return short(median(values));
  return `${short(median(values))} (${short(Math.min(...values))}–${short(Math.max(...values))})`;
}
