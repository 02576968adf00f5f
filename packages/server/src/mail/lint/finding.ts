import type { Bodies } from '../bodies.ts';
import type { ParsedMail } from '../mail.ts';
import type { Parts } from '../mime/parts.ts';
import type { PageFacts } from './page-facts.ts';

/**
 * `error`: against a standard. `warning`: many programs show or treat the mail wrongly. `info`: some do.
 */
export type Severity = 'error' | 'warning' | 'info';

/** One thing that is wrong with a mail. */
export interface Finding {
  /** The rule's name, such as `missing-date`. */
  rule: string;
  severity: Severity;
  /** A sentence on what is wrong and what to do. */
  message: string;
  /** A header field, a part, an element or a line; null where it is the mail as a whole. */
  where: string | null;
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

/** A rule with what is the same for all of its findings. */
export interface Rule {
  name: string;
  severity: Severity;
  reference: string;
  check(mail: LintedMail): Pick<Finding, 'message' | 'where'>[];
}
