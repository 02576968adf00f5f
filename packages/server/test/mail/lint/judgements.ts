/** A finding in one of the mails of `mails/`, which are well-made otherwise, and why it is right. */
export interface Judgement {
  mail: string;
  rule: string;
  why: string;
}

/** Every finding in these mails. A finding that is not here is a false one until it is judged. */
export const JUDGEMENTS: readonly Judgement[] = [
  {
    mail: 'a mail of HTML alone as Rails sends it',
    rule: 'missing-text-alternative',
    why: 'A recipient without HTML sees nothing of it.',
  },
  {
    mail: 'a greeting in Thai without a plain text, single part',
    rule: 'missing-text-alternative',
    why: 'The same, in another language.',
  },
  {
    mail: 'a warning of a cloud service in text',
    rule: 'missing-list-unsubscribe',
    why: 'It goes to subscribers of a topic and offers to unsubscribe, in its text alone.',
  },
];
