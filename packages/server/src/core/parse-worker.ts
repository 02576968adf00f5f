import { parentPort } from 'node:worker_threads';
import { attachmentBytes } from '../mail/attachment.ts';
import { parseMail } from '../mail/parse.ts';
import { serve } from './parse-serve.ts';

/** The entry of a parse worker thread; see parsing.ts. */
if (parentPort !== null) serve(parentPort, { parse: parseMail, attachment: attachmentBytes });
