import { parentPort } from 'node:worker_threads';
import { systemClock } from '../../clock.ts';
import { attachmentBytes } from '../../mail/attachment.ts';
import { indexMail, parseMail } from '../../mail/parse.ts';
import { giveBackMemory } from '../../memory.ts';
import { serve } from './serve.ts';

/** By then a worker that was started for mails that waited is through with those, milliseconds. */
const STARTED_MS = 1_000;

/** The entry of a parse worker thread; see parsing.ts. */
if (parentPort !== null) {
  serve(parentPort, {
    parse: parseMail,
    attachment: (raw, id) => attachmentBytes(raw, indexMail(raw), id),
  });
  void systemClock.sleep(STARTED_MS).then(giveBackMemory);
}
