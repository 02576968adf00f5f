import { type Static, Type } from 'typebox';
import { nullable, ref } from '../ref.ts';

export const LintFinding = Type.Object(
  {
    rule: Type.String({
      description: 'Name of the rule; it does not change.',
      examples: ['image-without-alt'],
    }),
    severity: Type.Enum(['error', 'warning', 'info'], {
      description:
        '`error`: against a standard. `warning`: many programs show or treat the message wrongly. `info`: some do.',
    }),
    message: Type.String({
      description: 'What is wrong, and what to do about it.',
      examples: ['The image has no "alt" attribute.'],
    }),
    where: nullable(Type.String(), {
      description:
        'A header field, a media type, an attachment, an address or a line of the raw source; null for the message as a whole.',
    }),
    reference: Type.String({
      description: 'Where the rule comes from: a section of a standard, or a data set.',
      examples: ['RFC 5322 section 3.6'],
    }),
  },
  { $id: 'LintFinding', description: 'One thing that is wrong with a message.' },
);
export type LintFinding = Static<typeof LintFinding>;

export const LintReport = Type.Object(
  {
    findings: Type.Array(ref(LintFinding), {
      description: 'The most severe first; empty for a well-made message. At most 100.',
      maxItems: 100,
    }),
  },
  { $id: 'LintReport', description: 'What is wrong with a message.' },
);
export type LintReport = Static<typeof LintReport>;
