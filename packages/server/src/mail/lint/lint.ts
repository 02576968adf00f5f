import { sortParts } from '../bodies.ts';
import { readParts } from '../mime/parts.ts';
import { parseMail } from '../parse.ts';
import { BODY_RULES } from './body-rules.ts';
import type { Finding, Rule, Severity } from './finding.ts';
import { HEADER_RULES } from './header-rules.ts';
import { pageFacts } from './page-facts.ts';
import { PAGE_RULES } from './page-rules.ts';
import { TEMPLATE_RULES } from './template-rules.ts';

/*
 * Says what is wrong with a mail. To add a rule, add it to one of the four tables. A rule must not find
 * anything in a well-made mail: a finding that is not worth mending makes people ignore the others.
 */

export const RULES: readonly Rule[] = [...HEADER_RULES, ...BODY_RULES, ...TEMPLATE_RULES, ...PAGE_RULES];

/** Findings of one mail; more say no more. */
export const MAX_FINDINGS = 100;

const ORDER: readonly Severity[] = ['error', 'warning', 'info'];

/**
 * The findings of a mail, the most severe first. Never throws; nothing is fetched. Costs about twice as much
 * as reading the mail, so it runs on a parse worker.
 * @param raw as sent, without the Received line of this server
 */
export function lintMail(raw: Uint8Array): Finding[] {
  const source = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength);
  const mail = parseMail(source);
  const parts = readParts(source);
  const { html } = mail.content;
  const page = html === null ? null : pageFacts(html);
  const linted = { source, parts, bodies: sortParts(source, parts.root), mail, page };
  const findings = RULES.flatMap(({ name, severity, reference, check }) =>
    check(linted).map(({ message, where }) => ({
      rule: name,
      severity,
      message: message.toWellFormed(),
      where: where?.toWellFormed() ?? null,
      reference,
    })),
  );
  return findings
    .toSorted((a, b) => ORDER.indexOf(a.severity) - ORDER.indexOf(b.severity))
    .slice(0, MAX_FINDINGS);
}
