/** The longest common subsequence of two addresses, as marks on the letters of the first. */
function commonLetters(a: readonly string[], b: readonly string[]): boolean[] {
  const width = b.length + 1;
  const lengths = new Uint16Array((a.length + 1) * width);
  const at = (i: number, j: number) => lengths[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      lengths[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const common: boolean[] = [];
  let j = 0;
  for (let i = 0; i < a.length; i++) {
    while (j < b.length && a[i] !== b[j] && at(i, j + 1) >= at(i + 1, j) && at(i, j + 1) === at(i, j)) j++;
    common[i] = j < b.length && a[i] === b[j];
    if (common[i]) j++;
  }
  return common;
}

/** How many letters of both addresses the other one does not have. */
export function unlikeness(a: string, b: string): number {
  const letters = [...a];
  const common = commonLetters(letters, [...b]).filter(Boolean).length;
  return letters.length + [...b].length - 2 * common;
}

/** An address with the letters marked that another one does not have. */
export function Letters({ of, unlike }: { of: string; unlike: string }) {
  const letters = [...of];
  const common = commonLetters(letters, [...unlike]);
  const runs: { text: string; isCommon: boolean }[] = [];
  for (const [index, letter] of letters.entries()) {
    const isCommon = common[index] ?? false;
    const last = runs.at(-1);
    if (last?.isCommon === isCommon) last.text += letter;
    else runs.push({ text: letter, isCommon });
  }
  return <>{runs.map(({ text, isCommon }, index) => (isCommon ? text : <mark key={index}>{text}</mark>))}</>;
}
