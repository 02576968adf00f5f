import { contentFields } from '../../../server/src/mail/full-json.ts';
import { lintMail } from '../../../server/src/mail/lint/lint.ts';
import { parseMail } from '../../../server/src/mail/parse.ts';
import { chance } from '../../../server/test/support/chance.ts';
import { type SnapshotInput, writeSnapshot } from '../../src/expect/snapshot.ts';
import type { api } from '../../src/index.ts';
import { render, type Template } from './templates.ts';

const FINE = 2 ** 30;
/** Repeatable numbers in [0, 1). */
export function numbers(seed: number): () => number {
  const { between } = chance(seed);
  return () => between(0, FINE - 1) / FINE;
}

/** A rendering as the server reads it. */
export function received(template: Template, random: () => number): SnapshotInput {
  const { source, names } = render(template, random);
  const raw = Buffer.from(source);
  const { summary, content, index } = parseMail(raw);
  const fields = contentFields(content, index, '');
  const envelope = { rcptTo: [names.email] };
  const mail = { ...summary, ...fields, envelope } as unknown as api.Message;
  return { mail, findings: lintMail(raw).findings, names };
}

export const hasTwins = ({ names }: SnapshotInput) =>
  new Set(Object.values(names)).size < Object.keys(names).length;

/** The first rendering whose names all differ. */
export function written(template: Template, random: () => number) {
  for (;;) {
    const input = received(template, random);
    if (!hasTwins(input)) return { input, snapshot: writeSnapshot(input) };
  }
}

/** A template with its first fault made. @throws Error when the fault changes nothing */
export function broken(template: Template, [what, found, instead]: Template['faults'][number]): Template {
  const { faults: _, fields: __, ...fields } = template;
  const changed = Object.fromEntries(
    Object.entries(fields).map(([name, text]) => [
      name,
      name === 'name' ? text : text.replaceAll(found, instead),
    ]),
  );
  if (JSON.stringify(changed) === JSON.stringify(fields)) throw new Error(`"${what}" changes nothing`);
  return { ...template, ...changed };
}
