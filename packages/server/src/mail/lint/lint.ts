import type { LintReport } from '@mayfly/client/contract';
import { asBuffer } from '../../memory.ts';
import { readPartRoles } from '../bodies.ts';
import { cut } from '../limits.ts';
import { parseMail } from '../parse.ts';
import { toFeatures, usedFeatures } from './client-support.ts';
import type { LintedMail } from './finding.ts';
import { readPlaces } from './page-places.ts';
import { RULES } from './rules.ts';

const MAX_NAMED = 5;
const MAX_TEXT = 1_000;

const ORDER: readonly string[] = ['error', 'warning', 'info'];

/** Returns one finding per broken rule, most severe first. @param raw the mail without this server's Received line */
export function lintMail(raw: Uint8Array): LintReport {
  const source = asBuffer(raw);
  const mail = parseMail(source);
  const parts = readPartRoles(source);
  const { html } = mail.content;
  const page =
    html === null
      ? { places: new Map(), urls: [], features: [] }
      : { ...readPlaces(html), features: usedFeatures(html) };
  const linted: LintedMail = { source, parts, mail, ...page };
  const findings = RULES.flatMap(([rule, severity, reference, check, ofAll = '']) => {
    const cases = check(linted, rule).map((one) =>
      typeof one === 'object' && one !== null ? one : { message: ofAll, where: one },
    );
    if (cases.length === 0) return [];
    const messages = new Set(cases.map(({ message }) => message));
    const places = [...new Set(cases.flatMap(({ where }) => where ?? []))];
    const others = places.length - MAX_NAMED;
    const named = places.slice(0, MAX_NAMED).join(', ') + (others > 0 ? ` and ${others} more` : '');
    const message = textOf([...messages].slice(0, MAX_NAMED).join(' '));
    return [{ rule, severity, message, where: textOf(named) || null, count: cases.length, reference }];
  });
  return {
    findings: findings.toSorted((a, b) => ORDER.indexOf(a.severity) - ORDER.indexOf(b.severity)),
    features: toFeatures(page.features),
  };
}

const textOf = (text: string): string => cut(text.toWellFormed(), MAX_TEXT);
