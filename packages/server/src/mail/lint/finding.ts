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
  count?: number;
}

export interface Rule {
  name: string;
  severity: LintFinding['severity'];
  reference: string;
  /** Returns the problems; false if there are none. */
  check(mail: LintedMail): readonly Case[] | Case | false;
}
