import { expect, it } from 'vitest';
import { versions } from '../../../scripts/packages/version.ts';

it('all packages, and what names them, have one version', () => {
  const found = versions();
  expect(new Set(Object.values(found)), JSON.stringify(found, null, 2)).toHaveProperty('size', 1);
});
