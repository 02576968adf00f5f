/** What CPython's email package says of a mail: an independent reader, and not the truth. */
export interface OracleMail {
  subject: string | null;
  root_type: string;
  leaves: { type: string; filename: string; decoded_bytes: number }[];
}

/** Where we read a subject otherwise, with what we say and why. */
export const OTHER_SUBJECTS: Record<string, { subject: string; why: string }> = {
  'cutiemail-torture/mails/header-no-colon.eml': {
    subject: 'after the bad line',
    why: 'a line without a colon costs only itself; CPython ends the header there',
  },
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
    count: 2,
    why: 'the boundary parameter is folded: unfolded we find the parts, CPython finds none; one is the body',
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

/** Mails past a limit of the reader: what `parseError` says of them; the rest of them is read. */
export const PAST_LIMIT: Record<string, RegExp> = {
  'cutiemail-torture/mails/deeply-nested-past-cap.eml': /nested deeper than 100 levels/,
};

/** Text, and not data of some format. */
const TEXT = /^(?:text\/(?!calendar|csv|rfc822-headers|x-vcard)|multipart\/)/;

/**
 * How many attachments the oracle's leaves are by our rule: all but the texts without a name, and the first
 * text with one where none was before it. A multipart in which no part was found is a text. Messages within
 * are left aside: CPython looks into them, and they are one attachment each here.
 */
export function expectedAttachments({ leaves }: OracleMail): number {
  let hasBody = false;
  return leaves.filter(({ type, filename, decoded_bytes }) => {
    const isBody = TEXT.test(type) && (filename === 'None' || (!hasBody && decoded_bytes > 0));
    hasBody ||= isBody;
    return !isBody;
  }).length;
}
