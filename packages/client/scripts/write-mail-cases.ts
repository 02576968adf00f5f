/* Writes the cases that both clients pass into cases.json: `node packages/client/scripts/write-mail-cases.ts`. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compareSnapshot, type SnapshotInput } from '../src/expect/snapshot.ts';
import { broken, numbers, received, written } from '../test/contracts/received.ts';
import { TEMPLATES } from '../test/contracts/templates.ts';

/** What a snapshot is made of, without all else that the server says. */
function trimmed({ mail, findings, names }: SnapshotInput) {
  const {
    subject,
    from,
    replyTo,
    to,
    cc,
    text,
    htmlText,
    links,
    images,
    structure,
    attachments,
    codes,
    envelope,
  } = mail;
  const parts = structure.map(({ contentType, disposition }) => ({ contentType, disposition }));
  const files = attachments.map(({ filename, contentType, disposition }) => ({
    filename,
    contentType,
    disposition,
  }));
  const said = { subject, from, replyTo, to, cc, text, htmlText, links, images, codes, envelope };
  const found = findings.map(({ rule, severity, count }) => ({ rule, severity, count }));
  return { mail: { ...said, structure: parts, attachments: files }, findings: found, names };
}

const cases = TEMPLATES.map((template) => {
  const random = numbers(3);
  const first = written(template, random);
  const second = written(template, random);
  const faults = template.faults.slice(0, 1).map((fault) => {
    const input = received(broken(template, fault), random);
    return {
      what: fault[0],
      input: trimmed(input),
      difference: compareSnapshot(first.snapshot, input) ?? null,
    };
  });
  const same = { what: 'another rendering', input: trimmed(second.input), difference: null };
  return {
    name: template.name,
    written: trimmed(first.input),
    snapshot: first.snapshot,
    others: [same, ...faults],
  };
});
writeFileSync(
  join(import.meta.dirname, '../test/contracts/cases.json'),
  `${JSON.stringify(cases, null, 1)}\n`,
);
