/** What CPython's email package says of a mail: an independent reader, and not the truth. */
export interface OracleMail {
  subject: string | null;
  root_type: string;
  leaves: { type: string; filename: string }[];
}

/** Where we read a subject otherwise, with what we say and why. */
export const OTHER_SUBJECTS: Record<string, { subject: string; why: string }> = {
  'cutiemail-torture/mails/8bit-headers-latin1.eml': {
    subject: 'café naïve',
    why: 'CPython shows replacement characters for raw bytes that are not UTF-8; we read windows-1252',
  },
  'cutiemail-torture/mails/nul-in-header-and-body.eml': {
    subject: 'has a  nul',
    why: 'a NUL is left out of what is shown; the raw source has it',
  },
  'cutiemail-torture/mails/rfc2047-invalid-base64.eml': {
    subject: '\ufffd\ufffd[jǺ',
    why: 'CPython shows the letters of an encoded word that is no base 64; we decode those that are',
  },
  'mime4j/core/src/test/resources/testmsgs/obsolete.msg': {
    subject: 'The obsolete syntax allow spaces before the colon        and also empty lines in folding.',
    why: 'CPython does not know the spaces before the colon of RFC 5322 section 4.5',
  },
};

/** Where we count other attachments, messages within left aside, with our number and why. */
export const OTHER_COUNTS: Record<string, { count: number; why: string }> = {
  'cpython-test-email/msg_14.txt': {
    count: 1,
    why: 'a type without a subtype, which CPython takes for text/plain (RFC 2045 section 5.2) and we show as sent',
  },
  'cpython-test-email/msg_15.txt': {
    count: 1,
    why: 'multiparts within each other share a boundary; the picture after them is found, CPython loses it',
  },
  'cpython-test-email/msg_39.txt': {
    count: 6,
    why: 'multiparts within each other share a boundary; all six parts are found, CPython finds two',
  },
  'mime4j/core/src/test/resources/mimetools-testmsgs/frag.msg': {
    count: 0,
    why: 'the picture is part of a message within, which is kept whole',
  },
  'mime4j/core/src/test/resources/mimetools-testmsgs/multi-badnames.msg': {
    count: 3,
    why: 'the boundary parameter is folded: unfolded we find the parts, CPython finds none',
  },
  'mime4j/core/src/test/resources/mimetools-testmsgs/multi-clen.msg': {
    count: 2,
    why: 'the boundary parameter is folded: unfolded we find the parts, CPython finds none',
  },
  'mime4j/core/src/test/resources/mimetools-testmsgs/russian.msg': {
    count: 1,
    why: 'the whole mail is declared an attachment',
  },
  'mime4j/core/src/test/resources/testmsgs/russian-headers.msg': {
    count: 1,
    why: 'the whole mail is declared an attachment',
  },
};

/** Mails past a limit of the parser: stored, served raw, shown with what their header tells, and why not more. */
export const NOT_READ: Record<string, RegExp> = {
  'cutiemail-torture/mails/deeply-nested-past-cap.eml': /nesting depth of 100/,
};

/**
 * How many attachments the oracle's leaves are by our rule: whatever has a name, or is neither text
 * nor html. Three differences of the view are no disagreement: CPython looks into messages within, and
 * we keep them whole; a multipart in which no part was found is a text; a text that is all there is
 * remains the text, whatever its name.
 */
export function expectedAttachments({ leaves, root_type }: OracleMail): number {
  if (leaves.length === 1 && /^text\/(?:plain|html)$/.test(root_type)) return 0;
  return leaves.filter(
    ({ type, filename }) =>
      filename !== 'None' || !(/^text\/(?:plain|html)$/.test(type) || type.startsWith('multipart/')),
  ).length;
}
