import { type Static, Type } from 'typebox';
import { nullable, ref } from '../ref.ts';

const Clients = (description: string) =>
  Type.Array(Type.String(), { description, examples: [['Outlook (Windows)', 'Gmail (iOS)']] });

export const LintFeature = Type.Object(
  {
    feature: Type.String({ description: 'What is used.', examples: ['CSS calc() function'] }),
    reference: Type.String({ description: 'The page with the tests and notes.' }),
    share: Type.Integer({
      description: 'The share of mail clients that support it, percent; partial support counts half.',
    }),
    lines: Type.Array(Type.Integer(), {
      description: 'The first lines of the decoded HTML that use it, up to five.',
    }),
    full: Clients('Mail clients that support it, with their platforms.'),
    partial: Clients('Those that support it in part.'),
    none: Clients('Those that do not. Clients that were not tested are in none of the three.'),
  },
  { $id: 'LintFeature', description: 'HTML or CSS of a message, and which mail clients support it.' },
);
export type LintFeature = Static<typeof LintFeature>;

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
      description:
        'What is wrong, and what to do about it. Where the cases of a rule differ, a sentence for each of the first five.',
      examples: ['The image has no "alt" attribute.'],
    }),
    where: nullable(Type.String(), {
      description:
        'A header field, a media type, an attachment, an address or a line of the raw source, or several of them; null for the message as a whole.',
    }),
    count: Type.Integer({
      description: 'How often the message breaks the rule, of images and addresses in its first 1,000.',
      minimum: 1,
      examples: [2],
    }),
    reference: Type.String({
      description: 'Where the rule comes from: a section of a standard, or a data set.',
      examples: ['RFC 5322 section 3.6'],
    }),
  },
  { $id: 'LintFinding', description: 'A rule that a message breaks, once or more often.' },
);
export type LintFinding = Static<typeof LintFinding>;

export const LintReport = Type.Object(
  {
    findings: Type.Array(ref(LintFinding), {
      description:
        'One for each rule that the message breaks, the most severe first; empty for a well-made message.',
    }),
    features: Type.Array(ref(LintFeature), {
      description:
        'Everything in the HTML, up to 60 features, that not all mail clients support, whether or not that is a finding.',
    }),
  },
  {
    $id: 'LintReport',
    description: 'What is wrong with a message, and how mail clients support what its HTML uses.',
  },
);
export type LintReport = Static<typeof LintReport>;
