import type { NamedMail } from './building.ts';
import { BULK } from './bulk.ts';
import { CURRENT } from './current.ts';
import { EDGE } from './edge.ts';
import { INTERNATIONAL } from './international.ts';
import { PROGRAMS } from './programs.ts';
import { TRANSACTIONAL } from './transactional.ts';

/** Mails modelled on current real ones, written before the rules were read; judgements.ts judges each finding. */
export const REAL_WORLD: readonly NamedMail[] = [
  ...TRANSACTIONAL,
  ...BULK,
  ...INTERNATIONAL,
  ...PROGRAMS,
  ...EDGE,
  ...CURRENT,
];
