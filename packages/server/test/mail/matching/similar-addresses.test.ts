import { describe, expect, it } from 'vitest';
import { inboxAddress, parseAddress } from '../../../src/mail/address.ts';
import { areAlike, findSimilar, RecipientLines } from '../../../src/mail/matching/similar-addresses.ts';
import CASES from './similar-addresses.json' with { type: 'json' };

describe('an address that may have been meant for another', () => {
  it.each(CASES.alike)('is known by %s', (_name, a, b) => {
    expect([areAlike(a, b), areAlike(b, a)]).toEqual([true, true]);
  });

  it.each(CASES.different)('is not %s', (_name, a, b) => {
    expect([areAlike(a, b), areAlike(b, a)]).toEqual([false, false]);
  });
});

/** @returns an address near one of few names, sometimes with a tag, upper case, quotes or another domain */
function someAddress(random: () => number): string {
  const pick = (all: readonly string[]): string => all[Math.floor(random() * all.length)] ?? '';
  const name = pick(['user', 'jane.doe', 'order7', 'Zoë', 'qa-team_1']);
  const at = Math.floor(random() * name.length);
  const typed = random() < 0.5 ? name : name.slice(0, at) + pick(['', 'x', '7', '.']) + name.slice(at + 1);
  const local = pick([typed, typed.toUpperCase(), `${typed}+tag`, `"${typed} x"`, `${typed}.${typed}`]);
  return `${local}@${pick(['mayfly.test', 'Mayfly.Test', 'mayfly.tset', 'shop.example'])}`;
}

describe('findSimilar', () => {
  it('finds the same addresses as a comparison with each of them', () => {
    let seed = 1;
    const random = (): number => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed / 2_147_483_647;
    };
    const parse = (path: string) => parseAddress(path, { smtputf8: true });
    const mails = Array.from({ length: 200 }, () =>
      Array.from({ length: 1 + Math.floor(random() * 3) }, () => someAddress(random)).filter(parse),
    ).filter(({ length }) => length > 0);
    const recipients = new RecipientLines(
      mails.map((paths, n) => `${n} ${JSON.stringify(paths.length > 1 ? paths : paths[0])}`).join('\n'),
    );
    for (let n = 0; n < 50; n++) {
      const parsed = parse(someAddress(random));
      if (!parsed) continue;
      const wanted = inboxAddress(parsed);
      const expected = mails.flatMap((paths, at) =>
        paths.flatMap((path) => {
          const address = inboxAddress(parse(path) ?? parsed);
          return address === wanted || areAlike(address, wanted) ? { at, address, isSimilar: true } : [];
        }),
      );
      const { domain } = parsed;
      expect(findSimilar(recipients, { kind: 'address', address: wanted, domain }, 0)).toEqual(expected);
    }
  });
});
