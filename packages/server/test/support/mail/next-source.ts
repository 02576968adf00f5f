let last = process.pid * 10_000_000;

/** @returns a number for the source of a mail that is unique among all test processes */
export function nextSource(): number {
  last += 1_000;
  return last;
}
