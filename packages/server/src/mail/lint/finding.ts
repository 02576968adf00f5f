import type { LintFinding } from '@mayfly/client/contract';
import type { ParsedMail } from '../mail.ts';
import type { Parts } from '../mime/parts.ts';

export interface UsedFeature {
  /** Last part of the URL `https://www.caniemail.com/features/…`. */
  slug: string;
  title: string;
  /** One letter per client: `y`, `a` for partial support, `n`, or `u` for unknown. */
  support: string;
  lines: number[];
}

export interface LintedMail {
  source: Buffer;
  parts: Parts;
  mail: ParsedMail;
  /** Snippets of the HTML that break a rule, by the name of the rule. */
  places: ReadonlyMap<string, readonly string[]>;
  urls: readonly string[];
  features: readonly UsedFeature[];
}

export interface Case {
  message: string;
  where: string | null;
}

/** Returns one item per problem: a `Case`, or only its `where` if the rule has a constant message. */
export type Check = (mail: LintedMail, rule: string) => readonly (string | null | Case)[];

export type Rule = readonly [
  name: string,
  severity: LintFinding['severity'],
  reference: string,
  check: Check,
  message?: string,
];
