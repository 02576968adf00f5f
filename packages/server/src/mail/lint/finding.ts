import type { Bodies } from '../bodies.ts';
import type { ParsedMail } from '../mail.ts';
import type { Parts } from '../mime/parts.ts';
import type { PageFacts } from './page-facts.ts';

/**
 * `error`: against a standard. `warning`: many programs show or treat the mail wrongly. `info`: some do.
 */
export type Severity = 'error' | 'warning' | 'info';

/** A rule that a mail breaks, once or more often. */
export interface Finding {
  /** The rule's name, such as `missing-date`. */
  rule: string;
  severity: Severity;
  /** What is wrong and what to do; of different cases a sentence each. */
  message: string;
  /** Header fields, parts, elements or lines; null where it is the mail as a whole. */
  where: string | null;
  /** How often. */
  count: number;
  /** Where the rule comes from. */
  reference: string;
}

/** What the rules look at. */
export interface LintedMail {
  source: Buffer;
  parts: Parts;
  bodies: Bodies;
  mail: ParsedMail;
  /** Null without HTML. */
  page: PageFacts | null;
}

/** One case of a broken rule, or `count` cases. */
export interface Case {
  message: string;
  where: string | null;
  count?: number;
}

/** A rule with what is the same for all of its cases. */
export interface Rule {
  name: string;
  severity: Severity;
  reference: string;
  check(mail: LintedMail): Case[];
}
