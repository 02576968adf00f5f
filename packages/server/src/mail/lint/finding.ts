import type { Bodies } from '../bodies.ts';
import type { ParsedMail } from '../mail.ts';
import type { Parts } from '../mime/parts.ts';
import type { PageFacts } from './page-facts.ts';

/** `error`: violates a standard. `warning`: many programs show or treat the mail wrongly. `info`: some do. */
export type Severity = 'error' | 'warning' | 'info';

export interface Finding {
  rule: string;
  severity: Severity;
  /** A sentence for each different case: what is wrong and what to do. */
  message: string;
  /** Header fields, parts, elements or lines; null for the whole mail. */
  where: string | null;
  count: number;
  /** The source of the rule. */
  reference: string;
  /** Of the rule about mail clients: what of the page some of them do not support in full. */
  features?: FeatureSupport[];
}

export interface FeatureSupport {
  feature: string;
  reference: string;
  /** Percent of mail clients. */
  share: number;
  /** Lines of the decoded HTML that use it first. */
  lines: number[];
  /** Names of mail clients with their platforms. */
  full: string[];
  partial: string[];
  none: string[];
}

export interface LintedMail {
  source: Buffer;
  parts: Parts;
  bodies: Bodies;
  mail: ParsedMail;
  page: PageFacts | null;
}

export interface Case {
  message: string;
  where: string | null;
  count?: number;
}

export interface Rule {
  name: string;
  severity: Severity;
  reference: string;
  /** Returns what is wrong; false if nothing is. */
  check(mail: LintedMail): readonly Case[] | Case | false;
  features?(mail: LintedMail): FeatureSupport[];
}
