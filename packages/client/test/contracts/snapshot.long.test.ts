import { describe, expect, it } from 'vitest';
import { compareSnapshot } from '../../src/expect/snapshot.ts';
import { broken, hasTwins, numbers, received, written } from './received.ts';
import { TEMPLATES } from './templates.ts';

const RENDERINGS = 1_000;
describe.each(TEMPLATES)('$name', (template) => {
  it(`differs in none of ${RENDERINGS} renderings`, () => {
    const random = numbers(1);
    const snapshots = Array.from({ length: 5 }, () => written(template, random).snapshot);
    for (let count = 0; count < RENDERINGS; count++) {
      const input = received(template, random);
      for (const snapshot of snapshots) expect(compareSnapshot(snapshot, input)).toBeUndefined();
    }
  });

  it.each(template.faults)('shows that %s', (...fault) => {
    const random = numbers(2);
    const { snapshot } = written(template, random);
    const faulty = broken(template, fault);
    for (let count = 0; count < 20; count++) {
      const input = received(faulty, random);
      // Fields that are swapped show only where they differ.
      if (!hasTwins(input)) expect(compareSnapshot(snapshot, input)).toMatch(/\[-.+?-\]|\{\+.+?\+\}/);
    }
  });
});
