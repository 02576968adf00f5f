import type { LintFinding } from '@mayfly/client/contract';
import type { Bodies } from '../bodies.ts';
import type { ParsedMail } from '../mail.ts';
import type { Parts } from '../mime/parts.ts';
import type { AccessibilityPlaces } from './accessibility-places.ts';
import type { PageFacts } from './page-facts.ts';

export interface LintedMail {
  source: Buffer;
  parts: Parts;
  bodies: Bodies;
  mail: ParsedMail;
  page: PageFacts | null;
  accessibility: AccessibilityPlaces;
}

export interface Case {
  message: string;
  where: string | null;
}

/** Returns the problems: places, or cases with a message of their own. */
export type Check = (mail: LintedMail) => readonly (string | null | Case)[];

export type Rule = readonly [
  name: string,
  severity: LintFinding['severity'],
  reference: string,
  check: Check,
  /** The message of all places that `check` returns. */
  message?: string,
];
