import type { LabelledMail } from './labelled.ts';

/** Written after the extractor, to see how it does on mails that nobody had in mind. */
export const HELD_OUT: LabelledMail[] = [];
