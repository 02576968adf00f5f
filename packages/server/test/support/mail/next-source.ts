let last = process.pid * 10_000_000;

/** A number for the source of a mail, as the server reserves them: none comes twice, in any process of a test. */
export function nextSource(): number {
  last += 1_000;
  return last;
}
