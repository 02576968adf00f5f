import { median, short, spread } from './stats.ts';

/** One line of the table that `npm run bench` prints. */
export interface Row {
  what: string;
  figure: string;
  baseline: string;
  ratio: string;
  budget: string;
  met: 'yes' | 'no' | '–' | 'skipped';
}

/** A subject: measures, and answers its lines. It throws when what it saw is wrong, not when it is slow. */
export type Bench = () => Promise<Row[]>;

/** What is asked for; nothing when the figure is only told. */
export interface Budget {
  atLeast?: number;
  atMost?: number;
}

const unitOf = (unit: string): string => (unit === '' ? '' : ` ${unit}`);

function judged(value: number, { atLeast, atMost }: Budget, unit: string): Pick<Row, 'budget' | 'met'> {
  if (atLeast !== undefined)
    return { budget: `≥ ${atLeast}${unitOf(unit)}`, met: value >= atLeast ? 'yes' : 'no' };
  if (atMost !== undefined)
    return { budget: `≤ ${atMost}${unitOf(unit)}`, met: value <= atMost ? 'yes' : 'no' };
  return { budget: '–', met: '–' };
}

/** Ours against a baseline, one pair a round; the budget is for the median of the rounds' ratios. */
export function compared(
  what: string,
  unit: string,
  rounds: readonly { ours: number; baseline: number }[],
  budget: Budget = {},
): Row {
  const ratios = rounds.map(({ ours, baseline }) => ours / baseline);
  return {
    what,
    figure: short(median(rounds.map(({ ours }) => ours))) + unitOf(unit),
    baseline: short(median(rounds.map(({ baseline }) => baseline))) + unitOf(unit),
    ratio: spread(ratios),
    ...judged(median(ratios), budget, '×'),
  };
}

/** A figure that stands for itself, one a round; the budget is for their median. */
export function alone(what: string, unit: string, rounds: readonly number[], budget: Budget = {}): Row {
  return {
    what,
    figure: spread(rounds) + unitOf(unit),
    baseline: '–',
    ratio: '–',
    ...judged(median(rounds), budget, unit),
  };
}

/** What could not be measured here, and why. */
export function skipped(what: string, why: string): Row {
  return { what, figure: why, baseline: '–', ratio: '–', budget: '–', met: 'skipped' };
}

/** The rows as a Markdown table. */
export function table(rows: readonly Row[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [
    line(['what', 'figure', 'baseline', 'ratio (min–max)', 'budget', 'met?']),
    line(['---', '---', '---', '---', '---', '---']),
    ...rows.map(({ what, figure, baseline, ratio, budget, met }) =>
      line([what, figure, baseline, ratio, budget, met]),
    ),
  ].join('\n');
}
